// Elements from data: text is only ever text.

/** An element with attributes and children. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children.filter((child) => child !== undefined && child !== ""));
  return made;
}

export const number = (n) => n.toLocaleString("en");

export const plural = (n, word) => `${number(n)} ${word}${n === 1 ? "" : "s"}`;

/** A part of a whole, which is not nothing. */
export const percent = (part, whole) => `${Math.round((100 * part) / whole)} %`;
