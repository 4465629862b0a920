// The extension's side of a view in VS Code: it keeps the sessions, asks the model server, and says what the view may load.
// Only Node's own modules and the objects that VS Code gives.

import { request as http } from "node:http";
import { request as https } from "node:https";
import { PalimpsestError } from "./errors.js";
import { fileStorage } from "./files/storage.js";
import { check } from "./options.js";
import type { StorageAdapter } from "./storage.js";
import { serveWire, type WireAnswer, type WireRequest } from "./wire-host.js";

export { PalimpsestError } from "./errors.js";
export { fileStorage, type FileStorage } from "./files/storage.js";
export type { StorageAdapter } from "./storage.js";

/** What VS Code calls a `Uri`, as far as it is used. */
export interface UriLike {
  readonly path: string;
  with(change: { path: string }): UriLike;
  toString(): string;
}

/** What VS Code calls a `Webview`, as far as it is used. */
export interface WebviewLike {
  readonly cspSource: string;
  asWebviewUri(uri: never): { toString(): string };
  postMessage(message: unknown): PromiseLike<boolean>;
  onDidReceiveMessage(heard: (message: unknown) => void): { dispose(): unknown };
}

/** How a view is served. */
export interface AttachOptions {
  /**
   * The folder in which sessions are kept: `context.globalStorageUri.fsPath`, or `context.storageUri.fsPath` for those of a
   * workspace. Views with the same folder share it.
   */
  storageFolder?: string;
  /** Keeps sessions otherwise. */
  storage?: StorageAdapter;
  /** Where the model server is, seen from where the extension runs; `http://localhost:11434` if not said. */
  ollamaUrl?: string;
  /** Sent with every request to it. */
  headers?: Readonly<Record<string, string>>;
  /** Paths beside Ollama's own that the view may ask for, such as `/v1/models` and `/v1/chat/completions`. */
  paths?: readonly string[];
  /** Opens an address: `(url) => vscode.env.openExternal(vscode.Uri.parse(url))`. */
  openExternal?(url: string): unknown;
  /** Saves a file: a dialog and `vscode.workspace.fs`. */
  saveFile?(name: string, text: string): unknown;
  /** Copies a text: `(text) => vscode.env.clipboard.writeText(text)`. */
  copy?(text: string): unknown;
}

/** What a menu of the extension may ask of the view. */
export type ViewCommand = "newSession" | "focus" | "exportMarkdown" | "exportJson";

/** A view that is served. */
export interface Attached {
  /** Tells the view what was chosen in a menu. */
  command(name: ViewCommand): void;
  /** Ends it: requests are cancelled, sessions given back, nothing is answered any more. */
  dispose(): void;
}

const KNOWN = ["storageFolder", "storage", "ollamaUrl", "headers", "paths", "openExternal", "saveFile", "copy"];

/**
 * Serves the app in a webview: its sessions are files of the extension's, and only the paths of a model server that it needs
 * are asked for, from where the extension runs. So it also works in remote windows. Dispose of it when the view goes; a view
 * that is resolved again is attached anew.
 *
 * @throws {@link PalimpsestError} `invalid_options`.
 *
 * @example
 * ```ts
 * import { attachPalimpsest, palimpsestHtml, type WebviewLike, type UriLike } from "palimpsest-ui/vscode-host";
 *
 * declare const view: { webview: WebviewLike & { html: string }; onDidDispose(then: () => void): void };
 * declare const context: { extensionUri: UriLike; globalStorageUri: { fsPath: string } };
 * const attached = attachPalimpsest(view.webview, { storageFolder: context.globalStorageUri.fsPath });
 * view.onDidDispose(() => attached.dispose());
 * view.webview.html = palimpsestHtml(view.webview, context.extensionUri);
 * attached.command("focus");
 * ```
 */
