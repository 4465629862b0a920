// The chat app, in an element of your page.

/// <reference lib="esnext.disposable" preserve="true" />

import { create, type Exports } from "./ui/palimpsest_web.js";
import symbols from "./ui/sprite.js";
import { PalimpsestError } from "./errors.js";
import { MountHost } from "./mount-host.js";
import { mountedEngine, type MountedEngine } from "./mounted-engine.js";
import { check } from "./options.js";
import { instance, type Instance } from "./instance.js";
import type { SessionEvent } from "./session.js";
import { open, type Code, type WasmSource } from "./source.js";
import type { StorageAdapter } from "./storage.js";
import type { Transport } from "./transport.js";
import type { HostActions, SettingsStore } from "./view.js";

export { PalimpsestError, type ErrorCode, type RoomChoice } from "./errors.js";
export type { MountedEngine } from "./mounted-engine.js";
export type { WasmSource } from "./source.js";
export type {
  Compaction, CompactionReport, CompactionStage, HistoryItem, OffloadedResult, ReplyEnd, SessionBudget, SessionEvent, SessionEvents, SessionInfo, SessionMode, WindowSegment,
} from "./session.js";
export type { Facts, Pass, Shed } from "./compact.js";
export type {
  StorageAdapter, StorageChange, StorageKey, StorageLease, StorageOp, StorageQuery, StorageRow, StorageTable, StorageWrite,
} from "./storage.js";
export type { Count } from "./tokenizer.js";
export type { Transport, TransportRequest } from "./transport.js";
export { vscodeActions, vscodeSettings, vscodeStorage, vscodeTransport, type HostActions, type SettingsStore, type VsCodeApi } from "./view.js";
export { framePort, parentPort, type WirePort } from "./wire.js";
export { serveWire, type WireAnswer, type WireRequest, type WireService, type WireServices } from "./wire-host.js";

/** How the app is mounted. Everything may be left out. */
export interface MountOptions {
  /** Where the app's wasm module is; beside this file if not said. A webview names it. */
  wasm?: WasmSource;
  /** Where its styles are; beside this file if not said. */
  css?: string | URL;
  /** Where sessions are kept. Without one IndexedDB is taken and, where that is refused, memory with a notice. */
  storage?: StorageAdapter;
  /** The way to the model server. Without one the page asks the address in the app's settings itself. */
  transport?: Transport;
  /** Where the model server behind `transport` is, to be shown. */
  address?: string;
  /**
   * Where settings, the open session and drafts are kept: `localStorage`, `sessionStorage`, or your own. Without one they
   * last until the app is unmounted: it writes nothing into the storage of your page unasked.
   */
  settings?: SettingsStore;
  /** The colours: as the app's settings say (`auto`), or as you say; `vscode` follows the editor. */
  theme?: "auto" | "light" | "dark" | "vscode";
  /** What is left out. The router is always in memory: the address of your page stays yours. */
  features?: { sidebar?: boolean; inspector?: boolean; settings?: boolean; router?: "memory" };
  /** What your page does for the app. */
  host?: HostActions;
  /** Hears of everything that happens to the open session. */
  onEvent?: (event: SessionEvent) => void;
}

/** The app in your page. After `unmount` only that may be called again. */
export interface Mounted {
  /** The open session: to read it, to make its window smaller, to listen. */
  readonly engine: MountedEngine;
  /** Takes the app away: its elements, its listeners, its hold on the session. What was said is stored. */
  unmount(): void;
  /** The model of the open session, and of new ones. */
  setModel(name: string): void;
  /** Puts the cursor into the message field. */
  focus(): void;
  /** Goes to an empty session. */
  newSession(): void;
  /** Saves the open session as a file. */
  exportSession(format?: "markdown" | "json"): void;
  /** As {@link Mounted.unmount}. */
  [Symbol.dispose](): void;
}

const KNOWN = ["wasm", "css", "storage", "transport", "address", "settings", "theme", "features", "host", "onEvent"];
const FEATURES = ["sidebar", "inspector", "settings"] as const;
const THEMES = ["auto", "light", "dark", "vscode"];

/** Where the app keeps which session is open, and we its place. */
const SETTINGS = "palimpsest.settings";
const PLACE = "palimpsest.place";
/** Pixels from the end within which a reply is followed. */
const NEAR = 80;
/** Pictures that the app takes to lay a thread out. */
const FRAMES = 8;

