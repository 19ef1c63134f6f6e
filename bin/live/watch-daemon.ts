/** Polls the daemon. If it goes away after the first poll, as in a restart, this waits for it. */
import { CommandFailure, isAway } from "../session/command-failure.js";
import type { Session } from "../session/terminal.js";
import { type AdminClient, type DaemonFlags, withDaemon } from "../session/with-daemon.js";

/** Never resolves; ends when something is thrown. */
export async function watchDaemon(
  session: Session,
  flags: DaemonFlags,
  { everyMs, refresh }: { readonly everyMs: number; refresh(client: AdminClient): Promise<void> },
): Promise<never> {
  const { err } = session.terminal;
  let hasRefreshed = false;
  let isLost = false;
  for (;;) {
    try {
      await withDaemon(session, flags, async (client) => {
        for (;;) {
          await refresh(client);
          if (isLost) err("the daemon answers again");
          hasRefreshed = true;
          isLost = false;
          await session.pause(everyMs);
        }
      });
    } catch (error) {
      if (!hasRefreshed || !(error instanceof CommandFailure) || !isAway(error)) throw error;
      if (!isLost) err(`waiting for the daemon: ${error.message.replace(/^error: /, "")}`);
      isLost = true;
      await session.pause(everyMs);
    }
  }
}
