/** `limits enforce`: makes a shadow rule the enforced one. */
import { subjectWithModels } from "../../../shared/domain/limited-models.js";
import { periodLabel } from "../../../shared/domain/rule.js";
import { failure } from "../../../shared/error-code.js";
import { ruleEntry, ruleOfItem } from "../../../shared/limit-files/limit-entry.js";
import { type KeyFlags, keyBody, keyFromFlags } from "../../limits/limit-flags.js";
import { ruleKind } from "../../limits/limit-kind.js";
import { limitOf, listBody, listLimits } from "../../limits/list-limits.js";
import { refusal, usageFailure } from "../../session/command-failure.js";
import { type CommandFlags, tableView } from "../../session/command-flags.js";
import { bodyOrThrow, unreadableAnswer } from "../../session/daemon-answer.js";
import type { Session } from "../../session/terminal.js";
import { withDaemon } from "../../session/with-daemon.js";

/**
 * The enforced rule has the caps and the windows of the shadow rule; it replaces an enforced one of
 * the same key. Without such a shadow rule it changes nothing and ends with exit code 3.
 */
export async function enforceRule(
  session: Session,
  subject: string,
  flags: CommandFlags & KeyFlags,
): Promise<void> {
  const { grammar } = ruleKind.flags;
  const key = keyFromFlags(ruleKind.flags, subject, { ...flags, shadow: true });
  if (!key.ok) throw usageFailure(key.problems);
  const { scope, subject: normalized, periodSeconds } = key.value;
  const shadow = { ...key.value, subject: ruleKind.effectiveSubject(scope, normalized) };
  const list = await withDaemon(session, flags, async (client) => {
    const [listed] = limitOf(await listLimits(client, ruleKind), shadow).items;
    if (listed === undefined) {
      const name = `${periodLabel(periodSeconds)} rule on ${scope} ${subjectWithModels(key.value)}`;
      throw refusal(failure(ruleKind.notFound, `no ${name}: nothing was changed`, "subject"));
    }
    const rule = ruleOfItem(listed);
    if (!rule.ok) throw unreadableAnswer("rules");
    const body = ruleEntry({ ...rule.value, mode: undefined });
    bodyOrThrow(
      await client.call(ruleKind.ops.put, { ...body, replaces: keyBody(grammar, key.value) }),
    );
    return listLimits(client, ruleKind);
  });
  const enforced = { ...shadow, mode: undefined };
  session.terminal.out(
    flags.json === true
      ? listBody(list, ruleKind)
      : ruleKind.render(limitOf(list, enforced), tableView(session, flags)),
  );
}
