/**
 * `sluice budgets …`: the five commands on budgets, their flags and their help. What they do is in
 * `run-limits.ts` and `budget-settings.ts`.
 */
import type { Command } from "commander";
import { anchorFields } from "../../shared/domain/reset-anchors.js";
import { anchorFlag, budgetFlags } from "../limits/budget-flags.js";
import type { KeyFlags, SetFlags } from "../limits/limit-flags.js";
import { budgetKind } from "../limits/limit-kind.js";
import type { Session } from "../session/terminal.js";
import { settleAnchors } from "./budget-settings.js";
import { type CommandFlags, jsonOption } from "./command-flags.js";
import {
  deleteLimit,
  type ListFlags,
  type ResetFlags,
  resetLimits,
  setLimits,
  showLimits,
} from "./run-limits.js";

/** Adds `budgets` to the program. */
export function addBudgets(program: Command, session: Session): void {
  const budgets = program
    .command("budgets")
    .description("list, set, delete and reset budgets in the running daemon");
  budgets
    .command("list")
    .description("the budgets with what was spent")
    .option("--scope <scope>", "only budgets of this scope: user_path or label")
    .option("--path <path>", "only budgets that apply to a caller with this user path")
    .addOption(jsonOption("print what GET /admin/budgets answers"))
    .action((_options, command: Command) =>
      showLimits(budgetKind, session, command.optsWithGlobals<CommandFlags & ListFlags>()),
    );

  const set = withKeyOptions(
    budgets
      .command("set")
      .description("create a budget or replace its amount; what was spent stays"),
  );
  for (const { name, meaning } of budgetFlags.longFlags) set.option(`--${name} <usd>`, meaning);
  set.option("--per-child", "a template: each direct child of the path has the amount for itself");
  for (const { name, meaning } of budgetFlags.shortFlags) set.option(`--${name} <usd>`, meaning);
  set
    .addHelpText(
      "after",
      "\nShort flags may be combined: several budgets are written, or none if one is invalid.",
    )
    .addOption(jsonOption("print the whole list afterwards"))
    .action((subject: string, _options, command: Command) =>
      setLimits(budgetKind, session, subject, command.optsWithGlobals<CommandFlags & SetFlags>()),
    );

  withKeyOptions(
    budgets
      .command("delete")
      .description("remove a budget; made again in the same period, it finds what was spent"),
  )
    .addOption(jsonOption("print the whole list afterwards"))
    .action((subject: string, _options, command: Command) =>
      deleteLimit(budgetKind, session, subject, command.optsWithGlobals<CommandFlags & KeyFlags>()),
    );

  withPeriodOptions(
    budgets
      .command("reset")
      .description("begin the running period of one budget anew, or of all")
      .argument("[subject]", "user path or label"),
  )
    .option("--all", "every budget")
    .option("--yes", "don't ask before resetting all")
    .addOption(jsonOption("print the whole list afterwards"))
    .action((subject: string | undefined, _options, command: Command) =>
      resetLimits(
        budgetKind,
        session,
        subject,
        command.optsWithGlobals<CommandFlags & ResetFlags>(),
      ),
    );

  const settings = budgets
    .command("settings")
    .description(
      "show when days, weeks and months of budgets begin, in UTC; with flags, change it",
    );
  for (const { name, meaning, min, max } of anchorFields)
    settings.option(`${anchorFlag(name).flag} <n>`, `${meaning} (${min} to ${max})`);
  settings
    .addOption(jsonOption("print what GET /admin/budgets/settings answers"))
    .action((_options, command: Command) =>
      settleAnchors(
        session,
        command.optsWithGlobals<CommandFlags & Readonly<Record<string, unknown>>>(),
      ),
    );
}

function withKeyOptions(command: Command): Command {
  return withPeriodOptions(
    command.argument("<subject>", "user path such as /team/app; or a label, with --scope"),
  );
}

function withPeriodOptions(command: Command): Command {
  return command
    .option("--scope <scope>", "user_path or label (default: user_path)")
    .option("--period <period>", "hourly, daily, weekly, monthly or a number of seconds")
    .option("--period-seconds <n>", "the period in seconds; 2592000 is the calendar month");
}
