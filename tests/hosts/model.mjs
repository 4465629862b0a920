// A model server in OpenAI's shape, on loopback, which says what a script tells it to and keeps every request.

import http from "node:http";

/**
 * Starts a server. `reply(body, n)` gives the n-th answer: a text, or `{ tool, args }` for a call.
 *
 * @returns its address, the bodies of the requests, and what ends it
 */
export async function model(reply) {
  const requests = [];
  const server = http.createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    if (!request.url.endsWith("/chat/completions")) return void response.writeHead(404).end();
    const body = JSON.parse(text);
    requests.push(body);
    const n = requests.length;
    const said = reply(body, n);
    const message = typeof said === "string" ? { role: "assistant", content: said } : { role: "assistant", content: null, tool_calls: [{ index: 0, id: `call_${n}`, type: "function", function: { name: said.tool, arguments: JSON.stringify(said.args) } }] };
    const finish_reason = typeof said === "string" ? "stop" : "tool_calls";
    const usage = { prompt_tokens: Math.ceil(text.length / 4), completion_tokens: 8, total_tokens: Math.ceil(text.length / 4) + 8 };
    const about = { id: `r${n}`, created: 1, model: body.model };
    if (!body.stream) {
      response.writeHead(200, { "content-type": "application/json" });
      return void response.end(JSON.stringify({ ...about, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage }));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (chunk) => response.write(`data: ${JSON.stringify({ ...about, object: "chat.completion.chunk", ...chunk })}\n\n`);
    send({ choices: [{ index: 0, delta: message, finish_reason: null }] });
    send({ choices: [{ index: 0, delta: {}, finish_reason }] });
    send({ choices: [], usage });
    response.end("data: [DONE]\n\n");
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    requests,
    close: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }),
  };
}

/** What a tool of the tests tells about a parcel. */
export const ledger = (n) => `Parcel ${n} goes to gate ${n % 7}, as the ledger of hall ${n * 13} says. `.repeat(8);

/** Checks that calls and results of a request in OpenAI's shape stand in pairs. */
export function pairs(messages) {
  const calls = messages.flatMap((message) => (message.tool_calls ?? []).map(({ id }) => id));
  const results = messages.filter(({ role }) => role === "tool").map((message) => message.tool_call_id);
  return JSON.stringify(calls) === JSON.stringify(results);
}
