/**
 * The simulator as an upstream. It uses no network; its answers say that they are simulated, and
 * are paced like a model's.
 */

import { SentBody } from "./sent-body.js";
import { simulateChat } from "./simulator.js";
import type {
  RequestBody,
  Upstream,
  UpstreamCall,
  UpstreamRequest,
  UpstreamSink,
} from "./upstream.js";

export function createSimulatedUpstream(): Upstream {
  return {
    send(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall {
      const body = JSON.parse(bytesOf(request.body).toString("utf8")) as {
        model?: unknown;
        stream?: unknown;
      };
      const answer = simulateChat(body, String(body.model), Math.floor(Date.now() / 1000));
      return body.stream === true
        ? playStream(answer.events, answer.pauseMs, sink)
        : playPlain(answer.plain, answer.pauseMs, sink);
    },
    redact: (text) => text,
    close: () => Promise.resolve(),
  };
}

function bytesOf(body: RequestBody): Buffer {
  if (body instanceof SentBody) return body.wholeBody();
  return Buffer.isBuffer(body) ? body : Buffer.from("{}");
}

function playPlain(plain: Buffer, pauseMs: number, sink: UpstreamSink): UpstreamCall {
  const timer = setTimeout(() => {
    sink.onHead(200, ["content-type", "application/json"]);
    sink.onData(plain);
    sink.onEnd();
  }, pauseMs);
  return {
    isSent: true,
    pause: () => {},
    resume: () => {},
    abort: () => clearTimeout(timer),
  };
}

function playStream(events: readonly Buffer[], pauseMs: number, sink: UpstreamSink): UpstreamCall {
  let next = 0;
  let isPaused = false;
  const timer = setInterval(() => {
    if (isPaused) return;
    if (next === 0) sink.onHead(200, ["content-type", "text/event-stream; charset=utf-8"]);
    const event = events[next++];
    if (event !== undefined) return sink.onData(event);
    clearInterval(timer);
    sink.onEnd();
  }, pauseMs);
  return {
    isSent: true,
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
    },
    abort: () => clearInterval(timer),
  };
}
