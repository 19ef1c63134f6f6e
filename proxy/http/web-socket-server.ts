/**
 * The server's side of a WebSocket (RFC 6455): the handshake, messages in both directions, pings
 * and the close. Text only, without extensions. Memory for a message is taken from the ledger while
 * it arrives, and a client that doesn't read is cut off.
 *
 * Not here: sockets whose frames pass to a provider (`upstream/passthrough/tunnel-session.ts`).
 */
import type { Duplex } from "node:stream";
import type { MemoryShare } from "../capacity/memory-ledger.js";
import { HeldBody } from "../capacity/read-body.js";
import type { RequestHeaders } from "./exchange.js";

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** RFC 6455 section 7.4.1. */
export const closeCodes = {
  normal: 1000,
  goingAway: 1001,
  protocolError: 1002,
  unsupported: 1003,
  notUtf8: 1007,
  tooLarge: 1009,
  tryAgainLater: 1013,
} as const;

const controlBytesMax = 125;
/** Two bytes, up to eight for a long length, and four for the mask. */
const headerBytesMax = 14;
/** How long a client may take to answer a close frame. */
const closingMs = 2_000;

interface WebSocketOptions {
  /** Takes the memory of each message; `onMessage` gives it back. */
  readonly memory: Pick<MemoryShare, "take" | "give">;
  readonly messageBytesMax: number;
  /** How long a client may read nothing before it is disconnected. */
  readonly stalledMs: number;
  readonly setTimer: (ms: number, run: () => void) => () => void;
  readonly isUtf8: (bytes: Buffer) => boolean;
  readonly onMessage: (bytes: Buffer) => void;
  /** The message is too large, or there is no memory for it. The socket closes after this. */
  readonly onUnread: (why: "too_large" | "no_memory") => void;
  /** Runs once, whichever side has closed the socket. */
  readonly onClosed: () => void;
  readonly onBug: (error: unknown) => void;
}

/** Why a handshake can't be accepted; null if it can. */
export function handshakeProblem(
  request: RequestHeaders,
): { readonly status: 400 | 426; readonly message: string } | null {
  if (request.header("sec-websocket-version") !== "13")
    return { status: 426, message: "Sec-WebSocket-Version must be 13" };
  const key = request.header("sec-websocket-key") ?? "";
  return /^[A-Za-z0-9+/]{22}==$/.test(key)
    ? null
    : { status: 400, message: "Sec-WebSocket-Key must be 16 bytes in base64" };
}

/** The head of the 101. `accept`: for the client's key. `headers`: flat, further ones. */
export function switchingHead(accept: string, headers: readonly string[]): string {
  const allHeaders = [
    ...["upgrade", "websocket", "connection", "Upgrade", "sec-websocket-accept", accept],
    ...headers,
  ];
  let head = "HTTP/1.1 101 Switching Protocols\r\n";
  for (let i = 0; i < allHeaders.length; i += 2)
    head += `${allHeaders[i]!}: ${allHeaders[i + 1]!}\r\n`;
  return `${head}\r\n`;
}

export class WebSocketServer {
  readonly #socket: Duplex;
  readonly #options: WebSocketOptions;
  readonly #header = Buffer.alloc(headerBytesMax);
  #headerBytes = 0;
  #isInPayload = false;
  /** Bytes of the current frame's payload that haven't arrived yet. */
  #payloadLeft = 0;
  #maskIndex = 0;
  #control: Buffer[] = [];
  /** The message whose frames are arriving. */
  #message: HeldBody | null = null;
  #isClosing = false;
  #closed = false;
  #cancelStallTimer: (() => void) | null = null;
  /** Cancels the timer that disconnects a client which doesn't answer the close. */
  #cancelCutTimer: (() => void) | null = null;
  #drainCallbacks: (() => void)[] = [];
  /** Whether anything has arrived since `quiet` was last called. */
  #hasHeard = true;

