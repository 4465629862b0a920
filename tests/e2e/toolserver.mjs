// A tool server on loopback: the protocol is spoken by its makers' own package, the tools are for the journeys.

import http from "node:http";
import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

/** The tools of one connection, and so many more. `calls` notes what was run, and how it ended. */
function tools(calls, more) {
  const server = new McpServer({ name: "shelf", version: "1.0.0" });
  const text = (text, more = {}) => ({ content: [{ type: "text", text }], ...more });
  server.registerTool("shelf.find", { description: "Finds a book by its title", inputSchema: { title: z.string() } }, async ({ title }) => {
    calls.push({ tool: "shelf.find", title });
    return title === "none" ? text("There is no such book.", { isError: true }) : text(`“${title}” stands on shelf 4711.`);
  });
  server.registerTool("list", { description: "Lists all books" }, async () => {
    calls.push({ tool: "list" });
    return text(Array.from({ length: 2000 }, (_, n) => `Book ${n} stands on shelf ${n % 97}.`).join("\n"));
  });
  server.registerTool("wait", { description: "Waits for an hour" }, async ({ signal }) => {
    const call = { tool: "wait" };
    calls.push(call);
    await new Promise((done) => { signal.addEventListener("abort", done); });
    call.cancelled = true;
    return text("Never mind.");
  });
  for (let n = 0; n < more; n += 1) server.registerTool(`more_${n}`, { description: "Does one more thing that nobody needs, in many words" }, () => text("Done."));
  return server;
}

/**
 * Starts a tool server. `key`: it wants this one. `forget()` ends all connections, as a restart does; `open: false` tells browsers nothing
 * that lets a page use it; `more`: it has so many more tools.
 */
export async function startTools({ key, open = true, more = 0 } = {}) {
  const [calls, connections] = [[], new Map()];
  const server = http.createServer(async (request, response) => {
    if (open) {
      response.setHeader("Access-Control-Allow-Origin", "*");
      response.setHeader("Access-Control-Allow-Headers", "*, Authorization");
      response.setHeader("Access-Control-Allow-Methods", "GET, POST, DELETE");
      response.setHeader("Access-Control-Expose-Headers", "Mcp-Session-Id");
    }
    const refuse = (status, message) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message } }));
    };
    if (request.method === "OPTIONS") return response.writeHead(204).end();
    if (request.url !== "/mcp") return response.writeHead(404).end("Not found");
    if (key && request.headers.authorization !== `Bearer ${key}`) return refuse(401, "Unauthorized");
    const known = request.headers["mcp-session-id"];
    if (known && !connections.has(known)) return refuse(404, "Session not found");
    let transport = connections.get(known);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => { connections.set(id, transport); },
      });
      await tools(calls, more).connect(transport);
    }
    await transport.handleRequest(request, response);
  });
  await new Promise((done) => { server.listen(0, "127.0.0.1", done); });
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    calls,
    forget: () => connections.clear(),
    close: () => new Promise((done) => {
      server.close(done);
      server.closeAllConnections();
    }),
  };
}
