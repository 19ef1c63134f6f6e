/**
 * `sluice limits …`: the four commands on rules, their flags and their help. What they do is in
 * `run-limits.ts`.
 */
import type { Command } from "commander";
import type { KeyFlags, SetFlags } from "../limits/limit-flags.js";
import { ruleKind } from "../limits/limit-kind.js";
import { ruleFlags } from "../limits/rule-flags.js";
import type { Session } from "../session/terminal.js";
import { type CommandFlags, jsonOption } from "./command-flags.js";
import {
  deleteLimit,
  type ListFlags,
  type ResetFlags,
  resetLimits,
  setLimits,
  showLimits,
} from "./run-limits.js";

/** Adds `limits` to the program. */
export function addLimits(program: Command, session: Session): void {
  const limits = program
    .command("limits")
    .description("list, set, delete and reset rate limit rules in the running daemon");
  limits
    .command("list")
    .description("the rules with their live counters")
    .option("--scope <scope>", "only rules of this scope: user_path, provider or model")
    .option("--path <path>", "only rules that apply to a caller with this user path")
    .addOption(jsonOption("print what GET /admin/rate-limits answers"))
    .action((_options, command: Command) =>
      showLimits(ruleKind, session, command.optsWithGlobals<CommandFlags & ListFlags>()),
    );

  const set = withKeyOptions(
    limits
      .command("set")
      .description("create a rule or replace its caps; a cap that isn't given is removed"),
  );
  for (const { name, meaning } of ruleFlags.longFlags) set.option(`--${name} <n>`, meaning);
  set.option("--per-child", "a template: each direct child of the path has counters of its own");
  for (const { name, meaning } of ruleFlags.shortFlags) set.option(`--${name} <n>`, meaning);
  set
    .addHelpText(
      "after",
      "\nShort flags may be combined: several rules are written, or none if one is invalid.",
    )
    .addOption(jsonOption("print the whole list afterwards"))
    .action((subject: string, _options, command: Command) =>
      setLimits(ruleKind, session, subject, command.optsWithGlobals<CommandFlags & SetFlags>()),
    );

  withKeyOptions(limits.command("delete").description("remove a rule and its counters"))
    .addOption(jsonOption("print the whole list afterwards"))
    .action((subject: string, _options, command: Command) =>
      deleteLimit(ruleKind, session, subject, command.optsWithGlobals<CommandFlags & KeyFlags>()),
    );

  const reset = limits
    .command("reset")
    .description("clear the live counters of one rule, or of all")
    .argument("[subject]", "user path, provider or model");
  withPeriodOptions(reset)
    .option("--all", "every rule")
    .option("--yes", "don't ask before resetting all")
    .addOption(jsonOption("print the whole list afterwards"))
    .action((subject: string | undefined, _options, command: Command) =>
      resetLimits(ruleKind, session, subject, command.optsWithGlobals<CommandFlags & ResetFlags>()),
    );
}

function withKeyOptions(command: Command): Command {
  return withPeriodOptions(
    command.argument(
      "<subject>",
      "user path such as /team/app; or a provider's name or a model's id, with --scope",
    ),
  );
}

function withPeriodOptions(command: Command): Command {
  return command
    .option("--scope <scope>", "user_path, provider or model (default: user_path)")
    .option("--period <period>", "minute, hour, day, concurrent or a number of seconds")
    .option("--period-seconds <n>", "the period in seconds; 0 is concurrent");
}
