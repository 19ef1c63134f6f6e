/**
 * An exchange for one request over a WebSocket: handlers see a POST with the headers of the
 * handshake.
 *
 * Not here: the messages of the answer, which `SocketAnswer` makes.
 */
import type { MemoryShare } from "../../capacity/memory-ledger.js";
import { headerOf } from "../copy-headers.js";
import type { BodyResult, ClientTls, Exchange, RequestHeaders } from "../exchange.js";

/** The receiver of the answer. */
interface SocketAnswer {
  /** A piece of an event stream. False if the client reads too slowly. */
  onStream(chunk: Buffer): boolean;
  /** An answer that isn't a stream. */
  onWhole(status: number, headers: readonly string[], body: string): void;
  onDrain(run: () => void): void;
  /** The answer is complete, or was cut. */
  onDone(): void;
}

interface SocketRequest {
  readonly handshake: Exchange;
  /** The headers of the handshake, with the key that its subprotocols may hold. */
  readonly headers: Pick<RequestHeaders, "header">;
  /** `headers` without those that concern only the handshake. */
  readonly rawHeaders: readonly string[];
  readonly id: string;
  readonly body: Buffer;
  readonly memory: MemoryShare;
  readonly answer: SocketAnswer;
  readonly isGone: () => boolean;
}

/** Headers of the connection, or of one request. */
const handshakeHeaders =
  /^(?:connection|upgrade|expect|content-.*|idempotency-key|x-request-id|sec-websocket-.*)$/i;

/** Removes the headers that concern only the handshake. */
export function headersOfRequests(rawHeaders: readonly string[]): readonly string[] {
  const headers = ["content-type", "application/json"];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name, value] = [rawHeaders[i]!, rawHeaders[i + 1]!];
    const isOfSockets = /^openai-beta$/i.test(name) && value.startsWith("responses_websockets");
    if (!handshakeHeaders.test(name) && !isOfSockets) headers.push(name, value);
  }
  return headers;
}

export class SocketExchange implements Exchange {
  readonly method = "POST";
  readonly webSocket = null;
  readonly id: string;
  readonly memory: MemoryShare;
  readonly rawHeaders: readonly string[];
  readonly #request: SocketRequest;
  #onGone: (() => void) | null = null;
  #hasBegun = false;
  #isStream = false;
  #done = false;
  /** The head of an answer that isn't a stream, and its body so far. */
  #status = 0;
  #headers: readonly string[] = [];
  #pieces: Buffer[] = [];
  /** The request's body, until it is read. */
  #body: Buffer;

  constructor(request: SocketRequest) {
    this.#request = request;
    this.#body = request.body;
    this.id = request.id;
    this.memory = request.memory;
    this.rawHeaders = request.rawHeaders;
  }

  get ownId(): string {
    return this.id;
  }

  get remoteAddress(): string {
    return this.#request.handshake.remoteAddress;
  }

  get tls(): ClientTls | null {
    return this.#request.handshake.tls;
  }

  get path(): string {
    return this.#request.handshake.path;
  }

  get query(): string {
    return this.#request.handshake.query;
  }

  get modelInPath(): string | null {
    return this.#request.handshake.modelInPath;
  }

  header(name: string): string | undefined {
    if (name === "content-type") return "application/json";
    return handshakeHeaders.test(name) ? undefined : this.#request.headers.header(name);
  }

  isRepeated(name: string): boolean {
    return this.#request.handshake.isRepeated(name);
  }

  awaitBody(_ms: number, then: () => void): void {
    queueMicrotask(then);
  }

  async readBody(bytesMax: number): Promise<BodyResult> {
    const body = this.#body;
    this.#body = nothing;
    if (this.gone) return { ok: false, reason: "gone" };
    if (body.length > bytesMax) return { ok: false, reason: "too_large" };
    return this.memory.take(body.length)
      ? { ok: true, bytes: body }
      : { ok: false, reason: "no_memory" };
  }

  async *readPieces(): AsyncGenerator<Buffer> {
    yield this.#body;
  }

  get gone(): boolean {
    return !this.#done && this.#request.isGone();
  }

  get isCutByStop(): boolean {
    return this.#request.handshake.isCutByStop;
  }

  onGone(run: () => void): void {
    this.#onGone = run;
    if (this.gone) queueMicrotask(() => this.left());
  }

  /** The client has disconnected. */
  left(): void {
    if (!this.#done) this.memory.onResponseEnd();
    const run = this.#onGone;
    this.#onGone = null;
    if (!this.#done) run?.();
  }

  /** The client gets no headers of an answer. */
  addHeaders(): void {}

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  begin(status: number, headers: readonly string[]): void {
    this.#hasBegun = true;
    [this.#status, this.#headers] = [status, headers];
    this.#isStream =
      status < 300 &&
      headerOf(headers, "content-type").toLowerCase().startsWith("text/event-stream");
  }

  write(chunk: Buffer): boolean {
    if (this.#done) return true;
    if (this.#isStream) return this.#request.answer.onStream(chunk);
    if (!this.memory.takeForAnswer(chunk.length)) this.cut();
    else this.#pieces.push(chunk);
    return true;
  }

  onDrain(run: () => void): void {
    this.#request.answer.onDrain(run);
  }

  end(): void {
    if (this.#done) return;
    if (!this.#isStream)
      this.#request.answer.onWhole(
        this.#status,
        this.#headers,
        Buffer.concat(this.#pieces).toString(),
      );
    this.#finish();
  }

  reply(
    status: number,
    headers: readonly string[],
    body: string,
    encoding: "latin1" | "utf8",
  ): void {
    if (this.#done) return;
    this.#hasBegun = true;
    const text = encoding === "utf8" ? body : Buffer.from(body, "latin1").toString();
    this.#request.answer.onWhole(status, headers, text);
    this.#finish();
  }

  cut(): void {
    this.#finish();
  }

  #finish(): void {
    if (this.#done) return;
    this.#done = true;
    this.memory.onResponseEnd();
    this.#request.answer.onDone();
  }
}

const nothing = Buffer.alloc(0);
