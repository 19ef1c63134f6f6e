/**
 * `sluice budgets …`: the commands on budgets, as texts, and `budgets settings`. The flags of the
 * others are in `limit-commands.ts`; what the commands do is in `run-limits.ts` and
 * `budget-anchors.ts`.
 */
import type { Command } from "commander";
import { anchorFields } from "../../../shared/domain/reset-anchors.js";
import { anchorFlag } from "../../limits/budget-flags.js";
import { budgetKind } from "../../limits/limit-kind.js";
import { jsonOption } from "../../session/command-flags.js";
import type { Session } from "../../session/terminal.js";
import { type AnchorFlags, showOrSetAnchors } from "./budget-anchors.js";
import { checkForecasts, type ForecastFlags } from "./budget-forecast.js";
import { addLimitCommands, type LimitCommandTexts } from "./limit-commands.js";

const texts: LimitCommandTexts = {
  list: "list the budgets with what was spent",
  set: "create a budget or replace its amount; what was spent stays",
  raise: "raise the amount of a budget, or of one child of a template, for a time",
  delete: "remove a budget; created again in the same period, it starts with what was spent",
  revert: "restore the configuration's version of a budget that was edited by hand",
  reset: "restart the running period of one budget, or of all",
  subject: "user path such as /team/app; or a label, with --scope",
  resetSubject: "user path or label",
  listScope: "only budgets of this scope: user_path, label, provider or model",
  listFor: "only budgets that apply to a caller with this user path",
  listJson: "print the response of GET /admin/budgets",
  scope: "user_path, label, provider or model (default: user_path)",
  period: "hourly, daily, weekly, monthly, quarterly, yearly, session or a number of seconds",
  periodSeconds:
    "the period in seconds; 0 is a session; 2592000, 7776000 and 31536000 are the calendar month, quarter and year",
  models:
    "only these models of a user path, such as 'claude-opus-*,openai/*', or '*,!gpt-4o-mini' for all others",
  perChild: "a template: each direct child of the path has the amount for itself",
  valueName: "usd",
  setHelp: "Short flags may be combined: several budgets are written, or none if one is invalid.",
  resetAll: "every budget",
};

/** Adds `budgets` to the program. */
export function addBudgets(program: Command, session: Session): void {
  const budgets = program
    .command("budgets")
    .description("list, set, raise, delete and reset budgets in the running daemon");
  addLimitCommands(budgets, budgetKind, texts, session);

  budgets
    .command("forecast")
    .description("say how wrong forecasts of past periods were, by this host's records")
    .option("--check", "compare forecasts at several moments of each period with its real spend")
    .addOption(jsonOption("print the figures as an object"))
    .action((_options, command: Command) =>
      checkForecasts(session, command.optsWithGlobals<ForecastFlags>()),
    );

  const settings = budgets
    .command("settings")
    .description("show when days, weeks and months of budgets begin; with flags, change it");
  for (const { name, meaning, min, max } of anchorFields)
    settings.option(`${anchorFlag(name).flag} <n>`, `${meaning} (${min} to ${max})`);
  settings.option("--time-zone <zone>", "time zone of budgets without their own (default: UTC)");
  settings
    .addOption(jsonOption("print the response of GET /admin/budgets/settings"))
    .action((_options, command: Command) =>
      showOrSetAnchors(session, command.optsWithGlobals<AnchorFlags>()),
    );
}
