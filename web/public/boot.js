// Dresses the shell as it was left, then loads the module. Everything else is in it.
import init from "./palimpsest_web.js";

try {
  const { theme, contrast, grey } = JSON.parse(localStorage.getItem("palimpsest.settings") ?? "{}");
  const root = document.documentElement.dataset;
  if (theme && theme !== "system") root.theme = theme;
  if (contrast) root.contrast = "more";
  if (grey) root.palette = "grey";
} catch {
  // a browser that refuses localStorage shows the system's colours
}
const crash = document.getElementById("crash");
document.getElementById("reload").addEventListener("click", () => location.reload());
init({ module_or_path: "palimpsest_web_bg.wasm" }).catch((error) => {
  crash.querySelector("code").textContent = String(error);
  crash.hidden = false;
});
