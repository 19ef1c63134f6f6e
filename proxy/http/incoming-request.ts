/**
 * Node's request, whose body can bypass its stream: for a short body the stream's events cost more
 * than all other reading.
 */
import { IncomingMessage } from "node:http";
import { Readable } from "node:stream";

/** Receives a body from Node's parser. */
interface BodyReceiver {
  onPiece(piece: Buffer): void;
  /** The body is complete. Not called if the client leaves before. */
  onEnd(): void;
}

export class IncomingRequest extends IncomingMessage {
  #receiver: BodyReceiver | null = null;
  #isReceived = false;

  /** Whether the receiver has got the whole body. */
  get isReceived(): boolean {
    return this.#isReceived;
  }

  /**
   * Passes the body to `receiver`; the stream emits only its `end`. False if the stream has begun
   * to read it.
   */
  giveBody(receiver: BodyReceiver): boolean {
    if (this.complete || this.readableLength > 0 || this.readableFlowing !== null) return false;
    this.#receiver = receiver;
    // As a stream does whose reader begins.
    this._read(0);
    return true;
  }

  /** Node's parser calls this with each piece of a body, and with null at its end. */
  override push(piece: Buffer | null, encoding?: BufferEncoding): boolean {
    const receiver = this.#receiver;
    if (receiver === null) return super.push(piece, encoding);
    if (piece !== null) receiver.onPiece(piece);
    else {
      this.#receiver = null;
      this.#isReceived = true;
      receiver.onEnd();
      this.emit("end");
    }
    return true;
  }
}

// Node forgets a request whose stream has ended. A getter of the class can't replace a property of
// Node's types.
const { get: isEnded } = Object.getOwnPropertyDescriptor(Readable.prototype, "readableEnded")!;
Object.defineProperty(IncomingRequest.prototype, "readableEnded", {
  get(this: IncomingRequest): boolean {
    return this.isReceived || (isEnded!.call(this) as boolean);
  },
});
