/** `raise` for rules and budgets: higher values for a time, or the early end of a raise. */
import { userInfo } from "node:os";
import { raiseSecondsMax } from "../../../shared/bounds.js";
import {
  type KeyFlags,
  keyBody,
  keyFromFlags,
  type SetFlags,
  writesFromFlags,
} from "../../limits/limit-flags.js";
import type { LimitKind } from "../../limits/limit-kind.js";
import { type LimitList, limitsOn, listBody, listLimits } from "../../limits/list-limits.js";
import { type ArgumentProblem, usageFailure } from "../../session/command-failure.js";
import { type CommandFlags, tableView } from "../../session/command-flags.js";
import { bodyOrThrow } from "../../session/daemon-answer.js";
import type { Session } from "../../session/terminal.js";
import { type AdminClient, withDaemon } from "../../session/with-daemon.js";
import { readDuration } from "../../text/duration.js";

export interface RaiseFlags extends KeyFlags {
  readonly for?: string;
  readonly reason?: string;
  readonly by?: string;
  readonly end?: boolean;
}

/** Raises the values in the flags, or ends the raise that they name, and prints the limit. */
export async function raiseLimit<S extends string>(
  kind: LimitKind<S>,
  session: Session,
  subject: string,
  flags: CommandFlags & SetFlags & RaiseFlags,
): Promise<void> {
  const by = flags.by ?? userInfo().username;
  const { bodies, scope } =
    flags.end === true ? endOf(kind, subject, flags, by) : raisesOf(kind, subject, flags, by);
  const op = flags.end === true ? kind.ops.endRaise : kind.ops.raise;
  const list = await withDaemon(session, flags, async (client: AdminClient) => {
    for (const body of bodies) bodyOrThrow(await client.call(op, body));
    return listLimits(client, kind);
  });
  session.terminal.out(
    flags.json === true
      ? listBody(list, kind)
      : kind.render(raisedOn(kind, list, scope, subject), tableView(session, flags)),
  );
}

interface RaiseQuestion<S> {
  readonly bodies: readonly Readonly<Record<string, unknown>>[];
  readonly scope: S;
}

function endOf<S extends string>(
  kind: LimitKind<S>,
  subject: string,
  flags: KeyFlags,
  by: string,
): RaiseQuestion<S> {
  const key = keyFromFlags(kind.flags, subject, flags);
  if (!key.ok) throw usageFailure(key.problems);
  return { bodies: [{ ...keyBody(kind.flags.grammar, key.value), by }], scope: key.value.scope };
}

function raisesOf<S extends string>(
  kind: LimitKind<S>,
  subject: string,
  flags: SetFlags & RaiseFlags,
  by: string,
): RaiseQuestion<S> {
  const problems: ArgumentProblem[] = [];
  const seconds = readDuration(flags.for ?? "");
  if (seconds === null || seconds > raiseSecondsMax)
    problems.push({
      message: `--for must be a length of time such as 2h (s, m, h, d or w), at most ${raiseSecondsMax / 86_400}d, not ${JSON.stringify(flags.for ?? "")}`,
      param: "--for",
    });
  if ((flags.reason ?? "").trim() === "")
    problems.push({ message: "--reason is required: why the limit is raised", param: "--reason" });
  const writes = writesFromFlags(kind.flags, subject, flags);
  if (!writes.ok) throw usageFailure([...problems, ...writes.problems]);
  if (problems.length > 0) throw usageFailure(problems);
  const bodies = writes.value.map(({ body }) => ({
    ...body,
    for_seconds: seconds,
    reason: flags.reason,
    by,
  }));
  return { bodies, scope: writes.value[0]!.key.scope };
}

/** The limits of the subject; if it has none, those of the template above it. */
function raisedOn<S extends string>(
  { effectiveSubject }: LimitKind<S>,
  list: LimitList,
  scope: S,
  subject: string,
): LimitList {
  const on = (name: string): LimitList =>
    limitsOn(list, { scope, subject: effectiveSubject(scope, name) });
  const subjectLimits = on(subject.trim());
  return subjectLimits.items.length > 0
    ? subjectLimits
    : on(subject.trim().replace(/\/[^/]*$/, "") || "/");
}
