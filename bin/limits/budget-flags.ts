/** The flags of `sluice budgets set` and `settings`. Pure. */

import { boolean } from "../../shared/config/kinds/choice-kinds.js";
import { amountOf, numberOf } from "../../shared/config/kinds/number-kinds.js";
import { type BudgetScope, budgetGrammar, parseBudgetWrite } from "../../shared/domain/budget.js";
import {
  type AnchorField,
  anchorFields,
  defaultAnchors,
  parseAnchors,
} from "../../shared/domain/reset-anchors.js";
import { parseTimeZone } from "../../shared/domain/time-zone.js";
import type { ArgumentProblem, ParsedArguments } from "../session/command-failure.js";
import { type FlagForm, holdFlag, onExhaustedFlag } from "./limit-flags.js";

export const budgetFlags: FlagForm<BudgetScope> = {
  grammar: budgetGrammar,
  otherScopes:
    "for a label, a provider or a model add --scope label, --scope provider or --scope model",
  longFlags: [{ name: "amount", field: "amount", meaning: "US dollars per period" }],
  shortFlags: [
    ...["hourly", "daily", "weekly", "monthly", "quarterly", "yearly"].map((name) => ({
      name,
      period: { period: name },
      field: "amount",
      meaning: `US dollars, ${name}`,
    })),
    {
      name: "session",
      period: { period: "session" },
      field: "amount",
      meaning: "US dollars for each session of an agent",
    },
  ],
  switches: [
    {
      flag: "--unpriced <allow|refuse>",
      key: "unpriced",
      field: "unpriced",
      meaning: "whether callers may use models without a price (default: budgets.unpriced)",
    },
    {
      flag: "--time-zone <zone>",
      key: "timeZone",
      field: "time_zone",
      meaning:
        "where days, weeks, months, quarters and years begin, such as Europe/Berlin (default: that of budgets settings)",
    },
    {
      flag: "--anchor-day <n>",
      key: "anchorDay",
      field: "anchor_day",
      meaning:
        "day on which months, quarters and years begin, 1 to 31; in a shorter month its last day",
      read: numberOf,
    },
    {
      flag: "--rolling [true|false]",
      key: "rolling",
      field: "rolling",
      meaning: "the spend of the last period counts at any time, without a fixed end",
      read: (text) => boolean.parse(text),
    },
    {
      flag: "--rollover <part>",
      key: "rollover",
      field: "rollover",
      meaning: "the part of the amount left over that the next period gets in addition, 0 to 1",
      read: numberOf,
    },
    onExhaustedFlag,
    holdFlag,
  ],
  readNumber: amountOf,
  parse: parseBudgetWrite,
};

/** The flag of an anchor, `--daily-reset-hour`, and commander's name for it, `dailyResetHour`. */
export function anchorFlag(name: AnchorField): { readonly flag: string; readonly key: string } {
  return {
    flag: `--${name.replaceAll("_", "-")}`,
    key: name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
  };
}

/** The anchors that `budgets settings` should change; none if it only shows them. */
export function anchorsFromFlags(
  flags: Readonly<Record<string, unknown>>,
): ParsedArguments<Readonly<Record<string, unknown>>> {
  const problems: ArgumentProblem[] = [];
  const body: Record<string, unknown> = {};
  for (const { name } of anchorFields) {
    const { flag, key } = anchorFlag(name);
    const text = flags[key];
    if (typeof text !== "string") continue;
    body[name] = numberOf(text) ?? text;
    const checked = parseAnchors({ [name]: body[name] }, defaultAnchors);
    if (!checked.ok)
      problems.push({ message: checked.failure.message.replace(name, flag), param: flag });
  }
  const { timeZone } = flags;
  if (typeof timeZone === "string") {
    const checked = parseTimeZone(timeZone, "--time-zone");
    if (checked.ok) body["time_zone"] = checked.value;
    else problems.push({ message: checked.failure.message, param: "--time-zone" });
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: body };
}
