/**
 * Node's request and response as an exchange: reads bodies, writes responses, and handles clients
 * that disconnect or don't read.
 */
import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { requestIdCharsMax } from "../../shared/bounds.js";
import { type MemoryLedger, MemoryShare } from "../capacity/memory-ledger.js";
import { readWholeBody } from "../capacity/read-body.js";
import { UploadGone, UploadTooLarge } from "./body-spool.js";
import { headerOf } from "./copy-headers.js";
import { type Lingering, leavesMuch } from "./drain/lingering.js";
import type { BodyResult, ClientSocket, ClientTls, Exchange } from "./exchange.js";
import { endsEvent, lastBytes } from "./exchanges/keep-alive-events.js";
import { endpointAddress } from "./match-route.js";
import { refuseIfLate } from "./refuse-unreadable.js";
import { replyStop, stopEvent } from "./respond.js";

/** What all exchanges of a listener share. */
export interface ExchangeContext {
  readonly idsOf: ReturnType<typeof createRequestIds>;
  readonly stalledClientMs: number;
  readonly memory: MemoryLedger;
  /** Runs cleanup after a client disconnects, perhaps with thousands of others. */
  readonly throttled: (run: () => void) => void;
  /** Connections cut off because the listener closes. */
  readonly cutByStop: WeakSet<Socket>;
  /** Connections that end while their client still sends. */
  readonly lingering: Lingering;
  readonly lastRequests: LastRequests;
  /** Null for plain HTTP. */
  readonly tlsOf: (socket: Socket) => ClientTls | null;
  /** Whether the running request is the last of this connection because the listener closes. */
  readonly isLastOn: (socket: Socket) => boolean;
}

