// A stand-in for a summarising model: deterministic, made from the request's own words, always shorter.
//
// It exists so that end-to-end tests really shrink a conversation. It says nothing about how well a model summarises.

import { countByRule } from "./counting.mjs";

/**
 * Does this request ask for a summary? Chats mention summaries too, so a request of `/api/chat` must also have thinking
 * switched off (`think: false`, as every summary request has) and carry no tools.
 */
export function asksForSummary(request, messages) {
  if (request.tools?.length > 0 || (request.dialect !== "openai" && request.think !== false)) return false;
  const head = [messages[0], messages.at(-1)].map((m) => String(m?.content ?? "").slice(0, 4000)).join("\n");
  return /notes that replace part|summar|condense|zusammenfass|résum|resum|要約|摘要/i.test(head);
}

/** The conversation inside the request: every JSON object with a role and a text, else the lines of the last message. */
function material(messages) {
  const found = [];
  for (const { content } of messages) {
    for (const line of String(content ?? "").split("\n")) {
      const text = line.trim().replace(/^[[,]|[,\]]$/g, "");
      if (!text.startsWith("{")) continue;
      try {
        const value = JSON.parse(text);
        const said = value.text ?? value.content;
        if (typeof said === "string") found.push({ role: String(value.role ?? "user"), text: said });
      } catch {
        // not a message, just a line that begins with a brace
      }
    }
    for (const [block] of String(content ?? "").matchAll(/\[\s*\{[\s\S]*?\}\s*\]/g)) {
      if (found.length > 0) break;
      try {
        for (const value of JSON.parse(block)) {
          const said = value.text ?? value.content;
          if (typeof said === "string") found.push({ role: String(value.role ?? "user"), text: said });
        }
      } catch {
        // a bracket in prose
      }
    }
  }
  if (found.length > 0) return found;
  const last = String(messages.at(-1)?.content ?? "");
  return last.split(/\n+/).filter((line) => line.trim()).map((text) => ({ role: "user", text }));
}

/** The first sentence, at most 30 words. */
function firstSentence(text) {
  const sentence = text.trim().split(/(?<=[.!?。！？])\s/u)[0].replace(/\s+/g, " ");
  return sentence.split(" ").slice(0, 30).join(" ").slice(0, 300);
}

/** A summary of what the request holds, at most `limit` tokens of the fake's rule and at most a quarter of the request. */
export function summarise(messages, limit = 400) {
  const items = material(messages);
  const total = items.reduce((sum, item) => sum + countByRule(item.text), 0);
  const room = Math.max(12, Math.min(limit - 8, Math.floor(total / 4)));
  // Newest and oldest matter most: walk from both ends towards the middle, then restore the order.
  const order = items.map((_, i) => (i % 2 === 0 ? i / 2 : items.length - (i + 1) / 2));
  const chosen = [];
  let used = 0;
  for (const i of order) {
    const who = { user: "The user said", assistant: "The assistant answered", tool: "A tool returned" }[items[i].role] ?? "Noted";
    const line = `- ${who}: ${firstSentence(items[i].text)}`;
    const cost = countByRule(line) + 1;
    if (used + cost > room) continue;
    used += cost;
    chosen.push([i, line]);
  }
  chosen.sort(([a], [b]) => a - b);
  if (chosen.length === 0) return firstSentence(items[0]?.text ?? "Nothing was said.").split(" ").slice(0, 8).join(" ");
  return chosen.map(([, line]) => line).join("\n");
}
