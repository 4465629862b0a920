// What is shown. All work is done in the worker; a cell is asked for when it is looked at, the others afterwards.

import { textOf } from "./messages.js";
import { bitmap, picture } from "./picture.js";
import { POLICIES, ROWS, WINDOWS } from "./run.js";
import { sampleOf } from "./samples.js";
import { draw, messageAt, renew } from "./strip.js";
import { element, number, percent, plural } from "./show.js";
import { detail } from "./detail.js";

const $ = (id) => document.getElementById(id);
const CODE = "https://github.com/palimpsest-dev/palimpsest/blob/main/www/forget/rules.js";

const SAMPLES = { trip: "A trip", coding: "A coding session", support: "A support desk" };
const COMPARED = { theirs: "truncation", ours: "balanced" };

/** Everything that is known now. */
const state = { sample: "trip", window: 4096, row: undefined, outline: [], cells: new Map(), queue: [], run: 0, lifted: [], busy: false };

// the worker, with an answer for each question
const policy = globalThis.trustedTypes?.createPolicy("forget-worker", { createScriptURL: (url) => (["worker.js", "offline.js"].includes(url) ? url : "") });
const script = (url) => policy?.createScriptURL(url) ?? url;
const worker = new Worker(script("worker.js"), { type: "module" });
const waiting = new Map();
let asked = 0;
const ask = (act, given = {}) =>
  new Promise((resolve, reject) => {
    waiting.set((asked += 1), { resolve, reject });
    worker.postMessage({ id: asked, act, ...given });
  });
worker.onmessage = ({ data: { id, done, failed } }) => {
  const { resolve, reject } = waiting.get(id);
  waiting.delete(id);
  if (failed) reject(Object.assign(new Error(failed.message), { code: failed.code }));
  else resolve(done);
};
worker.onerror = () => tell("The page could not start its worker. Load it again; if that does not help, the browser is too old for it.", true);

function tell(text, isBad = false) {
  $("told").textContent = text;
  $("told").classList.toggle("is-bad", isBad);
}

const key = (row, window) => `${row} ${window}`;
const cellOf = (row, window = state.window) => state.cells.get(key(row, window));

/** A conversation stands on the page at once, measured by its letters until the worker has counted. */
function show(outline) {
  state.outline = outline;
  draw($("said"), outline);
  const tokens = outline.reduce((sum, one) => sum + one.tokens, 0);
  $("said-figures").textContent = `${plural(outline.length, "message")}, about ${number(tokens)} tokens`;
}

function sketch(messages) {
  show(messages.map((message) => ({ role: message.role === "system" || message.role === "tool" || message.role === "user" ? message.role : "assistant", tokens: Math.ceil(textOf(message).length / 4) + 4, text: "" })));
}

function reset() {
  state.run += 1;
  state.cells.clear();
  state.queue = [];
  state.lifted = [];
  $("detail").hidden = true;
  state.row = undefined;
  list();
  verdict();
}

async function openSample(name) {
  mark(name);
  reset();
  const run = state.run;
  tell("");
  try {
    const text = await (await fetch(`samples/${name}.json`)).text();
    if (run !== state.run) return;
    sketch(sampleOf(JSON.parse(text)).messages);
    await ask("sample", { text });
    if (run === state.run) await choose(0);
  } catch (error) {
    if (run === state.run) tell(`The sample could not be read: ${error.message}`, true);
  }
}

async function openFile(file) {
  mark(undefined);
  reset();
  const run = state.run;
  tell(`Reading ${file.name} …`);
  try {
    const { conversations, skipped, ms } = await ask("read", { file });
    if (run !== state.run) return;
    const many = conversations.length > 1;
    $("which").hidden = !many;
    $("conversation").replaceChildren(...conversations.map(({ title, messages }, n) => element("option", { value: n }, `${title || `Conversation ${n + 1}`} (${plural(messages, "message")})`)));
    tell([`${file.name}: ${plural(conversations.length, "conversation")}, read in ${number(Math.round(ms))} ms.`, ...notes(skipped, conversations)].join("\n"));
    await choose(0);
  } catch (error) {
    if (run === state.run) tell(`${file.name}: ${error.message}`, true);
  }
}

