/**
 * The provider of `npm run bench`, a process of its own: each operation's
 * recorded answer, at once. The first event of a stream leaves at once too, the others a moment
 * later, one by one, each in its own turn of the event loop.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { announceReady } from "../measure/job-channel.js";
import { recordedAnswers } from "./recorded-answers.js";

type Answer = (response: ServerResponse) => void;

/** So that what a peer does with the rest isn't counted as the time to the first. */
const pauseMs = 2;

const answers = new Map<string, Answer>(
  Object.entries(recordedAnswers).map(([path, answer]) => {
    if (answer.kind === "stream") {
      const events = answer.events.map((event) => Buffer.from(event));
      return [`/v1${path}`, (response) => stream(response, events)];
    }
    const body = Buffer.from(answer.body);
    return [
      `/v1${path}`,
      (response) =>
        void response
          .writeHead(200, {
            "content-type": "application/json",
            "content-length": body.length,
            "x-request-id": "req_4c1d7be2a9f04e33",
            "openai-processing-ms": "412",
          })
          .end(body),
    ];
  }),
);

function stream(response: ServerResponse, events: readonly Buffer[]): void {
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "x-request-id": "req_4c1d7be2a9f04e33",
    "openai-processing-ms": "412",
  });
  let next = 0;
  const write = (): void => {
    if (response.destroyed) return;
    response.write(events[next++]);
    if (next === events.length) response.end();
    else if (next === 1) setTimeout(write, pauseMs);
    else setImmediate(write);
  };
  write();
}

/** By what a request has in its body, which of several answers it gets. */
const kinds = [
  ["?stream", Buffer.from('"stream":true')],
  ["?many", Buffer.from('"],"encoding_format":"base64"')],
  ["?numbers", Buffer.from('"],"encoding_format":"float"')],
] as const;

const server = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => {
    const body = Buffer.concat(pieces);
    const [kind = ""] = kinds.find(([, sign]) => body.includes(sign)) ?? [];
    const answer = answers.get(`${request.url ?? ""}${kind}`);
    if (answer === undefined) response.writeHead(404).end();
    else answer(response);
  });
});

// Peers wait for their turn between two phases; a connection that ends meanwhile would be counted
// against them.
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () =>
  announceReady(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
