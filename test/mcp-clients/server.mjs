/**
 * An MCP server of the official SDKs: `/stateless` speaks the revision 2026-07-28 alone,
 * `/sessions` those with `Mcp-Session-Id`. Prints its port, and `cancelled` when a call of `wait` is
 * given up.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer as ServerOf2025 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const text = (said) => ({ content: [{ type: "text", text: said }] });
const say = (line) => process.stdout.write(`${line}\n`);

/** `progress(n)` tells of progress; `signal` is of the client that leaves. */
function addTools(server, { argumentsOf, progressOf, signalOf }) {
  const numbers = argumentsOf({ a: z.number(), b: z.number() });
  server.registerTool("add", { inputSchema: numbers }, async ({ a, b }) => text(String(a + b)));
  server.registerTool("erase_all", { inputSchema: argumentsOf({}) }, async () => text("erased"));
  server.registerTool("count", { inputSchema: argumentsOf({}) }, async (_, context) => {
    for (let progress = 1; progress <= 3; progress++) await progressOf(context, progress);
    return text("counted");
  });
  server.registerTool("die", { inputSchema: argumentsOf({}) }, async (_, context) => {
    await progressOf(context, 1);
    await new Promise((resolve) => setTimeout(resolve, 200));
    for (const socket of sockets) socket.destroy();
    return text("never said");
  });
  server.registerTool("wait", { inputSchema: argumentsOf({}) }, async (_, context) => {
    await progressOf(context, 1);
    const signal = signalOf(context);
    const left = new Promise((resolve) => {
      signal.addEventListener("abort", resolve);
      gone.push(resolve);
    });
    await left;
    say("cancelled");
    return text("given up");
  });
  return server;
}

const sockets = new Set();
const gone = [];
const info = { name: "arithmetic", version: "1.0.0" };

const stateless = toNodeHandler(
  createMcpHandler(
    () =>
      addTools(new McpServer(info), {
        argumentsOf: (fields) => z.object(fields),
        progressOf: (context, progress) => notify(context, context.mcpReq.notify, progress),
        signalOf: (context) => context.mcpReq.signal,
      }),
    { legacy: "reject" },
  ),
);

/** Only to clients that ask for it. */
async function notify(context, send, progress) {
  const progressToken = (context.mcpReq ?? context)._meta?.progressToken;
  if (progressToken === undefined) return;
  await send({ method: "notifications/progress", params: { progressToken, progress, total: 3 } });
}

const sessions = new Map();

async function serveSession(request, response) {
  const known = sessions.get(request.headers["mcp-session-id"]);
  if (known !== undefined) return known.handleRequest(request, response);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => sessions.set(id, transport),
    onsessionclosed: (id) => sessions.delete(id),
  });
  const server = addTools(new ServerOf2025(info), {
    argumentsOf: (fields) => fields,
    progressOf: (context, progress) => notify(context, context.sendNotification, progress),
    signalOf: (context) => context.signal,
  });
  await server.connect(transport);
  return transport.handleRequest(request, response);
}

const server = createServer((request, response) => {
  if (request.headers.authorization !== "Bearer secret-of-the-server") {
    response.writeHead(401).end();
    return;
  }
  // A revision with sessions has no word for it: the answer's connection is closed.
  response.once("close", () => {
    if (!response.writableFinished) for (const resolve of gone.splice(0)) resolve();
  });
  const serve = request.url === "/stateless" ? stateless : serveSession;
  void serve(request, response);
});
server.on("connection", (socket) => {
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
});
server.listen(0, "127.0.0.1", () => say(`port ${server.address().port}`));