/** What of a file is not in the picture. */
function notes(skipped, conversations) {
  const silent = skipped.filter(({ reason }) => ["not_said", "hidden", "empty"].includes(reason));
  const lost = skipped.filter((one) => !silent.includes(one));
  const all = (list) => list.reduce((sum, { count }) => sum + count, 0);
  const branches = conversations.reduce((sum, one) => sum + one.branches, 0);
  return [
    lost.length > 0 && `Not understood and left out: ${lost.map(({ what, count, first }) => `${what} (${number(count)}, first at ${number(first)})`).join(", ")}.`,
    silent.length > 0 && `${plural(all(silent), "record")} of the other program ${all(silent) === 1 ? "says" : "say"} nothing to a model.`,
    branches > 0 && `${number(branches)} other ${branches === 1 ? "branch is" : "branches are"} not shown: this is the one that was shown last.`,
  ].filter(Boolean);
}

function mark(sample) {
  state.sample = sample;
  for (const button of document.querySelectorAll(".sample")) button.setAttribute("aria-pressed", String(button.dataset.sample === sample));
  $("drop").classList.toggle("is-own", sample === undefined);
  $("which").hidden = true;
}

async function choose(n) {
  reset();
  const { run } = state;
  const { outline } = await ask("choose", { n });
  if (run !== state.run) return;
  show(outline);
  fill();
}

/** Asks for what is looked at first: the two that are compared, the other rows of this window, the other windows. */
function fill() {
  const rows = ROWS.filter(({ needsModel }) => !needsModel).map(({ id }) => id);
  const first = [COMPARED.theirs, COMPARED.ours];
  const order = [...first, ...rows.filter((id) => !first.includes(id) && !POLICIES.includes(id)), ...rows.filter((id) => POLICIES.includes(id) && !first.includes(id))];
  const windows = [state.window, ...WINDOWS.filter((window) => window !== state.window)];
  // what fits whole is the same under every rule and quick
  state.queue = windows.flatMap((window) => order.map((row) => ({ row, window }))).filter(({ row, window }) => !cellOf(row, window));
  work();
}

async function work() {
  if (state.busy) return;
  state.busy = true;
  while (state.queue.length > 0) {
    const { row, window } = state.queue.shift();
    const { run } = state;
    await fetchCell(row, window, run);
  }
  state.busy = false;
  document.documentElement.dataset.done = "yes";
}

async function fetchCell(row, window, run = state.run) {
  let cell;
  try {
    cell = await ask("run", { row, window });
  } catch (error) {
    cell = { row, window, failed: error };
  }
  if (run !== state.run) return;
  state.cells.set(key(row, window), cell);
  if (window === state.window) {
    list();
    verdict();
  }
}

/** The rows of this window: those with figures first, the fewest forgotten at the top. */
function list() {
  const rows = ROWS.filter(({ needsModel }) => !needsModel);
  const rank = ({ id }) => {
    const cell = cellOf(id);
    if (!cell) return Infinity;
    return cell.failed ? Number.MAX_VALUE : cell.spoken.lost + cell.lost / 1e6;
  };
  const sorted = [...rows].sort((a, b) => rank(a) - rank(b) || rows.indexOf(a) - rows.indexOf(b));
  const focused = document.activeElement?.closest?.(".row")?.dataset.row;
  $("rows").replaceChildren(...sorted.map(rowOf));
  if (focused) $("rows").querySelector(`[data-row="${focused}"] .name`)?.focus({ preventScroll: true });
  for (const canvas of $("rows").querySelectorAll("canvas")) paint(canvas);
}

function paint(canvas) {
  const cell = cellOf(canvas.dataset.row);
  draw(canvas, state.outline, cell.shares, coveredBy(cell.layers));
}

/** Whether a layer stands for message n. Layers count from the first message that is not the system's. */
function coveredBy(layers) {
  const first = state.outline.findIndex(({ role }) => role !== "system");
  return (n) => layers.some(({ covers }) => covers.some(({ from, to }) => n - first >= from && n - first <= to));
}

function rowOf({ id, name, does, ours }) {
  const cell = cellOf(id);
  const item = element("li", { class: `row${ours ? " is-ours" : ""}${cell ? "" : " is-waiting"}`, "data-row": id, ...(state.row === id && { "aria-current": "true" }) });
  const button = element("button", { class: "name", type: "button" }, ours ? `palimpsest, ${name}` : name);
  button.addEventListener("click", () => select(id));
  item.append(button);
  if (!cell) {
    item.append(element("div", { class: "wait" }, "…"), element("p", { class: "forgot" }, element("b", {}, "·")));
  } else if (cell.failed) {
    item.append(element("div", { class: "wait" }, cell.failed.message), element("p", { class: "forgot" }, element("b", {}, "–")));
  } else {
    const canvas = element("canvas", { class: "strip", role: "img", "data-row": id, "aria-label": `${plural(gone(cell), "message")} of ${cell.history.messages} gone or cut` });
    canvas.addEventListener("click", (event) => { event.stopPropagation(); read(messageAt(canvas, state.outline, event.clientX)); });
    item.append(canvas, element("p", { class: "forgot" }, element("b", {}, number(cell.spoken.lost)), ` of ${number(cell.spoken.said)} facts forgotten`));
  }
  item.append(element("p", { class: "more" }, ...figures(cell, does)));
  return item;
}