export class NodeExchange implements Exchange {
  readonly id: string;
  readonly ownId: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly modelInPath: string | null;
  readonly rawHeaders: readonly string[];
  readonly webSocket: ClientSocket | null;
  readonly memory: MemoryShare;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #context: ExchangeContext;
  readonly #socket: Socket;
  /** Cached: Node's own property is a function that is called each time. */
  readonly #headers: IncomingMessage["headers"];
  /** Whether `onGone` was called. */
  #isWatched = false;
  #onGone: () => void = () => {};
  /** Whether a call of `#onGone` is scheduled. */
  #isNotifying = false;
  #stalled: NodeJS.Timeout | null = null;
  #onDrained: (() => void) | null = null;
  #addedHeaders: readonly string[] | null = null;
  /** Whether reading the body has begun. */
  #hasBodyBegun = false;
  /** Of an answer that has begun. */
  #begunHeaders: readonly string[] | null = null;
  #lastBytes: Buffer = noBytes;
  /** Whether a stop has ended the answer. */
  #isStopped = false;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    context: ExchangeContext,
    webSocket: ClientSocket | null = null,
  ) {
    this.webSocket = webSocket;
    this.#request = request;
    this.#response = response;
    this.#context = context;
    this.memory = new MemoryShare(context.memory);
    this.#socket = request.socket;
    this.#headers = request.headers;
    const { id, ownId } = context.idsOf(this.#headers["x-request-id"]);
    this.id = id;
    this.ownId = ownId;
    this.method = request.method ?? "GET";
    const { path, query, model } = endpointAddress(request.url ?? "/");
    this.path = path;
    this.query = query;
    this.modelInPath = model;
    this.rawHeaders = request.rawHeaders;
  }

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  isRepeated(name: string): boolean {
    let times = 0;
    for (let i = 0; i < this.rawHeaders.length; i += 2) {
      const raw = this.rawHeaders[i]!;
      if (raw.length === name.length && raw.toLowerCase() === name) times++;
    }
    return times > 1;
  }

  awaitBody(ms: number, then: () => void): void {
    refuseIfLate(this.#request, ms, then);
  }

  readBody(bytesMax: number): Promise<BodyResult> {
    this.#hasBodyBegun = true;
    return readWholeBody(this.#request, bytesMax, this.memory);
  }

  /**
   * As `Readable.iterator`, but a body that came with its head, as most do, is read without
   * listeners.
   */
  async *readPieces(bytesMax: number): AsyncGenerator<Buffer> {
    const tooLarge = (): UploadTooLarge =>
      new UploadTooLarge(`the body is larger than ${bytesMax} bytes`);
    this.#hasBodyBegun = true;
    if (Number(this.#headers["content-length"] ?? 0) > bytesMax) throw tooLarge();
    const request = this.#request;
    let listens = false;
    let wake = (): void => {};
    const onChange = (): void => wake();
    // By then Node has parsed what came with the head.
    await Promise.resolve();
    try {
      for (let bytes = 0; ; ) {
        const chunk = request.destroyed ? null : (request.read() as Buffer | null);
        if (chunk !== null) {
          bytes += chunk.length;
          if (bytes > bytesMax) throw tooLarge();
          yield chunk;
        } else if (request.complete && request.readableLength === 0) return;
        else if (request.destroyed) throw new UploadGone();
        else {
          if (!listens) request.on("readable", onChange).on("end", onChange).on("close", onChange);
          listens = true;
          await new Promise<void>((resolve) => (wake = resolve));
        }
      }
    } finally {
      // Otherwise nothing would drop the rest of a body that the handler doesn't read.
      if (listens) request.off("readable", onChange);
    }
  }

  get remoteAddress(): string {
    return this.#socket.remoteAddress ?? "";
  }

  get tls(): ClientTls | null {
    return this.#context.tlsOf(this.#socket);
  }

  get gone(): boolean {
    return this.#socket.destroyed || this.#response.destroyed || this.#isStopped;
  }

  get isCutByStop(): boolean {
    return this.#context.cutByStop.has(this.#socket);
  }

  /** A client that already disconnected emits no further event. */
  onGone(run: () => void): void {
    this.#onGone = run;
    if (this.#isWatched) return;
    if (this.gone) return this.#notifyGone();
    this.#isWatched = true;
  }

  /** Called when its response is closed, or its connection while the response is still queued. */
  onClosed(): void {
    this.memory.onResponseEnd();
    if (this.#stalled !== null) clearTimeout(this.#stalled);
    if (!this.#isWatched) return;
    this.#isWatched = false;
    this.#notifyGone();
  }

  #notifyGone(): void {
    if (this.#isNotifying || (this.#response.writableEnded && !this.#isStopped)) return;
    this.#isNotifying = true;
    this.#context.throttled(() => {
      this.#isNotifying = false;
      this.#onGone();
    });
  }

  /** The response is complete: later events of the socket don't concern this request. */
  #leaveSocket(): void {
    this.#isWatched = false;
    if (this.#stalled !== null) clearTimeout(this.#stalled);
    this.#stalled = null;
    // For nearly every small reply, the kernel has accepted all of it.
    if (this.#response.writableLength > 0 && !this.gone) this.#awaitReader();
  }

  /**
   * The rest of a response stays in memory until the client reads it, which is impossible while
   * earlier responses of its connection are pending.
   */
  #awaitReader(): void {
    const isBehind = this.#response.socket === null;
    const endRequest = (): unknown => (isBehind ? this.#awaitReader() : this.#socket.destroy());
    this.#stalled = setTimeout(endRequest, this.#context.stalledClientMs);
  }

  addHeaders(headers: readonly string[]): void {
    this.#addedHeaders = headers;
  }

  get hasBegun(): boolean {
    // A tunnel has taken over the socket: its bytes aren't part of a response.
    const { headersSent, socket } = this.#response;
    return headersSent || (this.webSocket !== null && socket === null);
  }

  begin(status: number, headers: readonly string[]): void {
    if (this.#isStopped) return;
    // A write to a socket that the client has closed: "close" is handled, and is enough.
    this.#response.on("error", () => {});
    this.#closeIfLast(headers);
    this.#begunHeaders = headers;
    this.#response.writeHead(status, this.#withAdded(headers) as string[]);
    // A stream's head must not wait for its first byte; if that arrives in the same turn, they are
    // sent together.
    setImmediate(() => {
      if (!this.#response.destroyed) this.#response.flushHeaders();
    });
  }

  write(chunk: Buffer): boolean {
    this.#lastBytes = lastBytes(this.#lastBytes, chunk);
    // If the client has disconnected, "close" follows.
    if (this.gone || this.#response.write(chunk)) return true;
    this.#stalled ??= setTimeout(() => this.cut(), this.#context.stalledClientMs);
    return false;
  }

  onDrain(run: () => void): void {
    if (this.#onDrained !== null) return;
    this.#onDrained = run;
    this.#response.once("drain", () => {
      if (this.#stalled !== null) clearTimeout(this.#stalled);
      this.#stalled = null;
      this.#onDrained = null;
      run();
    });
  }

  end(): void {
    this.#response.end();
    this.#leaveSocket();
  }

  reply(
    status: number,
    headers: readonly string[],
    body: string,
    encoding: "latin1" | "utf8",
  ): void {
    if (this.gone) return;
    this.#closeIfLast(headers);
    const bytes = encoding === "latin1" ? body.length : Buffer.byteLength(body);
    const length = status === 204 || status === 304 ? [] : ["content-length", String(bytes)];
    this.#response.writeHead(status, [...this.#withAdded(headers), ...length]);
    // One text: `end(body)` would send an empty one after it, and two pieces cost Node more.
    this.#response.cork();
    if (this.method !== "HEAD" && body !== "") this.#response.write(body, encoding);
    this.#response.uncork();
    this.#response.end();
    this.#leaveSocket();
  }

  /**
   * Ends a request that a stop cuts with an error: as the answer if none has begun, else as the
   * last event of a stream or tunnel. It omits the end of the stream's body, so that no client
   * takes the body for complete. Returns false if the request can only be cut; otherwise the caller
   * cuts it a little later, since a client that reads the event and the cut together may only
   * notice the cut.
   */
  endByStop(): boolean {
    const { onStop } = this.webSocket ?? {};
    if (onStop !== undefined) {
      onStop();
      return true;
    }
    if (this.gone || this.#response.writableEnded) return false;
    if (!this.hasBegun) {
      const isWatched = this.#isWatched;
      replyStop(this);
      this.#isStopped = true;
      if (isWatched) this.#notifyGone();
      return true;
    }
    const event = this.#mayWriteEvent() ? stopEvent(this) : null;
    if (event === null) return false;
    this.#response.write(event);
    this.#isStopped = true;
    return true;
  }

  #mayWriteEvent(): boolean {
    const headers = this.#begunHeaders ?? [];
    return (
      headerOf(headers, "content-type").toLowerCase().startsWith("text/event-stream") &&
      headerOf(headers, "content-encoding") === "" &&
      headerOf(headers, "content-length") === "" &&
      endsEvent(this.#lastBytes)
    );
  }

  /** Closes the connection after a request of whose body most hasn't arrived. */
  #closeIfLast(headers: readonly string[]): void {
    const { lingering, lastRequests, isLastOn } = this.#context;
    const isIncomplete = this.webSocket === null && !this.#request.complete;
    const leavesRest = isIncomplete && leavesMuch(this.#request, this.#hasBodyBegun);
    if (leavesRest) lingering.afterAnswer(this.#request, this.#socket);
    if (leavesRest || isLastOn(this.#socket)) this.#response.setHeader("connection", "close");
    else if (headerOf(headers, "connection") !== "close") return;
    lastRequests.add(this.#request);
  }

  #withAdded(headers: readonly string[]): readonly string[] {
    return this.#addedHeaders === null ? headers : [...headers, ...this.#addedHeaders];
  }

  cut(): void {
    // A complete response can't be cut, only what follows it on the connection.
    if (!this.#response.writableEnded) this.#socket.destroy();
  }
}

const noBytes = Buffer.alloc(0);

export class LastRequests {
  readonly #bySocket = new WeakMap<Socket, IncomingMessage>();

  /** Call for a request whose answer announces the end of its connection. */
  add(request: IncomingMessage): void {
    this.#bySocket.set(request.socket, request);
  }

  /** Drops the body of a request that follows its connection's last one; returns whether it did. */
  dropIfAfterLast(request: IncomingMessage): boolean {
    if (!this.#bySocket.has(request.socket)) return false;
    request.resume();
    return true;
  }

  /** Whether the last request of a connection is complete: unreadable bytes then follow it. */
  isComplete(socket: Socket): boolean {
    return this.#bySocket.get(socket)?.complete === true;
  }
}

const validId = new RegExp(`^[A-Za-z0-9._:/+=@-]{1,${requestIdCharsMax}}$`);

interface RequestIds {
  /** The caller's, if it is valid; else our own. */
  readonly id: string;
  /** Unique: a mesh may give each request of a session, and each retry, the same id. */
  readonly ownId: string;
}

/** All two-digit endings in base 36. */
const endings = Array.from({ length: 36 ** 2 }, (_, i) => i.toString(36).padStart(2, "0"));

/**
 * Ids for one process. Own ids are unique among all proxies by 96 random bits per process and a
 * counter of six digits in base 36.
 */
export function createRequestIds(): (clientId: unknown) => RequestIds {
  const prefix = `req_${randomBytes(12).toString("base64url")}`;
  const beginningOf = (block: number): string => prefix + block.toString(36).padStart(4, "0");
  let count = 0;
  /** All but the last two digits, shared by that many ids. */
  let beginning = beginningOf(0);
  return (clientId) => {
    const ending = ++count % endings.length;
    if (ending === 0) beginning = beginningOf(count / endings.length);
    const ownId = beginning + endings[ending]!;
    return { id: typeof clientId === "string" && validId.test(clientId) ? clientId : ownId, ownId };
  };
}
