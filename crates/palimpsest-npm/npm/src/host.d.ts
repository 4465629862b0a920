// The few things of Node that the Node entry uses: no types package is needed to build.
declare module "node:fs/promises" {
  export function readFile(path: URL): Promise<Uint8Array<ArrayBuffer>>;
  export function readFile(path: string): Promise<Uint8Array<ArrayBuffer>>;
  export function writeFile(path: string, data: string, options: { flag: string }): Promise<void>;
  export function mkdir(path: string, options: { recursive: true }): Promise<unknown>;
  export function readdir(path: string): Promise<string[]>;
  export function readdir(path: string, options: { withFileTypes: true }): Promise<{ name: string; isDirectory(): boolean }[]>;
  export function readlink(path: string): Promise<string>;
  export function rename(from: string, to: string): Promise<void>;
  export function link(there: string, another: string): Promise<void>;
  export function unlink(path: string): Promise<void>;
  export function rmdir(path: string): Promise<void>;
  export interface BigStat {
    size: bigint;
    ino: bigint;
    dev: bigint;
    mtimeNs: bigint;
    mtimeMs: bigint;
  }
  export function stat(path: string, options: { bigint: true }): Promise<BigStat>;
  export interface FileHandle {
    write(data: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesWritten: number }>;
    read(into: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
    stat(options: { bigint: true }): Promise<BigStat>;
    truncate(length: number): Promise<void>;
    sync(): Promise<void>;
    close(): Promise<void>;
  }
  export function open(path: string, flags: string): Promise<FileHandle>;
}
declare module "node:path" {
  export function join(...parts: string[]): string;
}
declare module "node:crypto" {
  export function createHash(name: "sha256"): { update(text: string): { digest(form: "hex"): string } };
  export function randomUUID(): string;
}
declare module "node:worker_threads" {
  export class Worker {
    constructor(file: URL);
    on(event: "message", heard: (message: never) => void): void;
    on(event: "error", heard: (error: unknown) => void): void;
    postMessage(message: unknown): void;
    ref(): void;
    unref(): void;
    terminate(): Promise<number>;
  }
  export const parentPort: { postMessage(message: unknown): void; on(event: "message", heard: (message: never) => void): void } | null;
}
declare module "node:os" {
  export function hostname(): string;
}
declare module "node:child_process" {
  export function execFile(file: string, args: string[], done: (error: unknown, stdout: string) => void): void;
}
declare module "node:http" {
  interface Answer extends AsyncIterable<Uint8Array> {
    statusCode?: number;
    headers: Record<string, string | string[] | undefined>;
    destroy(): void;
  }
  interface Asking {
    on(event: "error", heard: (error: Error) => void): void;
    end(body?: string): void;
    destroy(): void;
  }
  export function request(url: URL, options: { method: string; headers: Record<string, string>; signal: AbortSignal }, answered: (answer: Answer) => void): Asking;
}
declare module "node:https" {
  export { request } from "node:http";
}
declare const process: { pid: number; platform: string; kill(pid: number, signal: 0): boolean };

// LangChain's messages, as far as the entry for it needs them: it is an optional peer, and not there at build time.
declare module "@langchain/core/messages" {
  type Content = string | { type: string }[];
  export abstract class BaseMessage {
    content: Content;
    getType(): string;
  }
  interface Call {
    id?: string;
    name: string;
    args: Record<string, unknown>;
    type?: "tool_call";
  }
  export class SystemMessage extends BaseMessage {
    constructor(fields: { content: string });
  }
  export class HumanMessage extends BaseMessage {
    constructor(fields: { content: string });
  }
  export class AIMessage extends BaseMessage {
    constructor(fields: { content: string; tool_calls: Call[] });
    tool_calls?: Call[];
  }
  export class ToolMessage extends BaseMessage {
    constructor(fields: { content: string; tool_call_id: string; name?: string });
    tool_call_id: string;
    name?: string;
  }
}
declare module "@langchain/core/utils/function_calling" {
  export function convertToOpenAITool(tool: unknown): unknown;
  export function isLangChainTool(tool: unknown): boolean;
}

declare module "@langchain/core/tools" {
  export class DynamicStructuredTool {
    constructor(fields: {
      name: string;
      description: string;
      schema: Record<string, unknown>;
      func(input: unknown): Promise<string>;
    });
    readonly name: string;
  }
}

// LangGraph, as far as its entry needs it.
declare module "@langchain/langgraph" {
  export class Command {
    constructor(fields: { update: Record<string, unknown> });
  }
  export abstract class BaseStore {
    get(namespace: string[], key: string): Promise<{ value: Record<string, unknown> } | null>;
    put(namespace: string[], key: string, value: Record<string, unknown>): Promise<void>;
  }
}

declare module "zod/v4" {
  interface Any {
    optional(): Any;
  }
  export const z: { any(): Any; object(shape: Record<string, Any>): unknown };
}

declare module "react" {
  export function useState<T>(first: T): [T, (next: T | ((before: T) => T)) => void];
  export function useState<T>(): [T | undefined, (next: T | undefined | ((before: T | undefined) => T | undefined)) => void];
  export function useEffect(effect: () => (() => void) | void, deps: readonly unknown[]): void;
  export function useRef<T>(first: T): { current: T };
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  export function useCallback<F extends (...given: any[]) => unknown>(callback: F, deps: readonly unknown[]): F;
}
declare module "node:url" {
  export function pathToFileURL(path: string): URL;
  export function fileURLToPath(url: URL): string;
}
