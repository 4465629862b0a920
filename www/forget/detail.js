// One cell, as far as one wants to look: what is gone with the message it came from, what is outdated, the layers to take off.

import { draw, messageAt } from "./strip.js";
import { element, number, percent, plural } from "./show.js";

/** The classes of facts as people call them. */
const GROUPS = [
  ["Rules", ["constraint"]],
  ["Decisions", ["decision"]],
  ["Names and numbers of things", ["identifier"]],
  ["Numbers, dates, times", ["number", "date"]],
  ["Paths and addresses", ["path", "url"]],
  ["Denials", ["negation"]],
  ["Preferences", ["preference"]],
  ["Quotes", ["quoted"]],
];

/** So many are listed at first. */
const FIRST = 12;

/** Fills the section. What it needs to do is given with it. */
export function detail(section, { row, cell, whole, outline, layers, covered, code, read, again, lift, openWindow }) {
  const title = element("h2", { id: "detail-title" }, row.ours ? `palimpsest, ${row.name}` : row.name);
  const button = (text, act) => {
    const made = element("button", { type: "button" }, text);
    made.addEventListener("click", act);
    return made;
  };
  section.hidden = false;
  if (cell.failed) {
    section.replaceChildren(title, element("p", {}, cell.failed.message), element("p", { class: "acts" }, button("Run this cell again", again)));
    return;
  }
  const canvas = element("canvas", { class: "strip tall", role: "img", "aria-label": "What of the conversation stands in the window" });
  canvas.addEventListener("click", ({ clientX }) => read(messageAt(canvas, outline, clientX)));
  canvas.redraw = () => draw(canvas, outline, cell.shares, covered);
  const at = (message) => {
    const made = element("button", { type: "button", class: "at" }, `${who(outline[message])}, message ${message + 1}`);
    made.addEventListener("click", () => read(message));
    return made;
  };
  const acts = element("p", { class: "acts" }, button("Show the window", openWindow), button("Run this cell again", again), element("a", { href: code }, "The code"), " ", element("a", { href: row.source.startsWith("http") ? row.source : `https://github.com/palimpsest-dev/palimpsest/blob/main/${row.source}` }, "Where it is described"));
  section.replaceChildren(
    element("div", { class: "line" }, title, element("p", { class: "sub" }, row.does)),
    acts,
    figures(cell),
    canvas,
    ...layersOf(row, whole, cell, layers, lift),
    ...lists(cell, at),
  );
  canvas.redraw();
}

const who = (one) => ({ user: "you", assistant: "model", tool: "tool", system: "system" })[one?.role] ?? "model";

function figures(cell) {
  const share = cell.prefix && cell.prefix.of > 0 ? percent(cell.prefix.bytes, cell.prefix.of) : "–";
  const tool = { said: cell.said - cell.spoken.said, lost: cell.lost - cell.spoken.lost };
  const pairs = [
    ["Facts forgotten", number(cell.spoken.lost), `of ${number(cell.spoken.said)}`],
    ["In tool output", number(tool.lost), `of ${number(tool.said)}`],
    ["Tokens", number(cell.window.tokens), `of ${number(cell.limit)}`],
    ["Beginning kept", share, "between requests"],
    ["Orphaned calls", number(cell.orphans.length), ""],
    ...loopOf(cell),
    ["Time", cell.ms < 10 ? cell.ms.toFixed(1) : number(Math.round(cell.ms)), "ms for the last request"],
  ];
  if (cell.labels) {
    const { facts, rules, stale } = cell.labels;
    pairs.push(["Noted facts that stand", number(facts.found), `of ${facts.of}`]);
    if (rules.of > 0) pairs.push(["Rules word for word", number(rules.found), `of ${rules.of}`]);
    pairs.push(["Replaced values left alone", number(stale.found), `of ${stale.of}`]);
  }
  return element("dl", { class: "facts" }, ...pairs.map(([name, value, of]) => element("div", {}, element("dt", {}, name), element("dd", {}, value, " ", element("small", {}, of)))));
}

