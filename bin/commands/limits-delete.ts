/** `sluice limits delete`. */
import { periodLabel } from "../../shared/rule.js";
import { usageFailure } from "../command-failure.js";
import { answered, listRules } from "../list-rules.js";
import { type RuleKeyFlags, ruleKeyFromFlags } from "../rule-flags.js";
import type { Session } from "../terminal.js";
import { withDaemon } from "../with-daemon.js";
import type { CommandFlags } from "./command-flags.js";

/** Removes one rule; an unknown one ends with exit code 3. */
export async function deleteLimits(session: Session, subject: string, flags: CommandFlags & RuleKeyFlags): Promise<void> {
  const key = ruleKeyFromFlags(subject, flags);
  if (!key.ok) throw usageFailure(key.problems);
  const { scope, subject: normal, periodSeconds } = key.value;
  const list = await withDaemon(session, flags, async (client) => {
    answered(await client.call("rate-limits.delete", { scope, subject: normal, limit_key: { period_seconds: periodSeconds } }));
    return flags.json === true ? listRules(client) : null;
  });
  session.terminal.out(list !== null ? JSON.stringify(list) : `deleted: ${scope} ${normal} ${periodLabel(periodSeconds)}`);
}
