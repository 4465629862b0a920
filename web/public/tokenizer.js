// A worker with the page's own module: it reads a model's vocabulary, so that the page need not.
import init, { serve } from "./palimpsest_web.js";

init({ module_or_path: "palimpsest_web_bg.wasm" }).then(serve);
