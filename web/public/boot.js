// Dresses the shell as it was left, then loads the module. Everything else is in it.
import init, { run } from "./palimpsest_web.js";

try {
  const { theme, contrast, grey, session } = JSON.parse(localStorage.getItem("palimpsest.settings") ?? "{}");
  const root = document.documentElement.dataset;
  if (theme && theme !== "system") root.theme = theme;
  // who has been here before does not need to be told what this is
  if (session) root.known = "";
  if (contrast) root.contrast = "more";
  if (grey) root.palette = "grey";
} catch {
  // a browser that refuses localStorage shows the system's colours
}
// The files of this build stay for as long as the page does: the service worker deletes no build whose lock is held.
navigator.locks?.request(`palimpsest-build ${new URL("./", location).pathname} ${document.documentElement.dataset.build}`, { mode: "shared" }, () => new Promise(() => {}));
const crash = document.getElementById("crash");
document.getElementById("reload").addEventListener("click", () => location.reload());
init({ module_or_path: "palimpsest_web_bg.wasm" }).then(() => run("tokenizer.js", () => import("./model.js").then((model) => model.opened()), (file) => import("./pages.js").then((pages) => pages.text(file)))).then(offline, (error) => {
  crash.querySelector("code").textContent = String(error);
  crash.hidden = false;
});

// Once the page stands: the shell for visits without a network. The one script that may be named is ours.
function offline() {
  const policy = globalThis.trustedTypes?.createPolicy("shell", { createScriptURL: () => "sw.js" });
  const name = policy?.createScriptURL("") ?? "sw.js";
  setTimeout(() => navigator.serviceWorker?.register(name).catch(() => {}), 2000);
}
