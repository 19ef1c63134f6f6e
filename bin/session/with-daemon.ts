/**
 * What each command does around its requests: find the daemon of this host, or the gateway
 * elsewhere, connect, close.
 */
import { statSync } from "node:fs";
import { defaultSocket } from "../../shared/config/resolve/limiter.js";
import type { AdminOp, DaemonAnswer } from "../../shared/wire/admin-op.js";
import { DaemonError } from "../../shared/wire/daemon-error.js";
import type { RemoteGateway } from "../remote/open-remote.js";
import { chooseRemote, isInTheClear, type RemotePlace } from "../remote/remote-place.js";
import { daemonFailure, usageFailure } from "./command-failure.js";
import { type ConfigurationFlags, locateSockets, type Sockets } from "./configuration.js";
import type { Session } from "./terminal.js";

/** The flags that choose the daemon or gateway of a command. */
export interface DaemonFlags extends ConfigurationFlags {
  readonly url?: string;
  readonly keyFile?: string;
}

/** The daemon of this host, or a gateway elsewhere. */
export interface AdminClient {
  /** Rejects with `DaemonError` when no answer came. */
  call(op: AdminOp, body: unknown): Promise<DaemonAnswer>;
  /**
   * The further requests that only a gateway elsewhere answers; null for the daemon of this host.
   */
  readonly remote: RemoteGateway | null;
}

/**
 * The address of the gateway elsewhere; null for the daemon of this host. Throws if flags are
 * wrong.
 */
export function remotePlace({ env }: Pick<Session, "env">, flags: DaemonFlags): RemotePlace | null {
  const chosen = chooseRemote(flags, env);
  if (!chosen.ok) throw usageFailure([chosen]);
  return chosen.place;
}

/**
 * Runs `work` with one connection; throws its failures as `CommandFailure`. `located`: the sockets
 * of this host if they are known.
 */
export async function withDaemon<T>(
  session: Session,
  flags: DaemonFlags,
  work: (client: AdminClient) => Promise<T>,
  located: Sockets | null = null,
): Promise<T> {
  const place = remotePlace(session, flags);
  let client: (AdminClient & { close(): void }) | null = null;
  try {
    client =
      place === null
        ? await openLocal(session, flags, located ?? locateSockets(session, flags))
        : await openElsewhere(session, place);
    return await work(client);
  } catch (error) {
    if (error instanceof DaemonError) throw daemonFailure(error);
    throw error;
  } finally {
    client?.close();
  }
}

async function openLocal(
  { daemonDeadlineMs: deadlineMs }: Pick<Session, "daemonDeadlineMs">,
  flags: DaemonFlags,
  sockets: Sockets,
): Promise<AdminClient & { close(): void }> {
  // Commands that ask no daemon, and the help, don't load its connection.
  const { connectDaemon } = await import("../../shared/wire/daemon-client.js");
  const options = deadlineMs === undefined ? sockets : { ...sockets, deadlineMs };
  const daemon = await connectDaemon(options).catch((error: unknown) => {
    if (!(error instanceof DaemonError) || error.trouble !== "absent") throw error;
    const hint = flags.socket === undefined ? systemSocketHint(sockets.socketPath) : "";
    throw new DaemonError("absent", error.message + hint, error);
  });
  return {
    call: (op, body) => daemon.call(op, body),
    close: () => daemon.close(),
    remote: null,
  };
}

async function openElsewhere(
  session: Session,
  place: RemotePlace,
): Promise<AdminClient & { close(): void }> {
  if (isInTheClear(place.url))
    session.terminal.err(
      `warning: ${place.url} is without TLS: who is on the way can read the key`,
    );
  const { openRemote } = await import("../remote/open-remote.js");
  const remote = openRemote(place, session);
  return { call: remote.call, close: remote.close, remote };
}

/** `hidden`: this user may not look into its directory. */
type Presence = "there" | "absent" | "hidden";

/**
 * The hint if no daemon listens on `socket`: whether the system's daemon runs, which the user may
 * have meant. Empty if it doesn't run.
 */
export function systemSocketHint(
  socket: string,
  presenceAt: (path: string) => Presence = presenceOf,
): string {
  const system = defaultSocket({}, 0);
  if (socket === system) return "";
  switch (presenceAt(system)) {
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
