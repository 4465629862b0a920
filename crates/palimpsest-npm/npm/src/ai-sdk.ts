// The Vercel AI SDK: a middleware for models, and a `prepareStep` for agents. The SDK itself is not imported: both
// are plain objects of the shapes it asks for.

import { PalimpsestError } from "./errors.js";
import { fitter, type FitOptions } from "./fitter.js";
import { RECALL_DESCRIPTION, RECALL_PARAMETERS, type RecallArguments, recallTool as plainTool, type RecallToolOptions } from "./recall.js";

export type { FitOptions, FitProblem, StateStore } from "./fitter.js";

/**
 * Keeps every prompt of a model inside its window: a middleware for the SDK's `wrapLanguageModel`. `key` gets the call's
 * parameters; without it a call's `providerOptions: { palimpsest: { conversation: id } }` names the conversation.
 *
 * @example
 * ```ts
 * import { init } from "palimpsest";
 * import { fitMiddleware } from "palimpsest/ai-sdk";
 * import { generateText, wrapLanguageModel } from "ai";
 *
 * await init();
 * declare const local: Parameters<typeof wrapLanguageModel>[0]["model"];
 * const model = wrapLanguageModel({ model: local, middleware: fitMiddleware({ window: 8192 }) });
 * const { text } = await generateText({ model, prompt: "Hello" });
 * console.log(text);
 * ```
 */
export function fitMiddleware(options: FitOptions<FitParams>): FitMiddleware {
  const fit = fitter(options);
  return {
    specificationVersion: "v3",
    async transformParams({ params }) {
      const { prompt, tools, abortSignal, providerOptions } = params;
      const fitting = await fit<{ role: string; content: unknown }>(prompt, {
        dialect: "ai-sdk",
        request: params,
        id: providerOptions?.palimpsest?.conversation,
        tools,
        signal: abortSignal,
      });
      return { ...params, prompt: fitting.map(inParts) };
    },
  };
}

