/** Whether a daemon of the system runs beside that of a user, who may have meant it. */
import { existsSync } from "node:fs";
import { defaultSocket } from "../../shared/config/build/default-paths.js";

/** What to say where no daemon listens on `socket`; nothing without a system's one. */
export function systemSocketHint(
  socket: string,
  exists: (path: string) => boolean = existsSync,
): string {
  const system = defaultSocket({}, 0);
  if (socket === system || !exists(system)) return "";
  return `; the system's daemon listens on ${system}: give --socket ${system}`;
}
