/**
 * One write for a request's head and its body: undici corks the socket and writes a text and a
 * buffer, and two chunks cost Node more than twice the CPU of one text.
 */
import type { Socket } from "node:net";

/** Node copies a text up to this length on the stack. */
const joinedBytesMax = 16 * 1024;

/** `how`: the encoding, or the callback. */
type Write = (chunk: unknown, how?: unknown, done?: unknown) => boolean;

/** From now on a short body that is written right after its head, in one cork, is sent with it. */
export function joinHeadAndBody(socket: Socket): void {
  const write = socket.write.bind(socket) as Write;
  const uncork = socket.uncork.bind(socket);
  /** Written, and not handed on yet: within a cork that is still open. */
  let head: string | null = null;
  const handOn = (): void => {
    const held = head;
    head = null;
    if (held !== null) write(held, "latin1");
  };
  socket.write = (chunk: unknown, how?: unknown, done?: unknown): boolean => {
    if (head !== null && how === undefined && done === undefined && isShort(chunk)) {
      const joined = head + chunk.toString("latin1");
      head = null;
      return write(joined, "latin1");
    }
    handOn();
    const mayBeHead = typeof chunk === "string" && how === "latin1" && done === undefined;
    if (!mayBeHead || socket.writableCorked === 0) return write(chunk, how, done);
    head = chunk;
    return true;
  };
  socket.uncork = (): void => {
    handOn();
    uncork();
  };
}

function isShort(chunk: unknown): chunk is Buffer {
  return Buffer.isBuffer(chunk) && chunk.length <= joinedBytesMax;
}
