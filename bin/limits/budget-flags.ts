/** The flags of `sluice budgets set` and `settings`. Pure. */
import { amountOf, numberOf } from "../../shared/config/kinds/number-kinds.js";
import { type BudgetScope, budgetGrammar, parseBudgetWrite } from "../../shared/domain/budget.js";
import {
  type AnchorField,
  anchorFields,
  defaultAnchors,
  parseAnchors,
} from "../../shared/domain/reset-anchors.js";
import type { ArgumentProblem, FromArguments } from "../session/command-failure.js";
import type { FlagForm } from "./limit-flags.js";

export const budgetFlags: FlagForm<BudgetScope> = {
  grammar: budgetGrammar,
  otherScopes: "for a label add --scope label",
  longFlags: [{ name: "amount", field: "amount", meaning: "US dollars per period" }],
  shortFlags: ["hourly", "daily", "weekly", "monthly"].map((name) => ({
    name,
    period: { period: name },
    field: "amount",
    meaning: `US dollars, ${name}`,
  })),
  switches: [
    {
      flag: "--unpriced <allow|refuse>",
      key: "unpriced",
      field: "unpriced",
      meaning: "whether callers may use models without a price (default: budgets.unpriced)",
    },
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
): FromArguments<Readonly<Record<string, unknown>>> {
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
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: body };
}