  /** `socket`: taken over; its handshake is answered. */
  constructor(socket: Duplex, options: WebSocketOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.on("data", (chunk: Buffer) => this.#guard(() => this.#read(chunk)));
    socket.on("drain", () => this.#guard(() => this.#onDrained()));
    socket.on("end", () => socket.destroy());
    socket.on("close", () => this.#guard(() => this.#onClosed()));
    socket.resume();
  }

  /** Whether the socket can't send or receive any more messages. */
  get over(): boolean {
    return this.#closed || this.#isClosing;
  }

  /** Whether nothing has arrived since the last call. */
  quiet(): boolean {
    const isQuiet = !this.#hasHeard;
    this.#hasHeard = false;
    return isQuiet;
  }

  /** False if the client reads too slowly: wait for `onDrain`. */
  send(text: string): boolean {
    return this.over || this.#write(opcodes.text, Buffer.from(text));
  }

  ping(): void {
    if (!this.over && this.#cancelStallTimer === null) this.#write(opcodes.ping, noBytes);
  }

  /** Runs `run` once all sent bytes have left, or the socket is closed. */
  onDrain(run: () => void): void {
    if (this.#cancelStallTimer === null) this.#options.setTimer(0, run);
    else this.#drainCallbacks.push(run);
  }

  close(code: number, reason: string): void {
    if (this.over) return;
    this.#sendClose(Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason)]));
  }

  /** Sends the last frame. Bytes that arrive after it are ignored. */
  #sendClose(payload: Buffer): void {
    this.#isClosing = true;
    this.#dropMessage();
    this.#write(opcodes.close, payload);
    this.#socket.end();
    this.#cancelCutTimer = this.#options.setTimer(closingMs, () => this.cut());
  }

  cut(): void {
    this.#socket.destroy();
  }

  #guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#options.onBug(error);
      this.#socket.destroy();
    }
  }

  #write(opcode: number, payload: Buffer): boolean {
    const { length } = payload;
    const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
    head[0] = 0x80 | opcode;
    if (length < 126) head[1] = length;
    else if (length < 65_536) {
      head[1] = 126;
      head.writeUInt16BE(length, 2);
    } else {
      head[1] = 127;
      head.writeUIntBE(length, 4, 6);
    }
    this.#socket.cork();
    this.#socket.write(head);
    const mayWrite = this.#socket.write(payload);
    this.#socket.uncork();
    if (mayWrite || this.#closed) return true;
    if (this.#cancelStallTimer === null) {
      // Also limits the pings that are answered.
      this.#socket.pause();
      this.#cancelStallTimer = this.#options.setTimer(this.#options.stalledMs, () => this.cut());
    }
    return false;
  }

  #onDrained(): void {
    this.#cancelStallTimer?.();
    this.#cancelStallTimer = null;
    this.#socket.resume();
    for (const run of this.#drainCallbacks.splice(0)) run();
  }

  #onClosed(): void {
    this.#closed = true;
    this.#cancelStallTimer?.();
    this.#cancelStallTimer = null;
    this.#cancelCutTimer?.();
    this.#dropMessage();
    for (const run of this.#drainCallbacks.splice(0)) run();
    this.#options.onClosed();
  }

  #dropMessage(): void {
    this.#message?.discard();
    this.#message = null;
  }

  #read(chunk: Buffer): void {
    this.#hasHeard = true;
    let position = 0;
    while (position < chunk.length && !this.#isClosing)
      position = this.#isInPayload
        ? this.#readPayload(chunk, position)
        : this.#readHeader(chunk, position);
  }

  #readHeader(chunk: Buffer, position: number): number {
    this.#header[this.#headerBytes++] = chunk[position]!;
    if (this.#headerBytes < 2) return position + 1;
    const size = this.#header[1]! & 0x7f;
    const needed = 6 + (size === 126 ? 2 : size === 127 ? 8 : 0);
    if (this.#headerBytes === 2 && !this.#isValid(size)) return position + 1;
    if (this.#headerBytes < needed) return position + 1;
    this.#payloadLeft =
      size === 126
        ? this.#header.readUInt16BE(2)
        : size === 127
          ? this.#header.readUInt32BE(2) * 2 ** 32 + this.#header.readUInt32BE(6)
          : size;
    this.#maskIndex = 0;
    this.#isInPayload = true;
    if (!this.#isControl && !this.#fits()) return position + 1;
    if (this.#payloadLeft === 0) this.#endFrame();
    return position + 1;
  }

  get #opcode(): number {
    return this.#header[0]! & 0x0f;
  }

  get #isControl(): boolean {
    return this.#opcode >= opcodes.close;
  }

  get #isFinal(): boolean {
    return (this.#header[0]! & 0x80) !== 0;
  }

  /** Checks the first two bytes of a frame. */
  #isValid(size: number): boolean {
    const opcode = this.#opcode;
    const isKnown = opcode <= opcodes.binary || (opcode >= opcodes.close && opcode <= opcodes.pong);
    const isMasked = (this.#header[1]! & 0x80) !== 0;
    const isWhole = !this.#isControl || (this.#isFinal && size <= controlBytesMax);
    const isInOrder =
      this.#isControl || (opcode === opcodes.continuation) === (this.#message !== null);
    if ((this.#header[0]! & 0x70) !== 0 || !isKnown || !isMasked || !isWhole || !isInOrder)
      this.close(closeCodes.protocolError, "the frame is invalid");
    else if (opcode === opcodes.binary) this.close(closeCodes.unsupported, "messages must be text");
    return !this.#isClosing;
  }

  #fits(): boolean {
    this.#message ??= new HeldBody(Infinity, this.#options.memory);
    if (this.#message.length + this.#payloadLeft <= this.#options.messageBytesMax) return true;
    return this.#refuse("too_large");
  }

  #refuse(why: "too_large" | "no_memory"): false {
    this.#options.onUnread(why);
    if (why === "too_large") this.close(closeCodes.tooLarge, "the message is too large");
    else this.close(closeCodes.tryAgainLater, "there is no memory for the message");
    return false;
  }

  #readPayload(chunk: Buffer, position: number): number {
    const end = Math.min(chunk.length, position + this.#payloadLeft);
    const plain = chunk.subarray(position, end);
    const maskStart = this.#headerBytes - 4;
    for (let i = 0; i < plain.length; i++)
      plain[i] = plain[i]! ^ this.#header[maskStart + (this.#maskIndex++ & 3)]!;
    this.#payloadLeft -= plain.length;
    if (this.#isControl) this.#control.push(plain);
    else if (!this.#message!.append(plain)) {
      this.#refuse("no_memory");
      return end;
    }
    if (this.#payloadLeft === 0) this.#endFrame();
    return end;
  }

  #endFrame(): void {
    const [opcode, isFinal] = [this.#opcode, this.#isFinal];
    this.#isInPayload = false;
    this.#headerBytes = 0;
    if (opcode >= opcodes.close)
      return this.#onControl(opcode, Buffer.concat(this.#control.splice(0)));
    if (!isFinal) return;
    const bytes = this.#message!.take();
    this.#message = null;
    if (this.#options.isUtf8(bytes)) return this.#options.onMessage(bytes);
    this.#options.memory.give(bytes.length);
    this.close(closeCodes.notUtf8, "the message is not UTF-8");
  }

  #onControl(opcode: number, payload: Buffer): void {
    if (opcode === opcodes.ping) return void this.#write(opcodes.pong, payload);
    if (opcode === opcodes.pong) return;
    if (payload.length === 1) this.close(closeCodes.protocolError, "the close frame is invalid");
    else this.#sendClose(payload.subarray(0, 2));
  }
}

const noBytes = Buffer.alloc(0);
