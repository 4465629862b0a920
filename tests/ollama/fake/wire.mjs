// Bytes on the wire: JSON as the Go server writes it, request bodies, the recorder.

/** JSON as Go's encoder writes it: `<`, `>`, `&`, U+2028 and U+2029 are escaped. */
export function goJson(value) {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"),
  );
}

/** A time, with nine digits of fraction as the real server prints it. */
export function goTime(atMs = Date.now()) {
  return new Date(atMs).toISOString().replace("Z", "000000Z");
}

/** A JSON answer with a Content-Length, as gin sends it. */
export function sendJson(res, status, value, type = "application/json; charset=utf-8") {
  const body = Buffer.from(goJson(value));
  res.writeHead(status, { "Content-Type": type, "Content-Length": body.length });
  res.end(body);
}

/** A JSON answer in chunks without a Content-Length, as errors of a started generation and long answers come. */
export function sendChunkedJson(res, status, value, { type = "application/json", encode = goJson } = {}) {
  res.writeHead(status, { "Content-Type": type });
  res.write(encode(value));
  res.end();
}

/** A plain text answer (unknown path, wrong method). */
export function sendText(res, status, text) {
  const body = Buffer.from(text);
  res.writeHead(status, { "Content-Type": "text/plain", "Content-Length": body.length });
  res.end(body);
}

/** All bytes of a request body. Rejects when the client goes away in the middle. */
export function readBody(req) {
  return new Promise((resolve, reject) => {
    const parts = [];
    req.on("data", (part) => parts.push(part));
    req.on("end", () => resolve(Buffer.concat(parts)));
    req.on("error", reject);
    req.on("aborted", () => reject(new Error("the client went away while sending")));
  });
}

/** What Go's decoder says about text that is no JSON value. */
export function goSyntaxError(text) {
  const start = text.trimStart();
  if (!/^[[{"\-0-9tfn]/.test(start)) {
    return `invalid character '${[...start][0]}' looking for beginning of value`;
  }
  return "unexpected EOF";
}

/** Keeps every request as it came, and what became of it. */
export class Recorder {
  #entries = [];

  open(req) {
    const entry = {
      n: this.#entries.length + 1,
      at: Date.now(),
      method: req.method,
      path: req.url,
      headers: req.rawHeaders,
      body: "",
      bytes: 0,
      status: 0,
      promptTokens: null,
      answerTokens: null,
      sentMessages: null,
      keptMessages: null,
      hostile: null,
      aborted: false,
    };
    this.#entries.push(entry);
    return entry;
  }

  /** Stores the body; bytes that are no UTF-8 are kept as base64 beside the text. */
  body(entry, bytes) {
    entry.bytes = bytes.length;
    entry.body = bytes.toString("utf8");
    if (!Buffer.from(entry.body, "utf8").equals(bytes)) entry.bodyBase64 = bytes.toString("base64");
  }

  get entries() {
    return this.#entries;
  }

  clear() {
    this.#entries.length = 0;
  }

  toJsonLines() {
    return this.#entries.map((entry) => JSON.stringify(entry) + "\n").join("");
  }
}
