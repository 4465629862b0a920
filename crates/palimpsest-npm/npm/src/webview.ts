// The script of a view in VS Code: what `palimpsestHtml` of `palimpsest-ui/vscode-host` names. It has no exports.

import { mount, PalimpsestError, vscodeActions, vscodeSettings, vscodeStorage, vscodeTransport, type VsCodeApi } from "./ui.js";
import { clientOf } from "./view.js";

declare function acquireVsCodeApi(): VsCodeApi;

const vs = acquireVsCodeApi();
const el = document.getElementById("palimpsest");
// the editor's own page has a margin and no height; rules for styles do not forbid this way of saying it
for (const one of [document.documentElement, document.body]) {
  one.style.height = "100%";
  one.style.margin = "0";
  one.style.padding = "0";
  one.style.overflow = "hidden";
}

async function begin(): Promise<void> {
  if (el === null) throw new PalimpsestError("invalid_options", "The page has no element with the id `palimpsest`.");
  el.style.height = "100%";
  const client = clientOf(vs);
  const { address } = await client.hello();
  const { wasm, css, without = "" } = el.dataset;
  const features = Object.fromEntries(without.split(" ").filter(Boolean).map((name) => [name, false]));
  const app = await mount(el, {
    storage: vscodeStorage(vs),
    transport: vscodeTransport(vs),
    settings: vscodeSettings(vs),
    host: vscodeActions(vs),
    theme: "vscode",
    features,
    ...(wasm === undefined ? {} : { wasm }),
    ...(css === undefined ? {} : { css }),
    ...(address === undefined ? {} : { address }),
  });
  client.onCommand((command) => {
    if (command === "newSession") app.newSession();
    else if (command === "focus") app.focus();
    else if (command === "exportMarkdown") app.exportSession("markdown");
    else if (command === "exportJson") app.exportSession("json");
  });
}

begin().catch((error: unknown) => {
  const note = document.createElement("p");
  note.setAttribute("role", "alert");
  note.style.padding = "1em";
  note.textContent = `palimpsest could not begin: ${error instanceof Error ? error.message : String(error)}`;
  (el ?? document.body).replaceChildren(note);
});
