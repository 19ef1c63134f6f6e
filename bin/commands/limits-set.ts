/** `sluice limits set`. */
import { periodLabel } from "../../shared/rule.js";
import { usageFailure } from "../command-failure.js";
import { answered, listRules } from "../list-rules.js";
import { type RuleSetFlags, ruleWritesFromFlags } from "../rule-flags.js";
import { renderRules, rulesOn } from "../rule-table.js";
import type { Session } from "../terminal.js";
import { withDaemon } from "../with-daemon.js";
import type { CommandFlags } from "./command-flags.js";

/** Writes the rules, every one checked before the first is sent, and prints what now stands on the subject. */
export async function setLimits(session: Session, subject: string, flags: CommandFlags & RuleSetFlags): Promise<void> {
  const writes = ruleWritesFromFlags(subject, flags);
  if (!writes.ok) throw usageFailure(writes.problems);
  const list = await withDaemon(session, flags, async (client) => {
    const written: string[] = [];
    for (const { body, rule } of writes.value) {
      const remark = written.length > 0 ? ` (written before it: ${written.join(", ")})` : "";
      answered(await client.call("rate-limits.put", body), remark);
      written.push(periodLabel(rule.periodSeconds));
    }
    return listRules(client);
  });
  const first = writes.value[0]!.rule;
  session.terminal.out(flags.json === true ? JSON.stringify(list) : renderRules(rulesOn(list, { scope: first.scope, subject: first.subject })));
}
