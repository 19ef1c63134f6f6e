/** What each command does around its requests to the daemon: find the socket, connect, close. */
import { connectDaemon, type DaemonClient } from "../../shared/wire/daemon-client.js";
import { DaemonError } from "../../shared/wire/daemon-error.js";
import { daemonFailure } from "./command-failure.js";
import { type ConfigurationFlags, locateSockets } from "./configuration.js";
import type { Session } from "./terminal.js";

/** Runs `work` with one connection to the daemon; throws its failures as `CommandFailure`. */
export async function withDaemon<T>(
  session: Session,
  flags: ConfigurationFlags,
  work: (client: DaemonClient) => Promise<T>,
): Promise<T> {
  const sockets = locateSockets(session, flags);
  let client: DaemonClient | null = null;
  try {
    client = await connectDaemon(sockets);
    return await work(client);
  } catch (error) {
    if (error instanceof DaemonError) throw daemonFailure(error);
    throw error;
  } finally {
    client?.close();
  }
}
