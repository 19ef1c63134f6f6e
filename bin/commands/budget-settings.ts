/** `sluice budgets settings`. */

import { anchorsFromFlags } from "../limits/budget-flags.js";
import { answered } from "../session/answered.js";
import { usageFailure } from "../session/command-failure.js";
import type { Session } from "../session/terminal.js";
import { withDaemon } from "../session/with-daemon.js";
import { statusFields } from "../text/status-fields.js";
import { renderFields } from "../text/table.js";
import type { CommandFlags } from "./command-flags.js";

/** Prints the anchors, after changing those that are given. */
export async function settleAnchors(
  session: Session,
  flags: CommandFlags & Readonly<Record<string, unknown>>,
): Promise<void> {
  const anchors = anchorsFromFlags(flags);
  if (!anchors.ok) throw usageFailure(anchors.problems);
  const change = Object.keys(anchors.value).length > 0;
  const settings = await withDaemon(session, flags, async (client) =>
    answered(
      await (change
        ? client.call("budgets.put-settings", anchors.value)
        : client.call("budgets.settings", null)),
    ),
  );
  session.terminal.out(
    flags.json === true ? JSON.stringify(settings) : renderFields(statusFields(settings)),
  );
}
