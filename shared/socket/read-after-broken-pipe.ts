/**
 * Reads a socket to its end although a write to it has failed. A write fails as soon as the other
 * end has closed; Node would then destroy the socket with all unread bytes, such as the last answer
 * of a server. Without the error, Node reads them, finds the end, and closes.
 */
import type { Socket } from "node:net";

/** `onBroken`: from now on nothing that is written arrives. May be called again. */
export function readAfterBrokenPipe(socket: Socket, onBroken: () => void): void {
  const write = socket._write.bind(socket);
  const writeAll = socket._writev!.bind(socket);
  const unlessBroken =
    (done: (error?: Error | null) => void) =>
    (error?: NodeJS.ErrnoException | null): void => {
      if (error?.code !== "EPIPE" && error?.code !== "ECONNRESET") return done(error);
      onBroken();
      done();
    };
  socket._write = (chunk, encoding, done) => write(chunk, encoding, unlessBroken(done));
  socket._writev = (chunks, done) => writeAll(chunks, unlessBroken(done));
}
