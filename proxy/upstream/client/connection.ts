/**
 * One connection to a provider, and the call that it carries: writes the request, and passes
 * received bytes to the parser.
 *
 * Not here: which call gets which connection (`connection-pool.ts`).
 */
import type { Socket } from "node:net";
import { readAfterBrokenPipe } from "../../../shared/socket/read-after-broken-pipe.js";
import { AnswerParser, type AnswerReceiver } from "./answer-parser.js";
import type { SocketOpener } from "./open-socket.js";
import type { RequestHead } from "./request-head.js";

/** Null for no body. Pieces are written one after another, as fast as the provider reads. */
export type CallBody = Buffer | Iterable<Buffer> | AsyncIterable<Buffer> | null;

/** The connection that a call uses. */
export interface CallConnection {
  readonly socket: Socket | null;
  /** Whether an earlier call has used this socket. */
  isUsed: boolean;
  /** Whether nothing has arrived since the call began. */
  isSilent: boolean;
}

/** Receives the progress of a call's request, and its answer. */
export interface CallHandler {
  connection: CallConnection | null;
  /** The call waits, because all connections are in use. `leave` removes it from the queue. */
  onQueued(leave: () => void): void;
  /** The call has got its connection. Returns false if it doesn't need one any more. */
  onConnect(): boolean;
  /** A part of the body, or all of it, was written. */
  onBodySent(): void;
  onRequestSent(): void;
  /** As `AnswerReceiver.onHead`. `resume`: continues a paused answer. */
  onHeaders(status: number, rawHeaders: string[], resume: () => void): boolean;
  onData(chunk: Buffer): boolean;
  onComplete(): void;
  onError(error: Error): void;
}

/** A call that waits for a connection. */
export interface WaitingCall {
  readonly method: string;
  readonly head: RequestHead;
  readonly body: CallBody;
  readonly call: CallHandler;
}

/** Whether a connection is kept for further calls, or closed after its only one. */
export type ConnectionUse = "kept" | "single";

export interface ConnectionOwner {
  /** The connection can carry another call. */
  onFree(connection: Connection): void;
  /** The connection is closed, or couldn't be opened. */
  onClosed(connection: Connection): void;
}

class ConnectionClosed extends Error {
  override name = "ConnectionClosed";
  readonly code = "ERR_CONNECTION_CLOSED";
}

class WrongLength extends Error {
  override name = "WrongLength";
}

/** Received bytes of any connection: they are parsed before the next ones arrive. */
const receivedBytes = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Node writes a text up to this length without an allocation, so concatenating is cheaper than a
 * second write.
 */
const joinedBytesMax = 16 * 1024;

export class Connection implements CallConnection, AnswerReceiver {
  socket: Socket | null = null;
  isUsed = false;
  isSilent = true;
  /** When an idle connection is closed, by the monotonic clock. */
  idleUntilMs = 0;
  readonly #owner: ConnectionOwner;
  readonly #use: ConnectionUse;
  readonly #parser = new AnswerParser(this);
  readonly #resume = (): void => this.#continue();
  /** The call that has this connection, but whose request hasn't been sent. */
  #waiting: WaitingCall | null = null;
  #call: CallHandler | null = null;
  /** Whether the provider has closed it; `throttledEnds` may handle that later. */
  #hasEnded = false;
  #isSending = false;
  #closesAfterCall = false;
  #error: Error | null = null;
  #isClosed = false;

  constructor(owner: ConnectionOwner, use: ConnectionUse) {
    this.#owner = owner;
    this.#use = use;
  }

  /** `throttledEnds` delays the provider's end of the connection. */
  open(opener: SocketOpener, waiting: WaitingCall, throttledEnds: (run: () => void) => void): void {
    waiting.call.connection = this;
    this.#waiting = waiting;
    const onRead = {
      buffer: receivedBytes,
      callback: (bytes: number) => {
        this.#read(
          bytes === receivedBytes.length ? receivedBytes : receivedBytes.subarray(0, bytes),
        );
        return true;
      },
    };
    opener.open(onRead, (error, socket) => {
      if (this.#isClosed) return void socket?.destroy();
      if (error !== null) return this.#onClosed(error);
      this.#listenTo(socket!, throttledEnds);
      this.start();
    });
  }