/** What the requests until now came to, one after the other. */
function loopOf({ loop }) {
  if (!loop || loop.requests < 2) return [];
  return [
    ["Requests read anew", number(loop.breaks), `of ${number(loop.requests)}`],
    ["Tokens read anew", percent(loop.reread, loop.sent), "of those that were sent"],
    ["Cost of all requests", percent(loop.cost, loop.costOfEverything), "of sending everything, what is unchanged at a tenth"],
    ...(loop.full > 0 ? [["Emptiest window", percent(loop.leastFill, 1), `${percent(loop.meanFill, 1)} on the average, once it was full`]] : []),
    ...(loop.needed > 0 ? [["Values of next calls", number(loop.seen), `of ${number(loop.needed)}; ${number(loop.seenInTail)} in as many newest messages`]] : []),
  ];
}

/** The layers of ours, each to be read and taken off. */
function layersOf(row, whole, cell, lifted, lift) {
  if (!row.ours || !whole?.layers?.length) return [];
  const items = whole.layers.map(({ id, covers, text }) => {
    const is = lifted.includes(id);
    const spans = covers.map(({ from, to }) => (from === to ? `${from + 1}` : `${from + 1}–${to + 1}`)).join(", ");
    const button = element("button", { type: "button", "aria-pressed": String(is) }, is ? "Put it back" : "Take this layer off");
    button.addEventListener("click", () => lift(is ? lifted.filter((one) => one !== id) : [...lifted, id]));
    const text_ = element("details", {}, element("summary", {}, `${is ? "Taken off: " : ""}a layer over messages ${spans}`), element("div", { class: "script", tabindex: "0" }, text));
    return element("div", { class: "layer" }, text_, button);
  });
  const over = cell.window.tokens > cell.limit ? `${number(cell.window.tokens - cell.limit)} tokens more than the window takes` : `${number(cell.limit - cell.window.tokens)} tokens free`;
  const undo = element("button", { type: "button" }, "Undo");
  undo.addEventListener("click", () => lift(lifted.slice(0, -1)));
  undo.disabled = lifted.length === 0;
  return [
    element("div", { class: "line" }, element("h3", {}, "Its layers"), element("p", { class: "acts" }, element("span", { class: "sub" }, lifted.length > 0 ? `${plural(lifted.length, "layer")} off: ${over}` : ""), undo)),
    element("div", { class: "layers" }, ...items),
  ];
}

function lists(cell, at) {
  const spoken = cell.gone.filter(({ speaker }) => speaker !== "tool");
  const groups = GROUPS.map(([name, classes]) => [name, spoken.filter((one) => classes.includes(one.class))]).filter(([, facts]) => facts.length > 0);
  const columns = groups.map(([name, facts]) => group(name, facts.length, facts.map((fact) => element("li", {}, sentence(fact), at(fact.message)))));
  if (cell.stale.length > 0) {
    const items = cell.stale.map(({ old, new: now, message, by }) => element("li", {}, element("p", {}, old, " ", element("q", {}, `now: ${now}`)), element("span", {}, at(message), " ", at(by))));
    columns.unshift(group("Outdated, without what replaced it", cell.stale.length, items));
  }
  const tool = cell.gone.filter(({ speaker }) => speaker === "tool");
  if (tool.length > 0) columns.push(group("In tool output and calls", tool.length, tool.map((fact) => element("li", {}, sentence(fact), at(fact.message)))));
  if (columns.length === 0) return [element("p", {}, "Nothing that was said is missing in this window.")];
  return [element("div", { class: "line" }, element("h3", {}, "What is gone")), element("div", { class: "lists" }, ...columns)];
}

/** The sentence with the fact struck out in it. */
function sentence({ text, context }) {
  const short = context.length > 240 ? text : context;
  const from = short.indexOf(text);
  if (from === -1 || short === text) return element("p", {}, element("mark", {}, text));
  return element("p", {}, element("q", {}, short.slice(0, from)), element("mark", {}, text), element("q", {}, short.slice(from + text.length)));
}

function group(name, count, items) {
  const list = element("ul", {}, ...items.slice(0, FIRST));
  const made = element("section", { class: `group${items.length > 8 ? " is-long" : ""}` }, element("h3", {}, name, element("span", {}, number(count))), list);
  if (items.length > FIRST) {
    const more = element("button", { type: "button", class: "more-of" }, `and ${number(items.length - FIRST)} more`);
    more.addEventListener("click", () => {
      list.append(...items.slice(FIRST));
      more.remove();
    });
    made.append(more);
  }
  return made;
}
