// A view in an editor or in a frame: what keeps its sessions and asks its model server is on the other side of messages.

import { PalimpsestError } from "./errors.js";
import type { StorageAdapter } from "./storage.js";
import type { Transport } from "./transport.js";
import { WireClient, type WirePort } from "./wire.js";

/** What `acquireVsCodeApi()` gives, as far as it is used. It may be called once in a view. */
export interface VsCodeApi {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): unknown;
}

/** A place for settings, like `localStorage`, which is one. */
export interface SettingsStore {
  getItem(name: string): string | null;
  setItem(name: string, text: string): void;
  removeItem(name: string): void;
}

/** What the page around the app does for it. */
export interface HostActions {
  /** Opens an address outside of the page. */
  openExternal?(url: string): void;
  /** Saves a file. */
  saveFile?(name: string, text: string): void;
  /** Copies a text. */
  copy?(text: string): void | PromiseLike<void>;
}

/** One connection for each view: the host knows a view by it. */
const clients = new WeakMap<object, WireClient>();

/** The connection of a view. @internal */
export function clientOf(host: VsCodeApi | WirePort): WireClient {
  if (typeof host !== "object" || host === null) throw new PalimpsestError("invalid_options", "Expected what acquireVsCodeApi() gave.");
  const known = clients.get(host);
  if (known !== undefined) return known;
  const client = new WireClient("post" in host ? host : vscodePort(host));
  clients.set(host, client);
  return client;
}

/** VS Code passes messages to a view as those of its own window. */
function vscodePort(vs: VsCodeApi): WirePort {
  return {
    post: (message) => vs.postMessage(message),
    listen: (heard) => {
      const listener = (event: MessageEvent): void => heard(event.data);
      window.addEventListener("message", listener);
      return () => window.removeEventListener("message", listener);
    },
  };
}

/**
 * Sessions that the extension keeps: what `attachPalimpsest` of `palimpsest-ui/vscode-host` is on the other side of. In a frame,
 * give it `parentPort(origin)` instead.
 *
 * @example
 * ```ts
 * import { mount, vscodeSettings, vscodeStorage, vscodeTransport, type VsCodeApi } from "palimpsest-ui";
 *
 * declare function acquireVsCodeApi(): VsCodeApi;
 * const vs = acquireVsCodeApi();
 * await mount(document.body, {
 *   storage: vscodeStorage(vs),
 *   transport: vscodeTransport(vs),
 *   settings: vscodeSettings(vs),
 *   theme: "vscode",
 * });
 * ```
 */
export function vscodeStorage(vs: VsCodeApi | WirePort): StorageAdapter {
  const client = clientOf(vs);
  return {
    claim: (given) => client.call("claim", given) as Promise<{ epoch: number }>,
    read: (query) => client.call("read", query) as ReturnType<StorageAdapter["read"]>,
    apply: (write) => client.call("apply", write),
    release: (lease) => client.call("release", lease),
    watch: (heard) => client.onChange(heard),
    estimate: () => client.call("estimate", {}) as Promise<{ used: number } | null>,
  };
}

/** A model server that the extension asks: it also works where the editor's window is not on its machine. */
export function vscodeTransport(vs: VsCodeApi | WirePort): Transport {
  const client = clientOf(vs);
  return {
    async *request({ signal, ...asked }) {
      const pieces = client.stream("request", asked, signal);
      const first = await pieces.next();
      if (first.done) return;
      const { status, retryAfter } = first.value as { status: number; retryAfter?: string };
      if (status !== 200) {
        let said = "";
        for await (const piece of pieces) said += String(piece);
        throw Object.assign(new Error(said), { status, retryAfter });
      }
      for await (const piece of pieces) yield String(piece);
    },
  };
}

/** Settings, the open session, its place and its draft in the view's state, which survives a reload and a move. */
export function vscodeSettings(vs: VsCodeApi): SettingsStore {
  const all = (): Record<string, string> => {
    const state = vs.getState() as { palimpsest?: Record<string, string> } | undefined;
    return { ...state?.palimpsest };
  };
  const keep = (entries: Record<string, string>): void => {
    vs.setState({ ...(vs.getState() as object | undefined), palimpsest: entries });
  };
  return {
    getItem: (name) => {
      const entries = all();
      return Object.hasOwn(entries, name) ? (entries[name] ?? null) : null;
    },
    setItem: (name, text) => keep({ ...all(), [name]: text }),
    removeItem: (name) => {
      const entries = all();
      delete entries[name];
      keep(entries);
    },
  };
}

/** What the extension does for the app: links, files, the clipboard. */
export function vscodeActions(vs: VsCodeApi | WirePort): HostActions {
  const client = clientOf(vs);
  const quiet = (op: string, args: object): void => void client.call(op, args).catch(() => {});
  return {
    openExternal: (url) => quiet("openExternal", { url }),
    saveFile: (name, text) => quiet("saveFile", { name, text }),
    copy: async (text) => void (await client.call("copy", { text })),
  };
}
