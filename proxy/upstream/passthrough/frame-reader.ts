/**
 * Reads one direction of a WebSocket (RFC 6455 section 5) while its bytes pass: the ends of frames,
 * the text messages, and whether a side has begun to close. It stores at most one message, up to a
 * bound; of a larger one, only the parts with a session's usage.
 *
 * Not here: enforcing the protocol. An invalid frame ends the reading, not the session: the peer
 * will reject it. Compressed messages can't be read; the handshake disables compression.
 */
import { sessionMessageBytesMax } from "../../../shared/bounds.js";
import { ByteBuffer } from "../../../shared/byte-buffer.js";
import type { JsonPicker } from "../../body/json-picker.js";
import { sessionPicker } from "../../usage/session-usage.js";

const continuation = 0;
const text = 1;
const close = 8;
/** Two bytes, up to eight for a long length, and four for a mask. */
const headerBytesMax = 14;

/**
 * Receives each text message, unmasked, and must not keep the Buffer. `leftOutBytes`: the bytes of
 * an answer's text that it lacks.
 */
type OnText = (message: Buffer, leftOutBytes: number) => void;

export class WebSocketFrameReader {
  /** Whether a close frame has begun. */
  isClosing = false;
  /** Whether the bytes aren't valid frames, so that nothing more is read. */
  isInvalid = false;
  /** How many text messages were too large to keep and weren't JSON. */
  unreadMessages = 0;
  readonly #onText: OnText | null;
  readonly #messageBytesMax: number;
  readonly #header = Buffer.alloc(headerBytesMax);
  #headerBytes = 0;
  /** Bytes of the current frame's payload that haven't arrived yet. */
  #payloadLeft = 0;
  #isInPayload = false;
  #isFinal = false;
  #opcode = 0;
  #isMasked = false;
  #maskIndex = 0;
  /** Whether the current message is text. Control frames may come between its frames. */
  #isText = false;
  readonly #message = new ByteBuffer();
  /** Replaces `#message` once the message exceeds the bound. */
  #large: JsonPicker | null = null;

  /** Without `onText` it only finds the ends of frames. */
  constructor(onText: OnText | null, messageBytesMax = sessionMessageBytesMax) {
    this.#onText = onText;
    this.#messageBytesMax = messageBytesMax;
  }

  /** Whether the next byte begins a frame, so that another frame could be inserted before it. */
  get betweenFrames(): boolean {
    return !this.isInvalid && !this.#isInPayload && this.#headerBytes === 0;
  }

  push(chunk: Buffer): void {
    let position = 0;
    while (position < chunk.length && !this.isInvalid)
      position = this.#isInPayload
        ? this.#readPayload(chunk, position)
        : this.#readHeader(chunk, position);
  }

  #readHeader(chunk: Buffer, position: number): number {
    this.#header[this.#headerBytes++] = chunk[position]!;
    if (this.#headerBytes === 1) this.#checkFirst(this.#header[0]!);
    const needed = this.#headerLength();
    if (this.#headerBytes >= needed && !this.isInvalid) this.#beginPayload();
    return position + 1;
  }

  /** The first two bytes determine the length of the header. */
  #headerLength(): number {
    if (this.#headerBytes < 2) return 2;
    const second = this.#header[1]!;
    const size = second & 0x7f;
    return 2 + (size === 126 ? 2 : size === 127 ? 8 : 0) + ((second & 0x80) === 0 ? 0 : 4);
  }

  #checkFirst(first: number): void {
    const opcode = first & 0x0f;
    const hasReservedBits = (first & 0x70) !== 0;
    const isUnknown = (opcode > 2 && opcode < 8) || opcode > 10;
    const isFragmentedControl = opcode >= 8 && (first & 0x80) === 0;
    if (hasReservedBits || isUnknown || isFragmentedControl) this.isInvalid = true;
  }

  #beginPayload(): void {
    const first = this.#header[0]!;
    const second = this.#header[1]!;
    const size = second & 0x7f;
    this.#opcode = first & 0x0f;
    this.#isFinal = (first & 0x80) !== 0;
    this.#isMasked = (second & 0x80) !== 0;
    this.#maskIndex = 0;
    // Lengths too large for an exact number are never reached, so they need no check.
    this.#payloadLeft =
      size === 126
        ? this.#header.readUInt16BE(2)
        : size === 127
          ? this.#header.readUInt32BE(2) * 2 ** 32 + this.#header.readUInt32BE(6)
          : size;
    if (this.#opcode >= 8) {
      if (size > 125) this.isInvalid = true;
      if (this.#opcode === close) this.isClosing = true;
    } else if (this.#opcode !== continuation) {
      this.#isText = this.#opcode === text && this.#onText !== null;
      this.#large = null;
      this.#message.clear();
    }
    this.#isInPayload = true;
    if (this.#payloadLeft === 0) this.#endFrame();
  }

  #readPayload(chunk: Buffer, position: number): number {
    const end = Math.min(chunk.length, position + this.#payloadLeft);
    if (this.#opcode < 8 && this.#isText) this.#readText(chunk, position, end);
    this.#payloadLeft -= end - position;
    if (this.#payloadLeft === 0) this.#endFrame();
    return end;
  }

  #readText(chunk: Buffer, position: number, end: number): void {
    const isComplete =
      !this.#isMasked &&
      this.#isFinal &&
      this.#message.length === 0 &&
      this.#large === null &&
      end - position === this.#payloadLeft;
    // A complete message in one piece, the usual case, is read without a copy.
    if (isComplete && this.#payloadLeft <= this.#messageBytesMax)
      return this.#onText!(chunk.subarray(position, end), 0);
    const plain = this.#isMasked
      ? this.#unmask(chunk, position, end)
      : chunk.subarray(position, end);
    if (this.#large === null && this.#message.length + plain.length <= this.#messageBytesMax)
      return this.#message.append(plain);
    if (this.#large === null) {
      this.#large = sessionPicker();
      this.#large.append(this.#message.take());
    }
    this.#large.append(plain);
  }

  #unmask(chunk: Buffer, position: number, end: number): Buffer {
    const maskStart = this.#headerBytes - 4;
    const plain = Buffer.allocUnsafe(end - position);
    for (let i = 0; i < plain.length; i++)
      plain[i] = chunk[position + i]! ^ this.#header[maskStart + (this.#maskIndex++ & 3)]!;
    return plain;
  }

  #endFrame(): void {
    this.#isInPayload = false;
    this.#headerBytes = 0;
    if (this.#opcode >= 8 || !this.#isFinal || !this.#isText) return;
    this.#isText = false;
    const large = this.#large;
    this.#large = null;
    if (large === null)
      return void (this.#message.length > 0 && this.#onText!(this.#message.take(), 0));
    const picked = large.value();
    if (picked === undefined) this.unreadMessages++;
    else this.#onText!(Buffer.from(JSON.stringify(picked)), large.textChars);
  }
}

/** RFC 6455 section 7.4.1. */
export const goingAway = 1001;
export const internalError = 1011;

/** A close frame. A client must mask its frames, so a frame to a provider has a mask of zeros. */
export function closeFrame(code: number, reason: string, towards: "client" | "provider"): Buffer {
  const payload = Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason)]);
  const isMasked = towards === "provider";
  return Buffer.concat([
    Buffer.from([0x88, payload.length | (isMasked ? 0x80 : 0)]),
    Buffer.alloc(isMasked ? 4 : 0),
    payload,
  ]);
}
