// The few things of Node that the Node entry uses: no types package is needed to build.
declare module "node:fs/promises" {
  export function readFile(path: URL): Promise<Uint8Array<ArrayBuffer>>;
}

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
