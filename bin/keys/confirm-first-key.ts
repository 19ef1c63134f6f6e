/**
 * The first key closes an open gateway permanently. At a terminal, `keys issue` asks before it
 * issues one; in a script it prints a note.
 */
import type { Config } from "../../shared/config/config.js";
import { isUnlocked } from "../../shared/config/open-gateway.js";
import { firstKeyNotice } from "../../shared/domain/managed-key.js";
import { readConfiguration } from "../session/configuration.js";
import { confirm } from "../session/confirm.js";
import { bodyOrThrow } from "../session/daemon-answer.js";
import type { Session } from "../session/terminal.js";
import { type DaemonFlags, remotePlace, withDaemon } from "../session/with-daemon.js";
import { modelsUrl } from "../text/http-url.js";

/** Returns if the key may be issued; throws if the answer is no. */
export async function confirmFirstKey(session: Session, flags: DaemonFlags): Promise<void> {
  // A remote gateway's answer has the notice.
  if (remotePlace(session, flags) !== null) return;
  // If the configuration can't be read, the gateway may be open.
  const loaded = readConfiguration(session, flags);
  if (loaded.ok && !isUnlocked(loaded.config)) return;
  // A connection of its own, because the daemon closes idle ones while the user thinks.
  const { issued } = await withDaemon(
    session,
    flags,
    async (client) =>
      bodyOrThrow(await client.call("keys.list", { after: null })) as { readonly issued: unknown },
  );
  if (issued !== 0) return;
  const isHere = loaded.ok && flags.socket === undefined;
  if (isHere && (await isClosed(loaded.config, session.daemonDeadlineMs))) return;
  const { ask, err } = session.terminal;
  if (ask === null) return err(`note: ${firstKeyNotice}`);
  await confirm(ask, `${firstKeyNotice}. Issue it?`, "no key was issued");
}

/**
 * Whether the running gateway asks for credentials: the environment with its master key may be that
 * of its own terminal.
 */
async function isClosed(config: Config, deadlineMs = 5_000): Promise<boolean> {
  const url = modelsUrl(config);
  if (url === null) return false;
  // The help of other commands doesn't load node:http.
  const { wantsCredentials } = await import("../session/ask-health.js");
  return wantsCredentials(url, deadlineMs);
}
