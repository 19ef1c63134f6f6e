/**
 * Reads a socket to its end although a write to it has failed. A write fails as soon as the other
 * end has gone; Node would then destroy the socket with all that hasn't been read yet, such as the
 * answer after which a server has closed. Without the error it reads that, finds the end, and
 * closes.
 */
import type { Socket } from "node:net";

/** `onBroken`: nothing that is written from now on arrives. May be called again. */
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
