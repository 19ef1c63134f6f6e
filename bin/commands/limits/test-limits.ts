/** `sluice limits test`: reports which recorded requests a rule would have refused. */

import { type Command, Option } from "commander";
import { isObject } from "../../../shared/checked.js";
import { numberOf } from "../../../shared/config/kinds/number-kinds.js";
import { formatShare } from "../../../shared/text/percent.js";
import { backTestLimits, renderBackTest } from "../../limits/back-test-text.js";
import { budgetFlags } from "../../limits/budget-flags.js";
import { type SetFlags, writesFromFlags } from "../../limits/limit-flags.js";
import { ruleFlags } from "../../limits/rule-flags.js";
import { usageFailure } from "../../session/command-failure.js";
import { type CommandFlags, jsonOption } from "../../session/command-flags.js";
import { bodyOrThrow, unreadableAnswer } from "../../session/daemon-answer.js";
import type { Session } from "../../session/terminal.js";
import { type AdminClient, withDaemon } from "../../session/with-daemon.js";
import { addWriteOptions, type LimitCommandTexts } from "./limit-commands.js";

type TestFlags = CommandFlags & SetFlags & { readonly days?: string };

/** Adds `test` to `limits`. */
export function addTestLimits(parent: Command, texts: LimitCommandTexts, session: Session): void {
  const test = parent
    .command("test")
    .description("report which recorded requests a rule would have refused; change nothing")
    .argument("<subject>", texts.subject);
  for (const { name } of budgetAmounts) test.addOption(new Option(`--${name} <usd>`).hideHelp());
  addWriteOptions(test, ruleFlags, texts)
    .option("--days <n>", "how many days until now (default: 7, at most 31)")
    .addHelpText(
      "after",
      `\nShort flags may be combined: each rule is tested separately. ${insteadOfBudget}`,
    )
    .addOption(jsonOption("print the answers of POST /admin/rate-limits/test"))
    .action((subject: string, _options, command: Command) =>
      testLimits(session, subject, command.optsWithGlobals<TestFlags>()),
    );
}

const budgetAmounts = [...budgetFlags.shortFlags, ...budgetFlags.longFlags];
const insteadOfBudget =
  "Budgets aren't tested; for a daily one of $20 test --period day --cost 20.";

async function testLimits(session: Session, subject: string, flags: TestFlags): Promise<void> {
  const budgetFlag = budgetAmounts.find(({ name }) => Object.hasOwn(flags, name));
  if (budgetFlag !== undefined) {
    const message = `--${budgetFlag.name} is an amount of a budget. ${insteadOfBudget}`;
    throw usageFailure([{ message, param: `--${budgetFlag.name}` }]);
  }
  const { days, ...rule } = flags;
  const writes = writesFromFlags(ruleFlags, subject, rule);
  if (!writes.ok) throw usageFailure(writes.problems);
  const period = days === undefined ? {} : { days: numberOf(days) ?? days };
  const { terminal } = session;
  const tests = await withDaemon(session, flags, async (client) => {
    const done: object[] = [];
    for (const { body } of writes.value)
      done.push(
        await completeReport(client, { ...body, ...period }, (progress) =>
          terminal.showProgress?.(progress),
        ),
      );
    return done;
  });
  if (flags.json === true) return terminal.out(JSON.stringify({ tests }));
  const texts = writes.value.map(({ key }, i) => renderBackTest(key, { ...tests[i] }));
  terminal.out([...texts, backTestLimits].join("\n"));
}

/** Repeats the request until the report is complete. */
async function completeReport(
  client: AdminClient,
  question: object,
  show: (progress: string) => void,
): Promise<object> {
  for (let after: unknown = null; ; ) {
    const body = after === null ? question : { ...question, after };
    const report = bodyOrThrow(await client.call("rate-limits.test", body));
    const { next = null, progress } = isObject(report) ? report : {};
    if (!isObject(report) || typeof progress !== "number") throw unreadableAnswer("back-test");
    if (next === null) {
      show("");
      return report;
    }
    show(`${formatShare(progress)} of the records`);
    after = next;
  }
}
