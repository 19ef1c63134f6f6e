/** `revert` for rules and budgets. */
import { subjectWithModels } from "../../../shared/domain/limited-models.js";
import { failure } from "../../../shared/error-code.js";
import { type KeyFlags, keyBody, keyFromFlags } from "../../limits/limit-flags.js";
import type { LimitKind } from "../../limits/limit-kind.js";
import { limitOf, listBody, listLimits } from "../../limits/list-limits.js";
import { refusal, usageFailure } from "../../session/command-failure.js";
import { type CommandFlags, tableView } from "../../session/command-flags.js";
import { bodyOrThrow } from "../../session/daemon-answer.js";
import type { Session } from "../../session/terminal.js";
import { withDaemon } from "../../session/with-daemon.js";

/**
 * Restores the configuration's rule or budget that an edit by hand overrides. Without such an
 * override it changes nothing and ends with exit code 3.
 */
export async function revertLimit<S extends string>(
  kind: LimitKind<S>,
  session: Session,
  subject: string,
  flags: CommandFlags & KeyFlags,
): Promise<void> {
  const key = keyFromFlags(kind.flags, subject, flags);
  if (!key.ok) throw usageFailure(key.problems);
  const { scope, subject: normalized, periodSeconds } = key.value;
  const limitKey = { ...key.value, subject: kind.effectiveSubject(scope, normalized) };
  const list = await withDaemon(session, flags, async (client) => {
    const [limit] = limitOf(await listLimits(client, kind), limitKey).items;
    if (limit?.["overrides"] === undefined) {
      const name = `${kind.periodLabel(periodSeconds)} ${kind.singular} on ${scope} ${subjectWithModels(key.value)}`;
      const why = limit === undefined ? `no ${name}` : `the configuration has no other ${name}`;
      throw refusal(failure(kind.notFound, `${why}: nothing was changed`, "subject"));
    }
    const body = keyBody(kind.flags.grammar, key.value);
    bodyOrThrow(await client.call(kind.ops.delete, { ...body, revert: true }));
    return listLimits(client, kind);
  });
  session.terminal.out(
    flags.json === true
      ? listBody(list, kind)
      : kind.render(limitOf(list, limitKey), tableView(session, flags)),
  );
}
