/**
 * What is to run when a socket closes, with one listener for each socket: clients may send hundreds
 * of requests on a connection before the first is answered, and each wants to know.
 */
import type { Socket } from "node:net";

export class SocketClosings {
  readonly #waiting = new WeakMap<Socket, Set<() => void>>();

  /** `run` is called once, in the order of these calls. */
  on(socket: Socket, run: () => void): void {
    let waiting = this.#waiting.get(socket);
    if (waiting === undefined) {
      waiting = new Set();
      this.#waiting.set(socket, waiting);
      socket.once("close", () => {
        for (const each of this.#waiting.get(socket) ?? []) each();
        this.#waiting.delete(socket);
      });
    }
    waiting.add(run);
  }

  off(socket: Socket, run: () => void): void {
    this.#waiting.get(socket)?.delete(run);
  }
}
