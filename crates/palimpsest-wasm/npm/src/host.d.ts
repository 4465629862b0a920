// The few things of Node that the Node entry uses: no types package is needed to build.
declare module "node:fs/promises" {
  export function readFile(path: URL): Promise<Uint8Array<ArrayBuffer>>;
  export function readFile(path: string): Promise<Uint8Array<ArrayBuffer>>;
  export function writeFile(path: string, data: string, options: { flag: string }): Promise<void>;
  export function mkdir(path: string, options: { recursive: true }): Promise<unknown>;
  export function readdir(path: string): Promise<string[]>;
  export function rename(from: string, to: string): Promise<void>;
  export function rm(path: string, options: { force: true }): Promise<void>;
  export function stat(path: string): Promise<{ size: number; ino: number }>;
  export interface FileHandle {
    write(data: Uint8Array, offset: number, length: number, position: number | null): Promise<{ bytesWritten: number }>;
    read(into: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
    stat(): Promise<{ size: number; ino: number }>;
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
declare const process: { pid: number; kill(pid: number, signal: 0): boolean };

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