/** The cure where the address of the module is wrong. */
const CURE =
  'Give the right one as `wasm`. In Vite, set optimizeDeps: { exclude: ["palimpsest-ui"] }, or import wasm from "palimpsest-ui/palimpsest.wasm?url".';

/** The module, compiled: every app and the workers that read vocabularies run it. */
let code: WebAssembly.Module | undefined;

/** The code that is being fetched. */
let coming: Promise<Code> | undefined;

/** An instance of the module whose app was unmounted: the next app takes it. It is never one that has crashed. */
let spare: Instance<Exports> | undefined;

/** The elements that have an app. */
const taken = new WeakSet<Element>();

/**
 * Mounts the chat app in an element, in a shadow root of its own: your styles and its do not meet. The element needs a height.
 * A document may have several apps, each in an element of its own. Each is an instance of the module with its own memory, and
 * they share sessions as two tabs of a browser do: one writes a session, the others read it. Give each its own `settings`.
 *
 * Sessions, the model server, settings, links and files can all be your page's: see {@link MountOptions}. The page's policy
 * needs `script-src 'wasm-unsafe-eval'` and `style-src` and `connect-src` for where the files lie; nothing is evaluated, and no
 * style is inline.
 *
 * @throws {@link PalimpsestError} `invalid_options`; `already_mounted` if the element has an app; `load_failed` if the module or the styles cannot be
 * had, and then the next call tries again.
 *
 * @example
 * ```ts
 * import { mount } from "palimpsest-ui";
 *
 * const app = await mount(document.getElementById("chat")!, {
 *   settings: localStorage,
 *   onEvent: (event) => console.log(event.type),
 * });
 * app.setModel("llama3.2:3b");
 * app.focus();
 * app.unmount();
 * ```
 */
export async function mount(el: HTMLElement, options: MountOptions = {}): Promise<Mounted> {
  refuse(el, options);
  if (taken.has(el)) {
    throw new PalimpsestError("already_mounted", "There is an app in this element: unmount it first, or mount this one in another element.");
  }
  taken.add(el);
  const place = frame(el, options);
  const leave = (): void => {
    place.outer.remove();
    taken.delete(el);
  };
  const module = spare ?? made();
  spare = undefined;
  try {
    const wasm = options.wasm ?? new URL("./ui/palimpsest_web_bg.wasm", import.meta.url);
    await Promise.all([module.load(() => compiled(wasm)), place.styled]);
  } catch (error) {
    leave();
    spare = module;
    throw error;
  }
  return begin(module, place, leave, options);
}

function made(): Instance<Exports> {
  const { start, exports } = create();
  return instance(start, exports, "mount()", CURE);
}

/** The module's code, fetched and compiled once for all apps. */
function compiled(wasm: WasmSource): Promise<Code> {
  if (code !== undefined) return Promise.resolve(code);
  coming ??= fetched(wasm).finally(() => {
    coming = undefined;
  });
  return coming;
}

async function fetched(wasm: WasmSource): Promise<Code> {
  const from = await open(wasm);
  // what is no module, or may not be compiled here, is told of by who starts it
  code = from instanceof WebAssembly.Module ? from : await WebAssembly.compile(from).catch(() => undefined);
  return code ?? from;
}

function refuse(el: unknown, options: MountOptions): void {
  const wrong = (why: string): PalimpsestError => new PalimpsestError("invalid_options", why);
  if (typeof HTMLElement === "undefined") throw wrong("There is no document here: mount() needs a page.");
  if (!(el instanceof HTMLElement)) throw wrong("The app needs an element to be mounted in: is its id right, and is the page there yet?");
  if (typeof options !== "object" || options === null) throw wrong("Expected options.");
  check(options, KNOWN);
  const { storage, transport, theme, features = {}, settings } = options;
  for (const call of storage === undefined ? [] : (["claim", "read", "apply"] as const)) {
    if (typeof storage?.[call] !== "function") throw wrong(`A storage needs a function \`${call}\`.`);
  }
  for (const call of settings === undefined ? [] : (["getItem", "setItem", "removeItem"] as const)) {
    if (typeof settings?.[call] !== "function") throw wrong(`A place for settings needs a function \`${call}\`.`);
  }
  if (transport !== undefined && typeof transport?.request !== "function") throw wrong("A transport needs a function `request`.");
  if (theme !== undefined && !THEMES.includes(theme)) throw wrong(`There is no theme "${String(theme)}": ${THEMES.join(", ")}.`);
  check(features, [...FEATURES, "router"]);
  if (features.router !== undefined && features.router !== "memory") throw wrong("A mounted app's router is `memory`.");
}

