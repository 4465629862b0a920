// Loads the module. Everything else is in it.
import init from "./palimpsest_web.js";

const crash = document.getElementById("crash");
document.getElementById("reload").addEventListener("click", () => location.reload());
init({ module_or_path: "palimpsest_web_bg.wasm" }).catch((error) => {
  crash.querySelector("code").textContent = String(error);
  crash.hidden = false;
});