/** What the SDK asks a model: of whichever version. */
export interface FitParams {
  /** The messages. */
  readonly prompt: readonly unknown[];
  /** What the caller says to providers. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined;
  /** Headers of the request, as the caller gave them. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  readonly [other: string]: unknown;
}

/** What {@link fitMiddleware} makes. Its parameters are the SDK's, of whichever version. */
export interface FitMiddleware {
  /** The version of the SDK's specification. */
  readonly specificationVersion: "v3";
  /** Replaces the prompt by one that fits. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  transformParams(call: { params: any }): Promise<any>;
}

/** At the level of a model every content but the system's is an array of parts. @internal */
export function inParts(message: { role: string; content: unknown }): unknown {
  const plain = typeof message.content === "string" && message.role !== "system";
  return plain ? { ...message, content: [{ type: "text", text: message.content }] } : message;
}

/**
 * Keeps the messages of an agent's loop inside the window, before each step: a `prepareStep` for `generateText`,
 * `streamText` and agents. The SDK gives a step neither the tools nor the system prompt: name both, so that they are counted. `key`
 * gets the step, with the call's `experimental_context`.
 *
 * @example
 * ```ts
 * import { init } from "palimpsest";
 * import { fitStep } from "palimpsest/ai-sdk";
 * import { generateText, type LanguageModel, type ToolSet } from "ai";
 *
 * await init();
 * declare const model: LanguageModel;
 * declare const tools: ToolSet;
 * const system = "You mend programs.";
 * const { text } = await generateText({
 *   model,
 *   system,
 *   prompt: "Read every file and tell me what is wrong.",
 *   tools,
 *   prepareStep: fitStep({ window: 32768, reserve: 4096, tools, system }),
 * });
 * console.log(text);
 * ```
 */
export function fitStep(options: FitStepOptions): <M>(step: { messages: M[] }) => Promise<{ messages: M[] }> {
  const { tools, ...rest } = options ?? {};
  const fit = fitter<FitStepRequest>(rest as FitOptions<FitStepRequest>);
  let definitions: Promise<readonly unknown[]> | undefined;
  return async (step) => {
    definitions ??= definitionsOf(tools);
    return { messages: await fit(step.messages, { dialect: "ai-sdk", request: step, tools: await definitions }) };
  };
}

/** What the SDK says before a step, of whichever version. */
export interface FitStepRequest {
  /** The messages so far. */
  readonly messages: readonly unknown[];
  /** What the caller passed to the call as `experimental_context`. */
  readonly experimental_context?: unknown;
  readonly [other: string]: unknown;
}

/** Options of {@link fitStep}. */
export interface FitStepOptions extends FitOptions<FitStepRequest> {
  /** The tools of the call, as the SDK takes them, or a list of their definitions: their size counts. */
  tools?: Readonly<Record<string, unknown>> | readonly unknown[];
}

/** A tool as the SDK takes it. */
interface Tool {
  type?: string;
  id?: string;
  args?: unknown;
  description?: unknown;
  inputSchema?: unknown;
  parameters?: unknown;
}

/** Tools as a provider gets them: with their schemas written out. @internal */
export async function definitionsOf(tools: FitStepOptions["tools"]): Promise<readonly unknown[]> {
  if (tools === undefined || Array.isArray(tools)) return tools ?? [];
  const all = Object.entries(tools as Record<string, Tool>);
  return Promise.all(
    all.map(async ([name, { type, id, args, description, inputSchema, parameters }]) =>
      id !== undefined && type !== undefined && type !== "function"
        ? { type, id, name, args }
        : {
            type: "function",
            name,
            description: typeof description === "string" ? description : undefined,
            inputSchema: await schemaOf(inputSchema ?? parameters, name),
          },
    ),
  );
}

/** A tool's input as JSON Schema, from whichever library its schema is. */
async function schemaOf(given: unknown, name: string): Promise<unknown> {
  if (given === undefined || given === null) return {};
  try {
    const schema = (typeof given === "function" && !("~standard" in given) ? (given as () => unknown)() : given) as {
      jsonSchema?: unknown;
      "~standard"?: { jsonSchema?: { input(options: { target: string }): unknown } };
      toJSONSchema?: () => unknown;
    };
    if (schema.jsonSchema !== undefined) return await schema.jsonSchema;
    const standard = schema["~standard"];
    if (standard?.jsonSchema !== undefined) return standard.jsonSchema.input({ target: "draft-07" });
    if (typeof schema.toJSONSchema === "function") return schema.toJSONSchema();
    if (standard === undefined) return schema;
  } catch (cause) {
    throw unreadable(name, cause);
  }
  throw unreadable(name);
}

function unreadable(name: string, cause?: unknown): PalimpsestError {
  return new PalimpsestError(
    "invalid_options",
    `The input of the tool "${name}" cannot be written as JSON Schema, so its size is not known. Give fitStep() the tools as a list of definitions instead.`,
    { cause },
  );
}

/** The tool that {@link recallTool} makes, as the SDK's `tools` take it. */
export interface RecallSdkTool {
  /** What it does. */
  readonly description: string;
  /** What it is called with. */
  readonly inputSchema: any;
  /** Answers a call. */
  execute(input: RecallArguments): Promise<string>;
}

/**
 * `recallTool` of the main entry as a tool of the SDK's. Name it `recall` among the tools: then `fitMiddleware`, and
 * `fitStep` where it is given the tools, write texts that say what to recall.
 *
 * @example
 * ```ts
 * import { init } from "palimpsest";
 * import { fitStep, recallTool } from "palimpsest/ai-sdk";
 * import { generateText, type LanguageModel, type ModelMessage } from "ai";
 *
 * await init();
 * declare const model: LanguageModel;
 * const history: ModelMessage[] = [{ role: "user", content: "Read every file." }];
 * const tools = { recall: recallTool(() => history) };
 * const { text } = await generateText({ model, messages: history, tools, prepareStep: fitStep({ window: 32768, tools }) });
 * console.log(text);
 * ```
 */
export function recallTool(history: readonly unknown[] | (() => readonly unknown[]), options: RecallToolOptions = {}): RecallSdkTool {
  const tool = plainTool(history, options);
  return {
    description: RECALL_DESCRIPTION,
    // what the SDK's own jsonSchema() makes
    inputSchema: { [Symbol.for("vercel.ai.schema")]: true, _type: undefined, jsonSchema: RECALL_PARAMETERS, validate: undefined },
    execute: async (input) => tool.execute(input),
  };
}