interface Place {
  /** What stands in the page. */
  outer: HTMLElement;
  /** What the app is measured by. */
  frame: HTMLElement;
  /** What the app takes for its page. */
  root: HTMLElement;
  styled: Promise<void>;
}

/** A shadow root with the app's styles and icons, and an empty element for the app. */
function frame(el: HTMLElement, { css, features = {}, theme }: MountOptions): Place {
  const outer = document.createElement("div");
  outer.style.height = "100%";
  const shadow = outer.attachShadow({ mode: "open" });
  const link = document.createElement("link");
  const href = String(css ?? new URL("./ui/palimpsest.css", import.meta.url));
  const styled = new Promise<void>((resolve, reject) => {
    link.addEventListener("load", () => resolve());
    link.addEventListener("error", () => {
      reject(new PalimpsestError("load_failed", `The app's styles could not be had from ${href}. Give their address as \`css\`.`, { retryable: true }));
    });
  });
  // looked at in any case: the module may fail first
  styled.catch(() => {});
  link.rel = "stylesheet";
  link.href = href;
  const box = document.createElement("div");
  box.className = "frame";
  const root = document.createElement("div");
  root.className = "palimpsest";
  if (theme === "vscode") root.dataset["colours"] = "vscode";
  const without = FEATURES.filter((name) => features[name] === false);
  if (without.length > 0) root.dataset["without"] = without.join(" ");
  // nothing is shown before it has its styles
  root.style.visibility = "hidden";
  box.append(root);
  shadow.append(link, sprite(), box);
  el.append(outer);
  return { outer, frame: box, root, styled };
}

function sprite(): SVGElement {
  const make = (name: string, attributes: Record<string, string>): SVGElement => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
    return element;
  };
  const all = make("svg", { class: "sprite", "aria-hidden": "true", focusable: "false" });
  for (const [id, viewBox, shapes] of symbols) {
    const symbol = make("symbol", { id, viewBox });
    symbol.append(...shapes.map(([name, attributes]) => make(name, attributes)));
    all.append(symbol);
  }
  return all;
}

