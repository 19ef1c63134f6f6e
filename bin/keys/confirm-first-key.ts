/**
 * The first key closes an open gateway for good. Who issues it at a terminal is asked; a script is
 * told.
 */
import { isUnlocked } from "../../shared/config/open-gateway.js";
import { firstKeyNotice } from "../../shared/domain/managed-key.js";
import { CommandFailure } from "../session/command-failure.js";
import { readConfiguration } from "../session/configuration.js";
import { answered } from "../session/daemon-answer.js";
import { exitCodes } from "../session/exit-code.js";
import type { Session } from "../session/terminal.js";
import { type DaemonFlags, remotePlace, withDaemon } from "../session/with-daemon.js";

/** Returns if the key may be issued; throws if the answer is no. */
export async function confirmFirstKey(session: Session, flags: DaemonFlags): Promise<void> {
  // A gateway elsewhere says itself that a key has closed it.
  if (remotePlace(session, flags) !== null) return;
  // One that can't be read may be that of an open gateway.
  const loaded = readConfiguration(session, flags);
  if (loaded.ok && !isUnlocked(loaded.config)) return;
  // A connection of its own: people think for longer than one may be idle.
  const { issued } = await withDaemon(
    session,
    flags,
    async (client) =>
      answered(await client.call("keys.list", { after: null })) as { readonly issued: unknown },
  );
  if (issued !== 0) return;
  const { ask, err } = session.terminal;
  if (ask === null) return err(`note: ${firstKeyNotice}`);
  const answer = await ask(`${firstKeyNotice}. Issue it? [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return;
  const message = "no key was issued";
  throw new CommandFailure({
    exitCode: exitCodes.failed,
    lines: [message],
    error: { type: "invalid_request_error", message, code: null, param: null },
  });
}
