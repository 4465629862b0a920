// The browser's own model (the Prompt API, `LanguageModel`), answering as a model of an Ollama does. What a request does not hold is not in
// the browser's session either: each request makes a session of its own, so nothing depends on what that session would leave out.

const NAME = "browser:built-in";
const encoder = new TextEncoder();

/** The browser's class, and whether it has a model. The answer is asked for once. */
const Model = globalThis.LanguageModel;
let isThere = false;

/** Resolves once it is known whether the browser has a model. */
export const ready = Promise.resolve(Model?.availability?.()).then((state) => (isThere = state !== undefined && state !== "unavailable"), () => {});

/** Whether a request is about the browser's model. */
export const isFor = (path, body) => isThere && (path === "/api/show" || path === "/api/chat") && JSON.parse(body).model === NAME;

/** The list of models with the browser's at its end, where it has one. */
export function joined(bytes) {
  if (!isThere) return bytes;
  const list = JSON.parse(new TextDecoder().decode(bytes));
  list.models?.push({ name: NAME, model: NAME, size: 0, digest: "", details: {}, capabilities: ["completion"] });
  return encoder.encode(`${JSON.stringify(list)}\n`);
}

/** Answers a request about the browser's model. */
export function answer(path, body, exchange) {
  const stop = new AbortController();
  const asked = exchange(() => stop.abort());
  const write = (value) => asked.add(encoder.encode(`${JSON.stringify(value)}\n`));
  const work = async () => {
    try {
      if (path === "/api/show") {
        asked.head(200);
        return write({ parameters: "", template: "", details: {}, model_info: {}, capabilities: ["completion"] });
      }
      await chat(JSON.parse(body), asked, write, stop.signal);
    } catch (error) {
      if (stop.signal.aborted) return;
      asked.head(error.status ?? 500);
      write({ error: String(error?.message ?? error) });
    } finally {
      asked.end();
    }
  };
  work();
  return asked.reader;
}

async function chat({ messages, options = {} }, asked, write, signal) {
  const line = (content, rest) => write({ model: NAME, created_at: new Date().toISOString(), message: { role: "assistant", content }, done: false, ...rest });
  if (!messages?.length) {
    asked.head(200);
    return line("", { done: true, done_reason: "load" });
  }
  const said = messages.map(({ role, content }) => ({ role: role === "tool" ? "user" : role, content }));
  const question = said.pop();
  const { temperature, top_k: topK } = options;
  const session = await Model.create({ initialPrompts: said, signal, ...(temperature !== undefined && topK !== undefined && { temperature, topK }) });
  try {
    const measure = session.measureContextUsage ?? session.measureInputUsage;
    const window = session.contextWindow ?? session.inputQuota;
    const used = () => session.contextUsage ?? session.inputUsage ?? 0;
    const prompt = used() + ((await measure?.call(session, question.content)) ?? 0);
    const most = Math.min(window ?? Infinity, options.num_ctx || Infinity);
    if (prompt >= most) {
      const text = `request (${prompt} tokens) exceeds the available context size (${most} tokens)`;
      throw Object.assign(new Error(JSON.stringify({ error: { code: 400, message: text, type: "exceed_context_size_error", n_prompt_tokens: prompt, n_ctx: most } })), { status: 400 });
    }
    asked.head(200);
    let reason = "stop";
    for await (const piece of session.promptStreaming(question.content, { signal })) {
      line(piece);
      if (options.num_predict > 0 && used() - prompt >= options.num_predict) {
        reason = "length";
        break;
      }
    }
    line("", { done: true, done_reason: reason, prompt_eval_count: prompt, eval_count: Math.max(0, used() - prompt) });
  } finally {
    session.destroy?.();
  }
}
