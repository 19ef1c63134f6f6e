/**
 * `sluice limits …`: the commands on rate limit rules, as texts. Their flags are in
 * `limit-commands.ts`; what they do is in `run-limits.ts`, in `test-limits.ts`, and in
 * `limits-export.ts` and `limits-apply.ts`.
 */
import type { Command } from "commander";
import type { KeyFlags } from "../../limits/limit-flags.js";
import { ruleKind } from "../../limits/limit-kind.js";
import { type CommandFlags, jsonOption } from "../../session/command-flags.js";
import type { Session } from "../../session/terminal.js";
import { enforceRule } from "./enforce-rule.js";
import { addKeyOptions, addLimitCommands, type LimitCommandTexts } from "./limit-commands.js";
import { addLimitsApply } from "./limits-apply.js";
import { addLimitsExport } from "./limits-export.js";
import { addTestLimits } from "./test-limits.js";

const texts: LimitCommandTexts = {
  list: "list the rules with their live counters",
  set: "create a rule or replace its caps; a cap that isn't given is removed",
  delete: "remove a rule and its counters",
  revert: "restore the configuration's version of a rule that was edited by hand",
  raise: "raise the caps of a rule, or of one child of a template, for a time",
  reset: "clear the live counters of one rule, or of all",
  subject: "user path such as /team/app; or a provider's name or a model's id, with --scope",
  resetSubject: "user path, provider or model",
  listScope: "only rules of this scope: user_path, provider or model",
  listFor: "only rules that apply to a caller with this user path",
  listJson: "print the response of GET /admin/rate-limits",
  upstream: "instead of rules, what providers report of their own limits",
  scope: "user_path, provider or model (default: user_path)",
  period: "minute, hour, day, concurrent or a number of seconds",
  periodSeconds: "the period in seconds; 0 is concurrent",
  when: "the hours within which it counts and refuses, such as 'mon-fri 09:00-17:00 Europe/Berlin'",
  shadow: "the shadow rule: it refuses nothing and notes what it would refuse",
  models:
    "only these models of a user path, such as 'claude-opus-*,openai/*', or '*,!gpt-4o-mini' for all others",
  perChild: "a template: each direct child of the path has its own counters",
  valueName: "n",
  setHelp: "Short flags may be combined: several rules are written, or none if one is invalid.",
  resetAll: "every rule",
};

/** Adds `limits` to the program. */
export function addLimits(program: Command, session: Session): void {
  const limits = program
    .command("limits")
    .description(
      "rules in the running daemon: list, set, test, enforce, raise, delete, revert, reset; with budgets: export, apply",
    );
  addLimitCommands(limits, ruleKind, texts, session);
  addTestLimits(limits, texts, session);
  const { shadow: _, ...ofEnforced } = texts;
  const enforce = limits
    .command("enforce")
    .description("make a shadow rule the enforced one, with its caps and windows")
    .argument("<subject>", texts.subject);
  addKeyOptions(enforce, ofEnforced)
    .addOption(jsonOption("print the complete list afterwards"))
    .action((subject: string, _options, command: Command) =>
      enforceRule(session, subject, command.optsWithGlobals<CommandFlags & KeyFlags>()),
    );
  addLimitsExport(limits, session);
  addLimitsApply(limits, session);
}