export function attachPalimpsest(webview: WebviewLike, options: AttachOptions): Attached {
  if (typeof webview?.onDidReceiveMessage !== "function" || typeof webview.postMessage !== "function") {
    throw new PalimpsestError("invalid_options", "Expected a webview.");
  }
  if (typeof options !== "object" || options === null) throw new PalimpsestError("invalid_options", "Expected options with a `storageFolder`.");
  check(options, KNOWN);
  const { storageFolder, ollamaUrl = "http://localhost:11434", headers = {}, paths = [] } = options;
  const storage = options.storage ?? (storageFolder === undefined ? undefined : fileStorage(storageFolder));
  if (storage === undefined) throw new PalimpsestError("invalid_options", "Sessions need a `storageFolder`, or a `storage`.");
  const server = base(ollamaUrl);
  const { openExternal, saveFile, copy } = options;
  const port = {
    // a view that is going away rejects messages: there is nobody left to tell
    post: (message: object) => void webview.postMessage(message).then(undefined, () => {}),
    listen: (heard: (message: unknown) => void) => {
      const listening = webview.onDidReceiveMessage(heard);
      return () => void listening.dispose();
    },
  };
  const service = serveWire(port, {
    storage,
    request: (request) => ask(server, headers, request),
    paths,
    address: server.href.replace(/\/$/, ""),
    actions: {
      ...(openExternal === undefined ? {} : { openExternal }),
      ...(saveFile === undefined ? {} : { saveFile }),
      ...(copy === undefined ? {} : { copy }),
    },
  });
  return { command: (name) => service.command(name), dispose: () => service.dispose() };
}

/** What a page of a view is made of. */
export interface HtmlOptions {
  /** Names the one script that the policy lets run; a fresh one each time. Made up if not said. */
  nonce?: string;
  /** The folder of this package inside the extension; `node_modules/palimpsest-ui` if not said. */
  packageFolder?: string;
  /** The language of the page. */
  lang?: string;
  /** What is left out of the app. */
  without?: readonly ("sidebar" | "inspector" | "settings")[];
}

/**
 * The page of a webview: a strict policy, one script, the styles. `localResourceRoots` must hold the package's folder, and
 * `enableScripts` be set.
 */
export function palimpsestHtml(webview: WebviewLike, extensionUri: UriLike, options: HtmlOptions = {}): string {
  const { nonce = random(), packageFolder = "node_modules/palimpsest-ui", lang = "en", without = [] } = options;
  if (!/^[\w+/=-]{16,}$/.test(nonce)) throw new PalimpsestError("invalid_options", "A nonce has at least 16 letters and digits.");
  const uri = (file: string): string => {
    const path = `${extensionUri.path.replace(/\/$/, "")}/${packageFolder}/dist/${file}`;
    return escaped(webview.asWebviewUri(extensionUri.with({ path }) as never).toString());
  };
  const source = webview.cspSource;
  const policy = [
    "default-src 'none'",
    `script-src ${source} 'nonce-${nonce}' 'wasm-unsafe-eval'`,
    `style-src ${source}`,
    `img-src ${source} data:`,
    `font-src ${source}`,
    `connect-src ${source}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!doctype html>
<html lang="${escaped(lang)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escaped(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>palimpsest</title>
</head>
<body>
<div id="palimpsest" data-wasm="${uri("ui/palimpsest_web_bg.wasm")}" data-css="${uri("ui/palimpsest.css")}" data-without="${escaped(without.join(" "))}"></div>
<script type="module" nonce="${nonce}" src="${uri("webview.js")}"></script>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}

function random(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, "A");
}

function base(address: string): URL {
  let url: URL;
  try {
    url = new URL(address);
  } catch (cause) {
    throw new PalimpsestError("invalid_options", `"${address}" is not an address like http://localhost:11434.`, { cause });
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new PalimpsestError("invalid_options", `"${address}" is not an address of the web.`);
  }
  return url;
}

/** Asks the model server. No redirect is followed: it would carry the conversation elsewhere. Nothing is too slow here. */
function ask(server: URL, headers: Readonly<Record<string, string>>, { method, path, body, signal }: WireRequest): Promise<WireAnswer> {
  const url = new URL(server.pathname.replace(/\/$/, "") + path, server);
  const sent = { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) };
  return new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? https : http;
    const asking = send(url, { method, headers: sent, signal }, (answer) => {
      const status = answer.statusCode ?? 0;
      if (status >= 300 && status < 400) {
        answer.destroy();
        return reject(Object.assign(new Error(`the server sends elsewhere (${status})`), { code: "bad_response" }));
      }
      const retryAfter = answer.headers["retry-after"];
      resolve({ status, body: answer, ...(typeof retryAfter === "string" ? { retryAfter } : {}) });
    });
    asking.on("error", (error) => {
      reject(signal.aborted ? signal.reason : Object.assign(new Error(`${url.origin}: ${error.message}`), { code: "unreachable" }));
    });
    asking.end(body);
  });
}
