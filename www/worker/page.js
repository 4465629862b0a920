const worker = new Worker("worker.js", { type: "module" });
let calls = 0;

/** Asks the worker; rejects with what went wrong there. */
function ask(messages, options) {
  const id = ++calls;
  return new Promise((resolve, reject) => {
    const listen = ({ data }) => {
      if (data.id !== id) return;
      worker.removeEventListener("message", listen);
      if (data.error) reject(Object.assign(new Error(data.error.message), data.error));
      else resolve(data.result);
    };
    worker.addEventListener("message", listen);
    worker.postMessage({ id, messages, options });
  });
}

const messages = Array.from({ length: 200 }, (_, i) => ({
  role: i % 2 ? "assistant" : "user",
  content: `Message ${i} says something about topic ${i % 7}, in a sentence of about twenty words, so that it adds up to more than fits.`,
}));
const { messages: fitting, report } = await ask(messages, { window: 2048 });
const failure = await ask("nothing", { window: 2048 }).catch((error) => error.code);
document.getElementById("result").textContent =
  `${messages.length} messages became ${fitting.length}, ${report.after.tokens <= report.limit ? "within" : "over"} the limit; a mistake is ${failure}.`;
