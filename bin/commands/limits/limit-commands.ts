/**
 * The commands on rules and on budgets alike, `list`, `set`, `delete`, `revert` and `reset`: their
 * flags and their help. The texts in which the two differ are in `limits.ts` and `budgets.ts`; what
 * the commands do is in `run-limits.ts`.
 */
import type { Command } from "commander";
import type { FlagForm, KeyFlags, SetFlags } from "../../limits/limit-flags.js";
import type { LimitKind } from "../../limits/limit-kind.js";
import { type CommandFlags, jsonOption } from "../../session/command-flags.js";
import type { Session } from "../../session/terminal.js";
import { type RaiseFlags, raiseLimit } from "./raise-limit.js";
import { revertLimit } from "./revert-limit.js";
import {
  deleteLimit,
  type ListFlags,
  type ResetFlags,
  resetLimits,
  setLimits,
  showLimits,
} from "./run-limits.js";

/** The descriptions of the commands and of their flags. */
export interface LimitCommandTexts {
  readonly list: string;
  readonly set: string;
  readonly delete: string;
  readonly revert: string;
  readonly raise: string;
  readonly reset: string;
  /** The argument of `set` and `delete`, and that of `reset`. */
  readonly subject: string;
  readonly resetSubject: string;
  readonly listScope: string;
  readonly listFor: string;
  readonly listJson: string;
  readonly scope: string;
  readonly period: string;
  readonly periodSeconds: string;
  readonly models: string;
  /** Only rules have it. */
  readonly upstream?: string;
  /** Only rules have it. */
  readonly when?: string;
  /** Only rules have it. */
  readonly shadow?: string;
  readonly perChild: string;
  /** The unit of the values of `set`, in the help: `n`, `usd`. */
  readonly valueName: string;
  /** The last lines of the help of `set`. */
  readonly setHelp: string;
  readonly resetAll: string;
}

/** Adds these commands to `parent`. */
export function addLimitCommands<S extends string>(
  parent: Command,
  kind: LimitKind<S>,
  texts: LimitCommandTexts,
  session: Session,
): void {
  const list = parent
    .command("list")
    .description(texts.list)
    .option("--scope <scope>", texts.listScope)
    .option("--path <path>", "on this user path and below it")
    .option("--for <path>", texts.listFor)
    .option("--sort <order>", "name, or used: the fullest first, children of templates too")
    .option(
      "--children [n]",
      "below each template, the n children that have used most (default: 10)",
    )
    .option(
      "--watch [time]",
      "print the list again at this interval, such as 5s, until Ctrl-C (default: 2s)",
    )
    .addOption(jsonOption(texts.listJson))
    .action((_options, command: Command) =>
      showLimits(kind, session, command.optsWithGlobals<CommandFlags & ListFlags>()),
    );
  if (texts.upstream !== undefined) list.option("--upstream", texts.upstream);

  const set = parent.command("set").description(texts.set).argument("<subject>", texts.subject);
  addWriteOptions(set, kind.flags, texts)
    .addHelpText("after", `\n${texts.setHelp}`)
    .addOption(jsonOption("print the complete list afterwards"))
    .action((subject: string, _options, command: Command) =>
      setLimits(kind, session, subject, command.optsWithGlobals<CommandFlags & SetFlags>()),
    );

  const remove = parent
    .command("delete")
    .description(texts.delete)
    .argument("<subject>", texts.subject);
  addKeyOptions(remove, texts)
    .addOption(jsonOption("print the complete list afterwards"))
    .action((subject: string, _options, command: Command) =>
      deleteLimit(kind, session, subject, command.optsWithGlobals<CommandFlags & KeyFlags>()),
    );

  const revert = parent
    .command("revert")
    .description(texts.revert)
    .argument("<subject>", texts.subject);
  addKeyOptions(revert, texts)
    .addOption(jsonOption("print the complete list afterwards"))
    .action((subject: string, _options, command: Command) =>
      revertLimit(kind, session, subject, command.optsWithGlobals<CommandFlags & KeyFlags>()),
    );

  const raise = parent
    .command("raise")
    .description(texts.raise)
    .argument("<subject>", texts.subject);
  addKeyOptions(raise, texts);
  addValueOptions(raise, kind.flags, texts)
    .option("--for <time>", "how long, such as 2h; then the limit's own values apply again")
    .option("--reason <text>", "why, for the list and the log")
    .option("--by <name>", "who (default: the name of the local user)")
    .option("--end", "end a raise now")
    .addOption(jsonOption("print the complete list afterwards"))
    .action((subject: string, _options, command: Command) =>
      raiseLimit(
        kind,
        session,
        subject,
        command.optsWithGlobals<CommandFlags & SetFlags & RaiseFlags>(),
      ),
    );

  const reset = parent
    .command("reset")
    .description(texts.reset)
    .argument("[subject]", texts.resetSubject);
  addKeyOptions(reset, texts)
    .option("--all", texts.resetAll)
    .option("--yes", "don't ask before resetting all")
    .addOption(jsonOption("print the complete list afterwards"))
    .action((subject: string | undefined, _options, command: Command) =>
      resetLimits(kind, session, subject, command.optsWithGlobals<CommandFlags & ResetFlags>()),
    );
}

/** The flags that say what a rule or a budget limits, and to how much. */
export function addWriteOptions<S extends string>(
  command: Command,
  form: FlagForm<S>,
  texts: LimitCommandTexts,
): Command {
  addKeyOptions(command, texts);
  addValueOptions(command, { ...form, shortFlags: [] }, texts);
  command.option("--per-child", texts.perChild);
  for (const { flag, meaning } of form.switches) command.option(flag, meaning);
  return addValueOptions(command, { ...form, longFlags: [] }, texts);
}

/** The flags of the values, with the period apart and together with it. */
function addValueOptions<S extends string>(
  command: Command,
  { longFlags, shortFlags }: FlagForm<S>,
  texts: LimitCommandTexts,
): Command {
  for (const { name, meaning } of [...longFlags, ...shortFlags])
    command.option(`--${name} <${texts.valueName}>`, meaning);
  return command;
}

/** The flags that name a rule or a budget beside its subject. */
export function addKeyOptions(command: Command, texts: LimitCommandTexts): Command {
  command
    .option("--scope <scope>", texts.scope)
    .option("--period <period>", texts.period)
    .option("--period-seconds <n>", texts.periodSeconds)
    .option("--models <models>", texts.models);
  if (texts.when !== undefined) command.option("--when <hours>", texts.when);
  if (texts.shadow !== undefined) command.option("--shadow", texts.shadow);
  return command;
}
