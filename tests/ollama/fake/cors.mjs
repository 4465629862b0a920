// Who may read the answers: origins, preflight and the guard against DNS rebinding, as measured on a real server.

const SCHEMES = ["app://", "file://", "tauri://", "vscode-webview://", "vscode-file://"];
const LOCAL = ["localhost", "127.0.0.1", "0.0.0.0"];

/** The fixed list a preflight is answered with. A request with any other header of its own fails in the browser. */
export const ALLOWED_HEADERS = [
  "Authorization", "Content-Type", "User-Agent", "Accept", "X-Requested-With", "Openai-Beta",
  ...["Arch", "Async", "Custom-Poll-Interval", "Helper-Method", "Lang", "Os", "Package-Version",
    "Poll-Helper", "Retry-Count", "Runtime", "Runtime-Version", "Timeout"].map((name) => "X-Stainless-" + name),
].join(",");

const ALLOWED_METHODS = "GET,POST,PUT,PATCH,DELETE,HEAD,OPTIONS";

/** Does one entry of the list (with `*` as wildcard) allow this origin? */
function matches(entry, origin) {
  const pattern = entry.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&")).join(".*");
  return new RegExp(`^${pattern}$`).test(origin);
}

/** Is `origin` allowed? `extra` is what OLLAMA_ORIGINS adds. */
export function originAllowed(origin, extra = []) {
  if (extra.includes("*")) return true;
  if (extra.some((entry) => matches(entry, origin))) return true;
  if (SCHEMES.some((scheme) => origin.startsWith(scheme))) return true;
  return LOCAL.some((host) => ["http", "https"].some((s) => matches(`${s}://${host}`, origin) || matches(`${s}://${host}:*`, origin)));
}

/** May a server bound to loopback be reached under this Host header? */
export function hostAllowed(host) {
  const name = (host ?? "").replace(/:\d+$/, "").toLowerCase();
  if (name === "" || name === "localhost") return true;
  if (/\.(localhost|local|internal)$/.test(name)) return true;
  if (name === "[::1]") return true;
  return /^(127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|0\.0\.0\.0$)/.test(name);
}

/**
 * Applies the rules. Returns true when the request is already answered (403, or a preflight's 204);
 * otherwise the headers an allowed page needs are set.
 */
export function guard(req, res, extra = []) {
  const refuse = () => {
    res.writeHead(403, { "Content-Length": 0 });
    res.end();
    return true;
  };
  if (!hostAllowed(req.headers.host)) return refuse();
  const origin = req.headers.origin;
  if (origin === undefined) return false;
  if (origin === `http://${req.headers.host}` || origin === `https://${req.headers.host}`) return false;
  if (!originAllowed(origin, extra)) return refuse();
  const all = extra.includes("*");
  if (req.method === "OPTIONS") {
    res.writeHead(204, {
      "Access-Control-Allow-Headers": ALLOWED_HEADERS,
      "Access-Control-Allow-Methods": ALLOWED_METHODS,
      "Access-Control-Allow-Origin": all ? "*" : origin,
      "Access-Control-Max-Age": "43200",
      ...(all ? {} : { Vary: ["Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers"] }),
    });
    res.end();
    return true;
  }
  res.setHeader("Access-Control-Allow-Origin", all ? "*" : origin);
  if (!all) res.setHeader("Vary", "Origin");
  return false;
}
