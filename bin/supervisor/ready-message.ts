/** The message with which a service reports to its supervisor that it serves. */

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
