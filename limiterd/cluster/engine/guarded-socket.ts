/**
 * The sockets that the engine's client reads from. What comes is checked first, and an exception of
 * the client's while it reads ends the connection: thrown in a listener of the socket it would end
 * the process.
 */
import type { Socket } from "node:net";
import { ReplyGrammar } from "./reply-grammar.js";

export function guard(socket: Socket, kind: { readonly onlySlots: boolean }): void {
  const grammar = new ReplyGrammar(kind);
  const emit = socket.emit.bind(socket);
  socket.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    if (event !== "data") return Reflect.apply(emit, socket, [event, ...args]);
    if (socket.destroyed) return true;
    try {
      grammar.check(args[0] as Buffer);
      return emit(event, args[0]);
    } catch (error) {
      socket.destroy(error as Error);
      return true;
    }
  };
}
