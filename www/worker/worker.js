import { compact, init } from "./palimpsest/dist/index.js";

// messages that arrive before the module is there wait for it
const ready = init();

self.addEventListener("message", async ({ data: { id, messages, options } }) => {
  try {
    await ready;
    self.postMessage({ id, result: compact(messages, options) });
  } catch ({ name, message, code, details }) {
    self.postMessage({ id, error: { name, message, code, details } });
  }
});
