// The samples are the conversations of the bench of what survives, with what was written down about them.

/** Several conversations as one, as the bench joins them: calls keep names of their own. */
function joined(talks) {
  const named = (id, n) => (id === undefined ? id : `${id}_${n}`);
  const renamed = (message, n) => ({
    ...message,
    ...(message.tool_call_id !== undefined && { tool_call_id: named(message.tool_call_id, n) }),
    ...(message.tool_calls && { tool_calls: message.tool_calls.map((call) => ({ ...call, id: named(call.id, n) })) }),
  });
  const all = (field) => talks.flatMap((talk) => talk[field]);
  return {
    id: talks.length === 1 ? talks[0].id : talks[0].kind,
    system: talks[0].system,
    messages: talks.length === 1 ? talks[0].messages : talks.flatMap(({ messages }, n) => messages.map((message) => renamed(message, n))),
    labels: { facts: all("facts"), rules: all("rules"), updates: all("updates") },
  };
}

/** A sample of its file. */
export function sampleOf(talks) {
  const { id, system, messages, labels } = joined(talks);
  return { title: id, messages: system ? [{ role: "system", content: system }, ...messages] : messages, labels };
}
