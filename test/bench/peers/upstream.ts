/**
 * The provider of the HTTP part, a process of its own: the same small completion for every POST, at
 * once.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { responseBody } from "../load/chat-exchange.js";
import { announceReady } from "../measure/job-channel.js";

const body = Buffer.from(responseBody);

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    response.writeHead(request.method === "POST" ? 200 : 404, {
      "content-type": "application/json",
      "content-length": body.length,
      "x-request-id": "req_4c1d7be2a9f04e33",
      "openai-processing-ms": "412",
    });
    response.end(body);
  });
});

// Peers wait for their turn between two phases; a connection that ends meanwhile would be counted
// against them.
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () =>
  announceReady(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