  #listenTo(socket: Socket, throttledEnds: (run: () => void) => void): void {
    this.socket = socket;
    // A provider may refuse a request before it has read the body.
    readAfterBrokenPipe(socket, () => {});
    throttleEnd(socket, throttledEnds, () => {
      this.#hasEnded = true;
    });
    socket.on("error", (error) => {
      this.#error = error;
    });
    socket.on("end", () => this.#onEnded());
    socket.on("close", () => this.#onClosed(null));
    // Bytes arrive here if the opener doesn't support `onRead`, as through a proxy.
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  get isUsable(): boolean {
    return !this.#hasEnded && !this.socket!.destroyed;
  }

  /** As `AnswerParser.keptAliveMs`. */
  get keptAliveMs(): number | null {
    return this.#parser.keptAliveMs;
  }

  /** Reserves this idle connection for a call, which `start` then sends. */
  reserve(waiting: WaitingCall): void {
    waiting.call.connection = this;
    this.#waiting = waiting;
  }

  /**
   * Sends the call's request. If the provider has closed the connection, returns the call instead.
   */
  start(): WaitingCall | null {
    const waiting = this.#waiting!;
    this.#waiting = null;
    if (!this.isUsable) return waiting;
    const socket = this.socket!;
    const { method, head, body, call } = waiting;
    if (!call.onConnect()) {
      this.#free();
      return null;
    }
    this.#call = call;
    this.#closesAfterCall = this.#use === "single" || method === "HEAD";
    this.#parser.begin(method);
    if (body === null || Buffer.isBuffer(body)) this.#sendWhole(socket, head, body);
    else this.#sendPieces(socket, head, body);
    return null;
  }

  #sendWhole(socket: Socket, head: RequestHead, body: Buffer | null): void {
    const bytes = body === null ? 0 : body.length;
    if (head.length !== null && head.length !== bytes)
      return void socket.destroy(new WrongLength(`${bytes} bytes of ${head.length}`));
    const text =
      bytes > 0 || head.hasBody
        ? `${head.text}content-length: ${bytes}\r\n\r\n`
        : `${head.text}\r\n`;
    if (bytes === 0) socket.write(text, "latin1");
    else if (bytes <= joinedBytesMax) socket.write(text + body!.toString("latin1"), "latin1");
    else {
      socket.cork();
      socket.write(text, "latin1");
      socket.write(body!);
      socket.uncork();
    }
    // Servers may not expect a body here, and parse it as the next request.
    if (bytes > 0 && !head.hasBody) this.#closesAfterCall = true;
    this.#call!.onBodySent();
    this.#call!.onRequestSent();
  }

  #sendPieces(
    socket: Socket,
    head: RequestHead,
    pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
  ): void {
    if (!head.hasBody) this.#closesAfterCall = true;
    this.#isSending = true;
    const { length } = head;
    const framing = length === null ? "transfer-encoding: chunked" : `content-length: ${length}`;
    const sender = new PieceSender(socket, length, `${head.text}${framing}\r\n\r\n`);
    const call = this.#call!;
    const isOver = (): boolean => this.#call !== call || socket.destroyed;
    const onSent = (): void => call.onBodySent();
    const sent =
      Symbol.iterator in pieces
        ? sender.send(pieces, isOver, onSent)
        : sender.sendAsync(pieces, isOver, onSent);
    sent.then(
      (isSent) => {
        if (!isSent || isOver()) return;
        this.#isSending = false;
        call.onRequestSent();
      },
      (error: Error) => {
        if (!isOver()) socket.destroy(error);
      },
    );
  }

