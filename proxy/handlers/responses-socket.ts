/**
 * GET /v1/responses as a WebSocket: each `response.create` is a request of its own, sent to its
 * provider over HTTP, admitted and settled like any other (`docs/contributing/decisions.md`).
 *
 * Requests with the same `stream_id` form a lane. They run one after the other; lanes run at the
 * same time. A lane keeps its last response if no provider stores it, so that the next request can
 * continue it.
 */
import { type Failure, failure, invalid, plainFailure } from "../../shared/error-code.js";
import { writeExactly } from "../body/exact-json.js";
import { EventSplitter } from "../dialects/event-stream.js";
import {
  type CreateEvent,
  inputItems,
  joinItems,
  readClientEvent,
  requestBody,
  type SocketClientEvent,
} from "../dialects/responses-socket/client-event.js";
import { errorEvent, inLane, ServerEvents } from "../dialects/responses-socket/server-events.js";
import { warmUpResponse } from "../dialects/responses-to-chat/warm-up.js";
import type { ClientSocket, Exchange } from "../http/exchange.js";
import { headersOfRequests, SocketExchange } from "../http/exchanges/socket-exchange.js";
import { proxyStops, replyFailure } from "../http/respond.js";
import { chosenProtocol, withProtocolKey } from "../http/web-socket-handshake.js";
import {
  closeCodes,
  handshakeProblem,
  switchingHead,
  WebSocketServer,
} from "../http/web-socket-server.js";
import type { RequestContext } from "../request-context.js";
import type { OpenSession } from "../upstream/passthrough/open-sessions.js";

// The limits on age, running requests and lanes are OpenAI's.
const ageMaxMs = 60 * 60_000;
export const runningMax = 16;
/** Lanes with a stream id, running or idle. */
const lanesMax = 32;
/** Queued requests of one socket. */
const waitingMax = 64;

const tickMs = 30_000;
/** A client that sends nothing for this many ticks, not even a pong, counts as gone. */
const quietTicksMax = 20;

type SocketContext = RequestContext<
  "config" | "isUtf8" | "monoMs" | "nowMs" | "sessions" | "setTimer" | "webSocketAccept"
>;

const needsUpgrade = { status: 426, message: "GET /v1/responses needs a WebSocket upgrade" };

/** `handle`: handles one request. Rejects only if the process must end. */
export async function responsesSocket(
  context: SocketContext,
  handle: (exchange: Exchange) => Promise<void>,
): Promise<void> {
  const { exchange, record } = context;
  const { webSocket } = exchange;
  const problem = webSocket === null ? needsUpgrade : handshakeProblem(exchange);
  if (webSocket === null || problem !== null) {
    const { status, message } = problem ?? needsUpgrade;
    record.end(status, "refused");
    const upgrade = [
      "upgrade",
      "websocket",
      "connection",
      "upgrade, close",
      "sec-websocket-version",
      "13",
    ];
    const refused = plainFailure(status, "invalid_request_error", message);
    return replyFailure(exchange, "model", refused, status === 426 ? upgrade : []);
  }
  record.end(101, "answered");
  await new ResponsesSocket(context, webSocket, handle).ended;
}

interface Lane {
  /** The stream id; null for the lane of requests without one. */
  readonly id: string | null;
  isBusy: boolean;
  readonly waiting: Buffer[];
  /** The id of its newest response, running or not; empty before the first. */
  newestId: string;
  /** Its last response, if no provider stores it. */
  last: { readonly id: string; readonly items: Buffer } | null;
}

