/**
 * A provider whose streams are slow, and clients that hold many of them open: for tests and for
 * `npm run heavy -- bench:streams`.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { chunk, usageChunk } from "./scripted-upstream.js";

/** The total that each complete stream reports. */
export const streamTokens = 10;

function eventText(i: number): string {
  return chunk(`word${i} `);
}

const streamEnd = `${chunk("", "stop")}${usageChunk(streamTokens)}data: [DONE]\n\n`;

/** Whether this is a complete stream, with every event in its place. */
function isComplete(text: string): boolean {
  const events = text.split("word").length - 1;
  return (
    events > 0 &&
    text === `${Array.from({ length: events }, (_, i) => eventText(i)).join("")}${streamEnd}`
  );
}

export interface SlowProvider {
  /** Its `/v1`. */
  readonly baseUrl: string;
  /** Streams that are open now. */
  readonly open: number;
  /** Connections it has accepted so far. */
  readonly connections: number;
  /**
   * Ends the open streams properly, each at its next event once it has sent at least this many.
   */
  finish(events: number): void;
  /** Cuts the open streams. */
  close(): Promise<void>;
}

/** Answers every POST with a stream: an event at once, then one every `everyMs` until `finish`. */
export async function startSlowProvider(everyMs: number): Promise<SlowProvider> {
  const open = new Map<ServerResponse, { events: number }>();
  const server = createServer((incoming, response) => {
    incoming.resume();
    incoming.on("end", () => {
      const stream = { events: Infinity };
      open.set(response, stream);
      response.writeHead(200, { "content-type": "text/event-stream" });
      let next = 0;
      const write = (): void => {
        if (next < stream.events) return void response.write(eventText(next++));
        clearInterval(timer);
        response.end(streamEnd);
      };
      const timer = setInterval(write, everyMs);
      write();
      response.on("close", () => {
        clearInterval(timer);
        open.delete(response);
      });
    });
  });
  let connections = 0;
  server.on("connection", () => connections++);
  // An idle connection stays open until its client closes it.
  server.keepAliveTimeout = 600_000;
  // By default 511 connections may wait to be accepted.
  await new Promise<void>((resolve) =>
    server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, resolve),
  );
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    get open() {
      return open.size;
    },
    get connections() {
      return connections;
    },
    finish(events) {
      for (const stream of open.values()) stream.events = events;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * How many streams ended in which way. `cut`: before their end; `wrong`: with an event missing or
 * misplaced; `refused`: without a stream; `left`: closed by their client.
 */
export interface StreamsEnded {
  readonly complete: number;
  readonly cut: number;
  readonly wrong: number;
  readonly refused: number;
  readonly left: number;
}

export interface StreamClients {
  /** Opens this many more; resolved when each has its first event or has ended. */
  open(url: string, streams: number): Promise<void>;
  /** Closes this many of the open ones. */
  leave(streams: number): void;
  /** Resolved when none is open, with the counts since the last call. */
  ended(): Promise<StreamsEnded>;
}

/** Each stream has a connection of its own, and a prompt of so many bytes. */
export function createStreamClients(promptBytes = 2): StreamClients {
  const body = JSON.stringify({
    model: "test/model",
    messages: [{ role: "user", content: "hi".padEnd(promptBytes, " there") }],
    stream: true,
    stream_options: { include_usage: true },
  });
  const open = new Set<() => void>();
  let counts = { complete: 0, cut: 0, wrong: 0, refused: 0, left: 0 };
  let onNoneOpen: () => void = () => {};

  function openOne(url: string): Promise<void> {
    return new Promise((begun) => {
      let text = "";
      const outgoing = request(`${url}/v1/chat/completions`, {
        method: "POST",
        agent: false,
        headers: { "content-type": "application/json" },
      });
      const end = (how: keyof StreamsEnded): void => {
        if (!open.delete(leave)) return;
        counts[how]++;
        begun();
        if (open.size === 0) onNoneOpen();
      };
      const leave = (): void => {
        end("left");
        outgoing.destroy();
      };
      open.add(leave);
      outgoing.on("error", () => end(text === "" ? "refused" : "cut"));
      outgoing.on("response", (response: IncomingMessage) => {
        response.setEncoding("latin1");
        response.on("data", (piece: string) => {
          if (text === "") begun();
          text += piece;
        });
        response.on("error", () => end("cut"));
        response.on("end", () =>
          end(response.statusCode !== 200 ? "refused" : isComplete(text) ? "complete" : "wrong"),
        );
      });
      outgoing.end(body);
    });
  }

  return {
    async open(url, streams) {
      await Promise.all(Array.from({ length: streams }, () => openOne(url)));
    },
    leave(streams) {
      for (const leave of [...open].slice(0, streams)) leave();
    },
    async ended() {
      if (open.size > 0) await new Promise<void>((resolve) => (onNoneOpen = resolve));
      const ended = counts;
      counts = { complete: 0, cut: 0, wrong: 0, refused: 0, left: 0 };
      return ended;
    },
  };
}
