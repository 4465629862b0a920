// What the package answers to a conformance case. Runs in Node and in browsers.

export async function answer({ compact, countTokens, forgotten, replay, validate }, { call, messages, then, window, options }) {
  if (call === "validate") return validate(messages, options.dialect);
  if (call === "count") return countTokens(messages);
  if (call === "forgotten") return forgotten(messages, window, options);
  if (call === "replay") return replay(messages, options);
  try {
    const first = compact(messages, options);
    const out = { messages: first.messages, report: first.report };
    if (then) {
      const second = compact([...messages, ...then], { ...options, state: first.state });
      out.then = { messages: second.messages, report: second.report };
    }
    return out;
  } catch (error) {
    return { error: error.code };
  }
}
