/**
 * Spreads the ends of many sockets over several turns of the event loop: a provider that dies ends
 * all its connections in one turn, and each end costs some 40 microseconds.
 */
import type { Socket } from "node:net";

/**
 * From now on the socket's end is delivered when `throttledEnds` runs it. `onBytes` is called when
 * bytes have come.
 */
export function throttleSocketEnd(
  socket: Socket,
  throttledEnds: (run: () => void) => void,
  onBytes: () => void,
): void {
  const push = socket.push.bind(socket);
  socket.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk !== null) {
      onBytes();
      return push(chunk, encoding);
    }
    throttledEnds(() => {
      if (socket.destroyed) return;
      push(null);
      socket.read(0);
    });
    return false;
  };
}
