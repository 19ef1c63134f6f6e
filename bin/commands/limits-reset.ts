/** `sluice limits reset`: one rule, or all after a question. */
import { periodLabel } from "../../shared/rule.js";
import { ruleNotFound, usageFailure } from "../command-failure.js";
import { confirmReset } from "../confirm-reset.js";
import { answered, listRules } from "../list-rules.js";
import { type RuleKeyFlags, ruleKeyFromFlags } from "../rule-flags.js";
import { renderRules, rulesOn } from "../rule-table.js";
import type { Session } from "../terminal.js";
import { withDaemon } from "../with-daemon.js";
import type { CommandFlags } from "./command-flags.js";

export interface ResetFlags extends RuleKeyFlags {
  readonly all?: boolean;
  readonly yes?: boolean;
}

/** Clears the counters of the rule that is named, or of every rule. */
export async function resetLimits(session: Session, subject: string | undefined, flags: CommandFlags & ResetFlags): Promise<void> {
  const named = subject !== undefined || flags.scope !== undefined || flags.period !== undefined || flags.periodSeconds !== undefined;
  if (flags.all === true && named) throw usageFailure([{ message: "--all resets every rule: give neither a subject nor --scope nor --period beside it", param: "--all" }]);
  if (flags.all === true) await resetAll(session, flags);
  else if (subject === undefined) throw usageFailure([{ message: "subject is required: the rule's user path, provider or model; or --all for every rule", param: "subject" }]);
  else await resetOne(session, subject, flags);
}

async function resetOne(session: Session, subject: string, flags: CommandFlags & ResetFlags): Promise<void> {
  const key = ruleKeyFromFlags(subject, flags);
  if (!key.ok) throw usageFailure(key.problems);
  const { scope, subject: normal, periodSeconds } = key.value;
  const list = await withDaemon(session, flags, async (client) => {
    answered(await client.call("rate-limits.reset-one", { scope, subject: normal, period_seconds: periodSeconds }));
    return listRules(client);
  });
  const rule = rulesOn(list, key.value);
  // The API takes an unknown rule as done; whoever types a name wants to hear that it is misspelt.
  if (rule.rate_limits.length === 0) throw ruleNotFound(`no rate limit rule for ${scope} ${normal} ${periodLabel(periodSeconds)}: nothing was reset`);
  session.terminal.out(flags.json === true ? JSON.stringify(list) : renderRules(rule));
}

async function resetAll(session: Session, flags: CommandFlags & ResetFlags): Promise<void> {
  if (flags.yes !== true) await confirmReset(session, "rules", "Reset the live counters of every rule?");
  const list = await withDaemon(session, flags, async (client) => {
    answered(await client.call("rate-limits.reset", { confirmation: "reset" }));
    return flags.json === true ? listRules(client) : null;
  });
  session.terminal.out(list !== null ? JSON.stringify(list) : "reset: the live counters of every rule");
}
