/** A peer of the HTTP part, a process of its own: bare `http-proxy` with a keep-alive agent. */
import { Agent, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import httpProxy from "http-proxy";
import { announceReady } from "../measure/job-channel.js";

const [, , upstream = ""] = process.argv;
const proxy = httpProxy.createProxyServer({
  target: upstream,
  agent: new Agent({ keepAlive: true, maxSockets: 256, maxFreeSockets: 256 }),
});
proxy.on("error", (_error, _request, response) => {
  if ("writeHead" in response && !response.headersSent) response.writeHead(502).end();
  else response.destroy();
});

const server = createServer((request, response) => proxy.web(request, response));
server.listen(0, "127.0.0.1", () =>
  announceReady(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