  #read(bytes: Buffer): void {
    const socket = this.socket;
    if (socket === null || socket.destroyed) return;
    // No request waits for these bytes, so no client may get them.
    if (!this.#parser.isReading) return void socket.destroy();
    this.isSilent = false;
    try {
      this.#parser.read(bytes);
    } catch (error) {
      socket.destroy(error as Error);
    }
    if (this.#parser.isPaused) socket.pause();
  }

  onHead(status: number, rawHeaders: string[]): boolean {
    return this.#call!.onHeaders(status, rawHeaders, this.#resume);
  }

  onData(chunk: Buffer): boolean {
    return this.#call!.onData(chunk);
  }

  onEnd(): void {
    const call = this.#call!;
    this.#call = null;
    if (this.#isSending || this.#closesAfterCall || !this.#parser.keepsAlive)
      this.socket!.destroy();
    else if (this.isUsable) this.#free();
    call.onComplete();
  }

  #free(): void {
    if (this.#use === "single") this.socket!.destroy();
    else this.#owner.onFree(this);
  }

  #continue(): void {
    if (!this.#parser.isPaused) return;
    try {
      this.#parser.resume();
    } catch (error) {
      this.#error = error as Error;
      this.socket!.destroy(this.#error);
    }
    if (this.#parser.isPaused) return;
    if (this.#isClosed) this.#fail();
    else this.socket!.resume();
  }

  #onEnded(): void {
    const socket = this.socket!;
    if (!this.#parser.isReading) return void socket.destroy();
    // Bytes that arrived during a pause must still be parsed.
    if (this.#parser.close() || this.#parser.isPaused) return void socket.destroy();
    socket.destroy(new ConnectionClosed("it closed the connection"));
  }

  #onClosed(error: Error | null): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (error !== null) this.#error = error;
    this.#owner.onClosed(this);
    // A call that waits for a reused connection gets another one.
    if (this.socket === null) {
      const waiting = this.#waiting;
      this.#waiting = null;
      waiting?.call.onError(this.#error ?? new ConnectionClosed("the connection was closed"));
    } else if (!this.#parser.isPaused || this.#error !== null) this.#fail();
  }

  #fail(): void {
    const call = this.#call;
    this.#call = null;
    call?.onError(this.#error ?? new ConnectionClosed("the connection was closed"));
  }

  /** Destroys it, even while it is being opened. */
  destroy(): void {
    if (this.socket !== null) this.socket.destroy();
    else this.#onClosed(null);
  }
}

/** Writes a body in pieces after its head. */
class PieceSender {
  readonly #socket: Socket;
  readonly #length: number | null;
  #head: string;
  #bytes = 0;

  constructor(socket: Socket, length: number | null, head: string) {
    this.#socket = socket;
    this.#length = length;
    this.#head = head;
  }

  /** Resolves to whether all was written. */
  async send(
    pieces: Iterable<Buffer>,
    isOver: () => boolean,
    onSent: () => void,
  ): Promise<boolean> {
    const rest = pieces[Symbol.iterator]();
    for (;;) {
      const { done, value } = rest.next();
      if (done === true) break;
      this.#write(value);
      onSent();
      if (this.#socket.writableNeedDrain) await this.#drained();
      if (isOver()) return false;
    }
    this.#end();
    return true;
  }

  async sendAsync(
    pieces: AsyncIterable<Buffer>,
    isOver: () => boolean,
    onSent: () => void,
  ): Promise<boolean> {
    for await (const piece of pieces) {
      if (isOver()) return false;
      this.#write(piece);
      onSent();
      if (this.#socket.writableNeedDrain) await this.#drained();
    }
    if (isOver()) return false;
    this.#end();
    return true;
  }

  #write(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#bytes += piece.length;
    if (this.#length !== null && this.#bytes > this.#length)
      throw new WrongLength(`more than ${this.#length} bytes`);
    this.#socket.cork();
    if (this.#length === null) {
      this.#socket.write(`${this.#head}${piece.length.toString(16)}\r\n`, "latin1");
      this.#socket.write(piece);
      this.#socket.write("\r\n", "latin1");
    } else {
      if (this.#head !== "") this.#socket.write(this.#head, "latin1");
      this.#socket.write(piece);
    }
    this.#head = "";
    this.#socket.uncork();
  }

  #end(): void {
    if (this.#length === null) this.#socket.write(`${this.#head}0\r\n\r\n`, "latin1");
    else if (this.#bytes !== this.#length)
      throw new WrongLength(`${this.#bytes} bytes of ${this.#length}`);
    else if (this.#head !== "") this.#socket.write(this.#head, "latin1");
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#socket.off("drain", done).off("close", done);
        resolve();
      };
      this.#socket.on("drain", done).on("close", done);
    });
  }
}

/**
 * Delays handling the socket's end until `throttledEnds` runs the callback. Calls `onEnd` when the
 * end arrives.
 */
function throttleEnd(
  socket: Socket,
  throttledEnds: (run: () => void) => void,
  onEnd: () => void,
): void {
  const push = socket.push.bind(socket);
  socket.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk !== null) return push(chunk, encoding);
    onEnd();
    throttledEnds(() => {
      if (socket.destroyed) return;
      push(null);
      socket.read(0);
    });
    return false;
  };
}