const gone = ({ shares }) => shares.reduce((sum, share) => sum + (share < 0.5 ? 1 : 0), 0);

function figures(cell, does) {
  if (!cell || cell.failed) return [element("span", {}, does)];
  const kept = cell.prefix && cell.prefix.of > 0 ? `${percent(cell.prefix.bytes, cell.prefix.of)} of each request as before` : "";
  const rules = rulesOf(cell);
  return [
    element("span", {}, `${number(cell.window.tokens)} tokens`),
    ...(rules.of > 0 ? [element("span", rules.lost > 0 ? { class: "is-bad" } : {}, `${rules.lost} of ${plural(rules.of, "rule")} gone`)] : []),
    element("span", cell.stale.length > 0 ? { class: "is-bad" } : {}, `${cell.stale.length} outdated`),
    ...(cell.orphans.length > 0 ? [element("span", { class: "is-bad" }, `${plural(cell.orphans.length, "orphaned call")}`)] : []),
    element("span", {}, kept),
    ...(cell.loop?.costOfEverything > 0 ? [element("span", {}, `costs ${percent(cell.loop.cost, cell.loop.costOfEverything)} of sending everything`)] : []),
    element("span", {}, `${cell.ms < 10 ? cell.ms.toFixed(1) : number(Math.round(cell.ms))} ms`),
  ];
}

const RULE = ({ class: name }) => name === "constraint";

/** The rules of a conversation and those that a window lacks: as they were noted, or as they were found. */
function rulesOf({ labels, classes }) {
  if (labels?.rules.of > 0) return { of: labels.rules.of, lost: labels.rules.of - labels.rules.found };
  const own = classes.filter(RULE);
  return { of: own.reduce((sum, { said }) => sum + said, 0), lost: own.reduce((sum, one) => sum + one.gone, 0) };
}

/** The sentence to take along, in parts: what is marked, and how. */
function sentence() {
  const [theirs, ours] = [cellOf(COMPARED.theirs), cellOf(COMPARED.ours)];
  if (!theirs || !ours || theirs.failed || ours.failed) return undefined;
  if (theirs.lost + ours.lost === 0) return [`In ${number(state.window)} tokens this conversation stands whole: nothing is forgotten.`];
  const rules = [rulesOf(theirs), rulesOf(ours)];
  const parts = ["Truncation forgot ", { mark: "bad", text: number(theirs.spoken.lost) }, ` of ${number(theirs.spoken.said)} facts`];
  if (rules[0].of > 0) parts.push(" and ", { mark: "bad", text: number(rules[0].lost) }, ` of ${plural(rules[0].of, "rule")}`);
  parts.push("; palimpsest ", { mark: "", text: number(ours.spoken.lost) });
  if (rules[0].of > 0) parts.push(" and ", { mark: "", text: number(rules[1].lost) });
  return [...parts, "."];
}

const sentenceText = () => sentence().map((part) => part.text ?? part).join("");

function verdict() {
  const said = sentence();
  for (const id of ["copy", "png", "svg"]) $(id).disabled = said === undefined;
  if (said) $("verdict").replaceChildren(...said.map((part) => (part.text === undefined ? part : element("b", part.mark ? { class: part.mark } : {}, part.text))));
  else $("verdict").textContent = state.outline.length > 0 ? "Counting …" : "Reading …";
}

const sentenceLine = () => `${SAMPLES[state.sample] ?? "A conversation of my own"}: ${plural(state.outline.length, "message")}, a window of ${number(state.window)} tokens`;

function svg() {
  const shown = ROWS.filter(({ id, needsModel }) => !needsModel && cellOf(id) && !cellOf(id).failed);
  const cells = shown.map(({ id, name, ours }) => ({ name: ours ? `palimpsest, ${name}` : name, ours, lost: cellOf(id).spoken.lost, said: cellOf(id).spoken.said, shares: cellOf(id).shares }));
  cells.sort((a, b) => a.lost - b.lost);
  return picture({ sentence: sentenceText(), line: sentenceLine(), outline: state.outline, cells });
}

