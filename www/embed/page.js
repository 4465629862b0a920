// The page around the frame. It serves the frame as an editor serves its view: with a storage and a way to the model server.
// `storage.js` beside this file is a storage of our own; any other with its three calls will do.

import { framePort, serveWire } from "./palimpsest-ui/dist/ui.js";
import { memoryStorage } from "./storage.js";

const options = new URLSearchParams(location.search);
// where the frame and the model server are; your page knows that
const origin = options.get("frame");
const server = options.get("server") ?? "http://localhost:11434";

const frame = document.getElementById("chat");
const storage = memoryStorage();
serveWire(framePort(frame, origin), {
  storage,
  address: server,
  async request({ method, path, body, signal }) {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const { status, headers, body: answer } = await fetch(server + path, { method, headers: type, body, signal, redirect: "error", credentials: "omit" });
    const retryAfter = headers.get("retry-after");
    return { status, body: pieces(answer), ...(retryAfter === null ? {} : { retryAfter }) };
  },
  actions: { openExternal: (url) => open(url, "_blank", "noopener") },
});
frame.src = `${origin}/frame.html?host=${encodeURIComponent(location.origin)}`;

// a body is not iterable everywhere
async function* pieces(body) {
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

document.getElementById("result").textContent = "Serving.";
addEventListener("message", () => {
  const said = [...storage.rows.values()].filter(({ table }) => table === "messages").length;
  document.getElementById("result").textContent = `${said} messages kept here.`;
});
