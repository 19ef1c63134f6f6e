/**
 * The start of a service, between it and its supervisor: a held process loads its program and
 * checks its configuration, but starts the service only when the supervisor sends `begin`. Then the
 * service reports that it serves.
 */

const heldName = "SLUICE_HELD";

/** The variable of a held process, or that of any other, which removes an inherited one. */
export function heldVariable(isHeld: boolean): Readonly<Record<string, string | undefined>> {
  return { [heldName]: isHeld ? "1" : undefined };
}

/** Reads and removes the variable. */
export function takeHeld(env: Record<string, string | undefined>): boolean {
  const isHeld = env[heldName] !== undefined;
  delete env[heldName];
  return isHeld;
}

/** The message that starts a held service. */
export const begin = { begin: true } as const;

export function isBegin(message: unknown): boolean {
  return typeof message === "object" && message !== null && "begin" in message;
}

/** The message that a service sends when it is ready. */
export interface ServiceReady {
  readonly ready: string;
  /** The proxy's address of /admin and the dashboard. */
  readonly admin: string;
  readonly open: boolean;
}

/** Null for any other message. */
export function readyFrom(message: unknown): ServiceReady | null {
  if (
    typeof message !== "object" ||
    message === null ||
    !("ready" in message) ||
    typeof message.ready !== "string"
  )
    return null;
  const { ready } = message;
  const admin = "admin" in message && typeof message.admin === "string" ? message.admin : ready;
  return { ready, admin, open: "open" in message && message.open === true };
}