async function begin(module: Instance<Exports>, { frame, root }: Place, leave: () => void, options: MountOptions): Promise<Mounted> {
  const { storage, transport, settings, host: actions = {}, onEvent } = options;
  const host = new MountHost({ storage, transport, settings, actions, onEvent, code });
  const given = (): string => JSON.stringify({
    storage: storage !== undefined,
    transport: transport !== undefined,
    address: options.address ?? null,
    ...colours(options.theme),
  });
  const use = <T>(name: string, act: (app: Exports) => T): T => module.call(name, act);
  const ends: (() => void)[] = [];
  let live = true;
  const hear = <K extends keyof HTMLElementEventMap>(type: K, heard: (event: HTMLElementEventMap[K]) => void, capture = false): void => {
    frame.addEventListener(type, heard, capture);
    ends.push(() => frame.removeEventListener(type, heard, capture));
  };

  hear("keydown", (event) => use("keydown", (app) => app.pressed(event)));
  hear("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  hear("drop", (event) => use("drop", (app) => app.dropped(event)));
  hear("click", (event) => follow(event, actions, (hash) => use("navigate()", (app) => app.navigate(hash))));
  if (settings !== undefined) keepPlace(host, hear, ends);
  if (options.theme === "vscode") {
    const watching = new MutationObserver(() => {
      const { theme, contrast } = colours("vscode");
      use("theme", (app) => app.colours(theme === "dark", contrast === true));
    });
    watching.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    ends.push(() => watching.disconnect());
  }

  const unwatch = storage?.watch?.((change) => {
    const whose = host.whose(change);
    // never while the module runs: who tells may be in one of its calls
    if (whose !== "ours") queueMicrotask(() => live && !module.crashed && use("watch()", (app) => app.changed(change.session, whose === "taken")));
  });
  if (unwatch !== undefined) ends.push(unwatch);

  let crashed = false;
  host.onCrash = (text, detail) => {
    crashed = true;
    const note = document.createElement("div");
    note.className = "crash";
    note.setAttribute("role", "alert");
    const [words, code] = [document.createElement("p"), document.createElement("code")];
    words.textContent = text;
    code.textContent = detail;
    note.append(words, code);
    frame.append(note);
  };
  const stand = (): Promise<void> => new Promise((resolve) => {
    host.onReady = resolve;
    use("mount()", (app) => app.mount(root, host as never, given()));
    root.style.visibility = "";
  });
  const clear = (): void => {
    try {
      use("unmount()", (app) => app.unmount());
    } catch {
      // a module that has crashed holds nothing any more
    }
    root.replaceChildren();
  };
  host.onAgain = () => {
    clear();
    void stand();
  };
  const end = (): void => {
    if (!live) return;
    live = false;
    for (const stop of ends.splice(0)) stop();
    clear();
    host.hush();
    leave();
    if (!crashed && !module.crashed) spare = module;
  };
  try {
    await stand();
  } catch (error) {
    end();
    throw error;
  }
  if (settings !== undefined) takePlace(host, root);
  const act = <T>(name: string, then: (app: Exports) => T): T => {
    if (!live) throw new PalimpsestError("closed", `${name} was called after unmount().`);
    return use(name, then);
  };
  return {
    engine: mountedEngine(host, act),
    unmount: end,
    setModel: (name) => act("setModel()", (app) => app.model(String(name))),
    focus: () => act("focus()", (app) => app.focus()),
    newSession: () => act("newSession()", (app) => app.fresh()),
    exportSession: (format = "markdown") => act("exportSession()", (app) => app.export_session(format)),
    [Symbol.dispose]: end,
  };
}

/** The colours as the module takes them. */
function colours(theme: MountOptions["theme"]): { theme?: "light" | "dark"; contrast?: boolean } {
  if (theme === "light" || theme === "dark") return { theme };
  if (theme !== "vscode") return {};
  const names = document.body.classList;
  const light = names.contains("vscode-light") || names.contains("vscode-high-contrast-light");
  const contrast = names.contains("vscode-high-contrast") || names.contains("vscode-high-contrast-light");
  return { theme: light ? "light" : "dark", contrast };
}

/** Links inside the app go to its screens, and those to the web where the host wants them. */
function follow(event: MouseEvent, actions: HostActions, navigate: (hash: string) => void): void {
  const link = event.composedPath().find((node): node is HTMLAnchorElement => node instanceof HTMLAnchorElement);
  const href = link?.getAttribute("href");
  if (href === undefined || href === null || event.defaultPrevented) return;
  if (href.startsWith("#")) {
    event.preventDefault();
    navigate(href);
  } else if (actions.openExternal !== undefined && /^(https?|mailto):/i.test(href)) {
    event.preventDefault();
    actions.openExternal(href);
  }
}

/** Which session is open, as the app has kept it. */
function session(host: MountHost): unknown {
  try {
    return (JSON.parse(host.get(SETTINGS) ?? "{}") as { session?: unknown }).session;
  } catch {
    return undefined;
  }
}

/** Keeps how far the thread is from its end. */
function keepPlace(host: MountHost, hear: (type: "scroll", heard: (event: Event) => void, capture: boolean) => void, ends: (() => void)[]): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  // scrolling does not bubble
  hear("scroll", (event) => {
    const thread = event.target;
    if (!(thread instanceof HTMLElement) || !thread.classList.contains("thread")) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      const left = Math.round(thread.scrollHeight - thread.scrollTop - thread.clientHeight);
      host.set(PLACE, JSON.stringify({ session: session(host), left }));
    }, 200);
  }, true);
  ends.push(() => clearTimeout(timer));
}

/** Goes back to where the thread was left, once the app has gone to its end. */
function takePlace(host: MountHost, root: HTMLElement): void {
  let kept: { session?: unknown; left?: unknown };
  try {
    kept = JSON.parse(host.get(PLACE) ?? "{}") as typeof kept;
  } catch {
    return;
  }
  const { left } = kept;
  if (typeof left !== "number" || left <= NEAR || kept.session !== session(host)) return;
  let frames = FRAMES;
  const settle = (): void => {
    frames -= 1;
    if (frames > 0) return void requestAnimationFrame(settle);
    const thread = root.querySelector(".thread");
    if (thread !== null) thread.scrollTop = thread.scrollHeight - thread.clientHeight - left;
  };
  requestAnimationFrame(settle);
}
