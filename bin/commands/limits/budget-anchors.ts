/** `sluice budgets settings`: shows or changes the anchors of budget periods. */
import { anchorsFromFlags } from "../../limits/budget-flags.js";
import { usageFailure } from "../../session/command-failure.js";
import type { CommandFlags } from "../../session/command-flags.js";
import { bodyOrThrow } from "../../session/daemon-answer.js";
import type { Session } from "../../session/terminal.js";
import { withDaemon } from "../../session/with-daemon.js";
import { statusFields } from "../../text/status-fields.js";
import { renderFields } from "../../text/table.js";

/** The flags of the anchors, by the names that commander gives them. */
export type AnchorFlags = CommandFlags & Readonly<Record<string, unknown>>;

/** Changes the anchors that the flags name, and prints all of them. */
export async function showOrSetAnchors(session: Session, flags: AnchorFlags): Promise<void> {
  const anchors = anchorsFromFlags(flags);
  if (!anchors.ok) throw usageFailure(anchors.problems);
  const hasChanged = Object.keys(anchors.value).length > 0;
  const settings = await withDaemon(session, flags, async (client) =>
    bodyOrThrow(
      await (hasChanged
        ? client.call("budgets.put-settings", anchors.value)
        : client.call("budgets.settings", null)),
    ),
  );
  session.terminal.out(
    flags.json === true ? JSON.stringify(settings) : renderFields(statusFields(settings)),
  );
}
