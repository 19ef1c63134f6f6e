/** Whether a daemon of the system runs beside that of a user, who may have meant it. */
import { statSync } from "node:fs";
import { defaultSocket } from "../../shared/config/resolve/limiter.js";

/** `hidden`: this user may not look into its directory. */
type Presence = "there" | "absent" | "hidden";

/** What to say where no daemon listens on `socket`; nothing without a system's one. */
export function systemSocketHint(
  socket: string,
  look: (path: string) => Presence = presenceOf,
): string {
  const system = defaultSocket({}, 0);
  if (socket === system) return "";
  switch (look(system)) {
    case "there":
      return `; the system's daemon listens on ${system}: give --socket ${system}`;
    case "hidden":
      return `; the system's daemon has ${system}, which this user may not see: run this as root`;
    case "absent":
      return "";
  }
}

function presenceOf(path: string): Presence {
  try {
    statSync(path);
    return "there";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES" ? "hidden" : "absent";
  }
}
