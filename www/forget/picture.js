// The picture to take along: figures and strips, none of the words.

import { CHANCE, inkNow } from "./strip.js";

const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.codePointAt(0)};`);

/** Columns of a strip: neighbouring messages together, so that a long conversation is a small file. */
function columns(outline, shares, most) {
  const total = outline.reduce((sum, { tokens }) => sum + tokens, 0) || 1;
  const found = [];
  let at = 0;
  for (const [n, { role, tokens }] of outline.entries()) {
    const place = Math.floor((at / total) * most);
    const last = found.at(-1);
    if (last && last.place === place && last.role === role) {
      last.share = (last.share * last.tokens + shares[n] * tokens) / (last.tokens + tokens || 1);
      last.tokens += tokens;
    } else found.push({ place, role, tokens, at, share: shares[n] });
    at += tokens;
  }
  return found.map(({ role, tokens, at: from, share }) => ({ role, share, from: from / total, wide: tokens / total }));
}

/**
 * The picture as SVG.
 *
 * @param {{ sentence: string, line: string, outline: { role: string, tokens: number }[], cells: { name: string, ours: boolean, lost: number, said: number, shares: ArrayLike<number> }[] }} of
 */
export function picture({ sentence, line, outline, cells }) {
  const ink = inkNow();
  const [width, edge, left] = [1200, 64, 330];
  const strip = width - left - edge - 150;
  const top = 236;
  const step = 48;
  const height = top + cells.length * step + 74;
  const serif = "'Iowan Old Style','Palatino Linotype',Palatino,Georgia,'DejaVu Serif',serif";
  const sans = "system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif";
  const text = (x, y, size, what, { fill = ink.ink, family = sans, anchor = "start" } = {}) => `<text x="${x}" y="${y}" font-size="${size}" font-family="${family}" fill="${fill}" text-anchor="${anchor}">${escape(what)}</text>`;
  const rect = (x, y, w, h, fill) => `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${Math.max(0.4, w).toFixed(1)}" height="${h.toFixed(1)}" fill="${fill}"/>`;
  const words = sentence.split(" ");
  const lines = [""];
  for (const word of words) {
    if (`${lines.at(-1)} ${word}`.length > 56) lines.push(word);
    else lines[lines.length - 1] = `${lines.at(-1)} ${word}`.trim();
  }
  const rows = cells.map(({ name, ours, lost, said, shares }, i) => {
    const y = top + i * step;
    const parts = columns(outline, shares, strip).map(({ role, share, from, wide }) => {
      const stands = 26 * (share >= 0.995 ? 1 : share < CHANCE ? 0 : share);
      const ghost = stands < 26 ? rect(left + from * strip, y, wide * strip, 26 - stands, ink["paper-3"]) : "";
      return ghost + (stands > 0 ? rect(left + from * strip, y + 26 - stands, wide * strip, stands, ink[`seg-${role}`]) : "");
    });
    return text(edge, y + 19, ours ? 20 : 18, name, { family: ours ? serif : sans }) + parts.join("") + text(width - edge, y + 20, 18, `${lost.toLocaleString("en")} of ${said.toLocaleString("en")}`, { anchor: "end", family: serif });
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    rect(0, 0, width, height, ink.paper),
    ...lines.map((one, i) => text(edge, 92 + i * 48, 38, one, { family: serif })),
    text(edge, 92 + lines.length * 48 - 8, 19, line, { fill: ink.ghost }),
    ...rows,
    text(edge, height - 34, 17, "palimpsest · What did it forget?", { fill: ink.ghost, family: serif }),
    text(width - edge, height - 34, 17, "counted in the page, nothing uploaded", { fill: ink.ghost, anchor: "end" }),
    "</svg>",
  ].join("");
}

/** The same as PNG. */
export async function bitmap(svg) {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    await new Promise((resolve, reject) => {
      image.onload = resolve;
      image.onerror = () => reject(new Error("The picture could not be drawn."));
      image.src = url;
    });
    const canvas = document.createElement("canvas");
    canvas.width = image.naturalWidth;
    canvas.height = image.naturalHeight;
    canvas.getContext("2d").drawImage(image, 0, 0);
    return await new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
  } finally {
    URL.revokeObjectURL(url);
  }
}