class ResponsesSocket implements OpenSession {
  readonly ended: Promise<void>;
  readonly #context: SocketContext;
  readonly #handle: (exchange: Exchange) => Promise<void>;
  readonly #headers: readonly string[];
  readonly #server: WebSocketServer;
  readonly #openedMonoMs: number;
  readonly #lanes = new Map<string | null, Lane>();
  /** Requests that haven't been answered. */
  readonly #running = new Set<SocketExchange>();
  /** Their handlers, which may settle after the answer. */
  readonly #handling = new Set<Promise<void>>();
  #waiting = 0;
  #requests = 0;
  #quietTicks = 0;
  /** Whether it accepts no more requests, and closes once none runs. */
  #isEnding = false;
  #cancelTick: () => void = () => {};
  #resolve: () => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor(
    context: SocketContext,
    client: ClientSocket,
    handle: (exchange: Exchange) => Promise<void>,
  ) {
    const { gateway, exchange } = context;
    this.#context = context;
    this.#handle = handle;
    this.#headers = headersOfRequests(exchange.rawHeaders);
    this.#openedMonoMs = gateway.monoMs();
    this.ended = new Promise((resolve, reject) => {
      [this.#resolve, this.#reject] = [resolve, reject];
    });
    const protocol = chosenProtocol(exchange);
    client.takeOver();
    client.socket.write(
      switchingHead(gateway.webSocketAccept(exchange.header("sec-websocket-key") ?? ""), [
        "x-request-id",
        exchange.id,
        ...(protocol === null ? [] : ["sec-websocket-protocol", protocol]),
      ]),
    );
    this.#server = new WebSocketServer(client.socket, {
      memory: exchange.memory,
      messageBytesMax: gateway.config.server.bodyBytesMax,
      stalledMs: gateway.config.server.stalledClientMs,
      setTimer: gateway.setTimer,
      isUtf8: gateway.isUtf8,
      onMessage: (bytes) => this.#onMessage(bytes),
      onUnread: (why) => this.#onUnread(why),
      onClosed: () => this.#onClosed(),
      onBug: this.#reject,
    });
    client.onStop = () => this.#stop();
    gateway.sessions.add(this);
    this.#tick();
  }

  drain(): void {
    this.#isEnding = true;
    this.#closeIfIdle("the proxy stops");
  }

  /** On a stop: cuts the responses that still run. */
  #stop(): void {
    for (const { id, isBusy } of this.#lanes.values()) if (isBusy) this.#refuse(proxyStops, id);
    this.#server.close(closeCodes.goingAway, "the proxy stops");
  }

  #tick(): void {
    const { monoMs, setTimer } = this.#context.gateway;
    this.#cancelTick = setTimer(tickMs, () => {
      this.#quietTicks = this.#server.quiet() ? this.#quietTicks + 1 : 0;
      if (monoMs() - this.#openedMonoMs >= ageMaxMs) {
        this.#isEnding = true;
        this.#closeIfIdle("a WebSocket stays open for 60 minutes");
      }
      if (this.#quietTicks < quietTicksMax) this.#server.ping();
      else this.#server.close(closeCodes.goingAway, "no traffic for 10 minutes");
      this.#tick();
    });
  }

  #closeIfIdle(reason: string): void {
    if (this.#isEnding && this.#running.size === 0 && this.#waiting === 0)
      this.#server.close(closeCodes.goingAway, reason);
  }

  #onUnread(why: "too_large" | "no_memory"): void {
    const { bodyBytesMax } = this.#context.gateway.config.server;
    const refused =
      why === "too_large"
        ? failure("request_too_large", `the message is larger than ${bodyBytesMax} bytes`)
        : failure("overloaded", "there is no memory for the message");
    this.#refuse(refused, null);
  }

  #refuse({ status, type, message, code, param }: Failure, streamId: string | null): void {
    this.#server.send(inLane(errorEvent({ type, message, code, param }, { status }), streamId));
  }

  #onMessage(bytes: Buffer): void {
    const event = readClientEvent(bytes.toString());
    if (event.kind === "create") this.#create(event, bytes);
    else {
      this.#context.exchange.memory.give(bytes.length);
      this.#answer(event);
    }
  }

  /** Answers an event that isn't a request. */
  #answer(event: Exclude<SocketClientEvent, CreateEvent>): void {
    switch (event.kind) {
      case "report":
        return;
      case "invalid":
        return this.#refuse(event.failure, event.streamId);
      case "steer": {
        // Steering would need a socket to the provider.
        const { previousId, input } = event;
        const message = "responses can't be steered: send the input with the next response.create";
        const error = { type: "invalid_request_error", code: "steering_not_supported", message };
        const steer = { previous_response_id: previousId, input };
        const failed = { type: "response.steer.failed", sequence_number: 0, error, steer };
        this.#server.send(inLane(writeExactly(failed), this.#streamOf(previousId)));
      }
    }
  }

  /** The stream id of a response's lane; null if it has none, or if the response isn't known. */
  #streamOf(responseId: string): string | null {
    if (responseId === "") return null;
    for (const { id, newestId } of this.#lanes.values()) if (newestId === responseId) return id;
    return null;
  }

  #create(event: CreateEvent, bytes: Buffer): void {
    const { streamId } = event;
    const refused = this.#whyNot(streamId);
    if (refused !== null) {
      this.#context.exchange.memory.give(bytes.length);
      return this.#refuse(refused, streamId);
    }
    let lane = this.#lanes.get(streamId);
    if (lane === undefined) {
      lane = { id: streamId, isBusy: false, waiting: [], newestId: "", last: null };
      this.#lanes.set(streamId, lane);
    }
    if (!lane.isBusy && this.#running.size < runningMax) return this.#run(lane, event, bytes);
    // A copy: the message may be a small part of the chunk in which it arrived.
    lane.waiting.push(Buffer.from(bytes));
    this.#waiting++;
  }

  #whyNot(streamId: string | null): Failure | null {
    if (this.#isEnding)
      return {
        ...invalid("this WebSocket is about to close: open another one"),
        code: "websocket_connection_limit_reached",
      };
    const isNew = streamId !== null && !this.#lanes.has(streamId);
    const namedLanes = this.#lanes.size - (this.#lanes.has(null) ? 1 : 0);
    if (isNew && namedLanes >= lanesMax)
      return {
        ...invalid(`a WebSocket has at most ${lanesMax} streams`, "stream_id"),
        code: "websocket_stream_limit_reached",
      };
    if (this.#waiting < waitingMax) return null;
    return failure("overloaded", `${waitingMax} requests of this WebSocket are waiting already`);
  }

  #run(lane: Lane, event: CreateEvent, bytes: Buffer): void {
    const { gateway, exchange } = this.#context;
    const { memory } = exchange;
    const earlier = event.previousId === "" ? null : this.#responseOf(event.previousId);
    const items = joinItems(earlier?.items.toString() ?? "", inputItems(event));
    const continues = earlier === null ? event.previousId : "";
    const previousId = earlier === null ? "" : event.previousId;
    const id = `${exchange.ownId}-${++this.#requests}`;
    memory.give(bytes.length);
    if (!event.generate) {
      if (continues === "") this.#warmUp(lane, event, { id, items });
      else this.#refuse(unknownResponse(continues), lane.id);
      return this.#next();
    }
    const keptItems = memory.keep(items.length) ? items : null;
    let heldChars = 0;
    const hold = (chars: number): boolean => {
      if (heldChars + chars > gateway.config.server.bodyBytesMax || !memory.takeForAnswer(chars))
        return false;
      heldChars += chars;
      return true;
    };
    const events = new ServerEvents({ streamId: lane.id, previousId, hold });
    const splitter = new EventSplitter();
    const server = this.#server;
    const request = new SocketExchange({
      handshake: exchange,
      headers: withProtocolKey(exchange),
      rawHeaders: this.#headers,
      id,
      body: requestBody(event, items, continues),
      memory: memory.newShare(),
      isGone: () => server.over,
      answer: {
        onStream(chunk) {
          let mayWrite = true;
          for (const event of splitter.push(chunk)) {
            const message = events.push(event);
            lane.newestId = events.responseId;
            if (message !== null) mayWrite = server.send(message);
          }
          return mayWrite;
        },
        onWhole: (status, headers, body) => events.whole(status, headers, body),
        onDrain: (run) => server.onDrain(run),
        onDone: () => {
          const { finished } = events;
          lane.newestId = events.responseId;
          memory.give(heldChars);
          if (keptItems !== null) {
            memory.forget(keptItems.length);
            if (finished !== null)
              this.#remember(lane, finished.id, joinItems(keptItems, finished.items));
          }
          server.send(events.end());
          this.#done(lane, request);
        },
      },
    });
    lane.isBusy = true;
    this.#running.add(request);
    const handling = this.#handle(request)
      .catch((error: unknown) => {
        this.#reject(error);
        server.cut();
      })
      .then(() => void this.#handling.delete(handling));
    this.#handling.add(handling);
  }

  #responseOf(id: string): Lane["last"] {
    for (const { last } of this.#lanes.values()) if (last?.id === id) return last;
    return null;
  }

  /** Keeps the conversation up to this response in place of the lane's last one. */
  #remember(lane: Lane, id: string, items: string): void {
    const { gateway, exchange } = this.#context;
    const { memory } = exchange;
    if (lane.last !== null) memory.forget(lane.last.items.length);
    const bytes = Buffer.from(items);
    const isKept = bytes.length <= gateway.config.server.bodyBytesMax && memory.keep(bytes.length);
    lane.last = isKept ? { id, items: bytes } : null;
  }

  /**
   * Answers a request that only prepares the next one. That one then sends the conversation to the
   * model.
   */
  #warmUp(lane: Lane, { body }: CreateEvent, { id, items }: { id: string; items: string }): void {
    const { response, events } = warmUpResponse(body, id, this.#context.gateway.nowMs());
    lane.newestId = String(response["id"]);
    this.#remember(lane, lane.newestId, items);
    for (const event of events) this.#server.send(inLane(writeExactly(event), lane.id));
  }

  #done(lane: Lane, request: SocketExchange): void {
    lane.isBusy = false;
    this.#running.delete(request);
    this.#next();
  }

  /** Starts queued requests that can run. */
  #next(): void {
    for (const lane of this.#lanes.values()) {
      if (lane.isBusy || lane.waiting.length === 0 || this.#running.size >= runningMax) continue;
      const bytes = lane.waiting.shift()!;
      this.#waiting--;
      const event = readClientEvent(bytes.toString());
      if (event.kind === "create" && !this.#server.over) this.#run(lane, event, bytes);
    }
    this.#closeIfIdle("the WebSocket has served its time");
  }

  #onClosed(): void {
    this.#cancelTick();
    this.#context.gateway.sessions.remove(this);
    for (const request of this.#running) request.left();
    void Promise.all(this.#handling).then(() => this.#resolve());
  }
}

function unknownResponse(id: string): Failure {
  const message = `the WebSocket doesn't know the response ${id}: send the complete conversation`;
  return { ...invalid(message, "previous_response_id"), code: "previous_response_not_found" };
}