function save(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function select(id, { layers = [], quiet = false } = {}) {
  state.row = id;
  for (const item of $("rows").children) {
    if (item.dataset.row === id) item.setAttribute("aria-current", "true");
    else item.removeAttribute("aria-current");
  }
  const { window, run } = state;
  const cell = layers.length > 0 ? await ask("lift", { row: id, window, layers }) : cellOf(id);
  if (!cell || run !== state.run || state.row !== id || window !== state.window) return;
  const row = ROWS.find((one) => one.id === id);
  state.lifted = layers;
  detail($("detail"), {
    row,
    cell,
    whole: cellOf(id),
    outline: state.outline,
    layers,
    covered: coveredBy(cell.layers ?? []),
    code: row.ours ? "https://github.com/palimpsest-dev/palimpsest/blob/main/docs/guide.md" : CODE,
    read,
    again: async () => {
      await fetchCell(id, window);
      await select(id, { quiet: true });
    },
    lift: (wanted) => select(id, { layers: wanted, quiet: true }),
    openWindow: async () => present(`What a model would be sent: ${row.name}`, await ask("window", { row: id, window, layers })),
  });
  if (!quiet) {
    history.replaceState(null, "", `#${state.sample ?? "own"}/${window}/${id}`);
    $("detail").scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth", block: "start" });
    $("detail").focus({ preventScroll: true });
  }
}

async function read(n) {
  present(`Message ${n + 1}`, [await ask("message", { n })]);
}

function present(title, messages) {
  $("reader-title").textContent = title;
  $("reader-text").replaceChildren(...messages.flatMap((message) => [element("h3", {}, message.role ?? ""), element("p", {}, textOf(message))]));
  $("reader").showModal();
  $("reader-text").scrollTop = 0;
}

function setWindow(window) {
  state.window = window;
  document.querySelector(`[name=window][value="${window}"]`).checked = true;
  const { row } = state;
  list();
  verdict();
  if (row && cellOf(row)) select(row, { quiet: true });
  else $("detail").hidden = true;
  if (state.outline.length > 0) fill();
}

for (const button of document.querySelectorAll(".sample")) button.addEventListener("click", () => openSample(button.dataset.sample));
for (const input of document.querySelectorAll("[name=window]")) input.addEventListener("change", () => setWindow(Number(input.value)));
$("file").addEventListener("change", ({ target }) => { if (target.files[0]) openFile(target.files[0]); target.value = ""; });
$("conversation").addEventListener("change", ({ target }) => choose(Number(target.value)));
for (const type of ["dragenter", "dragover"]) addEventListener(type, (event) => { event.preventDefault(); document.body.classList.add("is-over"); });
for (const type of ["dragleave", "drop"]) addEventListener(type, (event) => { event.preventDefault(); if (type === "drop" || event.relatedTarget === null) document.body.classList.remove("is-over"); });
addEventListener("drop", ({ dataTransfer }) => { if (dataTransfer.files[0]) openFile(dataTransfer.files[0]); });
$("copy").addEventListener("click", async ({ target }) => {
  const text = `${sentenceText()} (${sentenceLine()})`;
  await navigator.clipboard?.writeText(text).then(() => { target.textContent = "Copied"; }, () => { target.textContent = text; });
  setTimeout(() => { target.textContent = "Copy the sentence"; }, 2_000);
});
$("svg").addEventListener("click", () => save(new Blob([svg()], { type: "image/svg+xml" }), "forgotten.svg"));
$("png").addEventListener("click", async () => save(await bitmap(svg()), "forgotten.png"));
$("said").addEventListener("click", ({ clientX }) => { if (state.outline.length > 0) read(messageAt($("said"), state.outline, clientX)); });
$("models-list").replaceChildren(...ROWS.filter(({ needsModel }) => needsModel).map(({ name, does, source }) => element("li", {}, element("b", {}, name), `: ${does} `, element("a", { href: source }, "source"))));

function redraw() {
  renew();
  draw($("said"), state.outline);
  for (const canvas of $("rows").querySelectorAll("canvas")) paint(canvas);
  const own = $("detail").querySelector("canvas");
  if (own) own.redraw?.();
}
let soon;
new ResizeObserver(() => { cancelAnimationFrame(soon); soon = requestAnimationFrame(redraw); }).observe($("said"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

// `#trip/8192/truncation` opens that cell
const [sample, window_, row] = location.hash.slice(1).split("/");
if (WINDOWS.includes(Number(window_))) setWindow(Number(window_));
openSample(SAMPLES[sample] ? sample : "trip").then(async () => {
  if (!ROWS.some(({ id, needsModel }) => id === row && !needsModel)) return;
  for (let tries = 0; tries < 600 && !cellOf(row); tries += 1) await new Promise((resolve) => { setTimeout(resolve, 50); });
  await select(row);
});
if (window.isSecureContext) navigator.serviceWorker?.register(script("offline.js")).catch(() => {}); // without it the page needs the network again
