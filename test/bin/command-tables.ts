/** The generated parts of docs/reference/command-line.md, from the commands themselves. */
import {
  allNodes,
  type CommandNode,
  type FlagNode,
  treeOf,
} from "../../bin/completion/command-tree.js";
import { examples } from "../../bin/examples.js";
import { budgetFlags } from "../../bin/limits/budget-flags.js";
import { onExhaustedFlag } from "../../bin/limits/limit-flags.js";
import { ruleFlags } from "../../bin/limits/rule-flags.js";
import { createProgram } from "../../bin/program.js";
import { code, grouped } from "../support/markdown-table.js";
import { sessionForTests } from "./command-session.js";

/** The commands of each section of the page. Those in none are in its last section. */
const sections = {
  gateway_commands: ["up", "reload", "init", "config", "doctor", "verify"],
  limits_commands: ["limits"],
  budgets_commands: ["budgets"],
  keys_commands: ["keys", "jwts"],
  live_commands: [
    "explain",
    "status",
    "top",
    "tenant",
    "tenants",
    "in-flight",
    "queues",
    "request",
    "requests",
    "sessions",
    "audit",
    "tail",
    "providers",
    "alerts",
    "prices",
  ],
  usage_commands: ["usage", "reconcile"],
  store_commands: ["backup", "restore", "verify-store"],
};

const tree = (): CommandNode => treeOf(createProgram(sessionForTests().session));

export function globalFlags(): string {
  return tree().flags.map(flagLine).join("");
}

const placed = Object.values(sections).flat();

export const commandSections: Readonly<Record<string, () => string>> = {
  ...Object.fromEntries(
    Object.entries(sections).map(([name, commands]) => [
      name,
      () => textOf((command) => commands.includes(command)),
    ]),
  ),
  other_commands: () => textOf((command) => !placed.includes(command)),
};

/** The commands that do more than hold others, in the order of the page. */
function shownCommands(): readonly CommandNode[] {
  const groups = Object.values(sections);
  const sectionOf = ({ name }: CommandNode): number => {
    const section = groups.findIndex((commands) => commands.includes(name));
    return section === -1 ? groups.length : section;
  };
  return [...tree().children]
    .sort((one, other) => sectionOf(one) - sectionOf(other))
    .flatMap(allNodes)
    .filter(({ children: inner, flags }) => inner.length === 0 || flags.length > 0);
}

/** Those whose first words are taken. */
function textOf(isTaken: (firstWord: string) => boolean): string {
  const shown = shownCommands();
  return shown
    .map((node, at) =>
      isTaken(node.name.split(" ")[0]!) ? commandText(node, shown.slice(0, at)) : "",
    )
    .filter((text) => text !== "")
    .join("\n");
}

function commandText(node: CommandNode, before: readonly CommandNode[]): string {
  const { name, description } = node;
  const twin = before.find((other) => isTwin(other, node));
  if (twin !== undefined)
    return `### sluice ${name}\n\nAs ${linkTo(twin)}, for ${lastWord(name)}.\n`;
  // `--help` has the others. One with nothing but flags says no more than their list.
  const example = (examples[name] ?? []).find((line) => isTelling(line, name));
  const shown = example === undefined ? "." : `. ${code(example)}`;
  const listed = flagLines(node, before);
  return [
    `### sluice ${name}\n\n${description[0]?.toUpperCase()}${description.slice(1)}${shown}\n`,
    listed === "" ? "" : `\n${listed}`,
  ].join("");
}

const lastWord = (name: string): string => name.slice(name.lastIndexOf(" ") + 1);

/** Whether a command does the same for something else, which its last word names. */
function isTwin(one: CommandNode, other: CommandNode): boolean {
  const said = one.description.replaceAll(lastWord(one.name), lastWord(other.name));
  const flagsOf = ({ flags }: CommandNode): string => flags.map(flagLine).join("");
  return said === other.description && one !== other && flagsOf(one) === flagsOf(other);
}

/** Whether it shows more than flags: an argument, or where the output goes. */
function isTelling(example: string, name: string): boolean {
  const flags = new RegExp(`^sluice ${name}(?: --[^|>]*)?$`);
  return !flags.test(example);
}

/**
 * Flags that an earlier command of the page explains are only named, if they are several; if
 * there is an earlier command with the same names, its name says which.
 */
function flagLines({ name, flags: all }: CommandNode, before: readonly CommandNode[]): string {
  const flags = all.filter((flag) => !isCommon(flag));
  const common = all.filter((flag) => isCommon(flag) && flag.long !== "--yes").map(commonFlag);
  const ofOther = new Map<CommandNode, FlagNode[]>();
  for (const flag of flags) {
    const other = before.find((node) => node.flags.some((known) => isSame(known, flag)));
    if (other !== undefined) ofOther.set(other, [...(ofOther.get(other) ?? []), flag]);
  }
  const groups = [...ofOther].filter(([, same]) => same.length > 1);
  const named = groups.flatMap(([, same]) => same);
  const own = flags.filter((flag) => !named.includes(flag) && !isPlainJson(flag));
  const isField = ({ long }: FlagNode): boolean => name.endsWith(" set") && flagsOfFields.has(long);
  return [
    ...together(own.filter((flag) => !isField(flag))),
    ...fieldFlags(own.filter(isField)),
    ...groups.map(([node, same]) => {
      const shown = same.filter((flag) => !isPlainJson(flag));
      return `- ${rangesOf(node, shown)}: as in ${linkTo(node)}\n`;
    }),
    common.length === 0 ? "" : `- also ${common.join(", ")}\n`,
  ].join("");
}

/** The page explains these flags once, for all commands. */
function isCommon({ long, description }: FlagNode): boolean {
  const words = commonWords.get(long);
  return words !== undefined && description.startsWith(words);
}

const commonWords: ReadonlyMap<string, string> = new Map([
  ["--path", "on this user path and below it"],
  ["--from", ""],
  ["--to", "t"],
  ["--last", ""],
  ["--days", "the last n "],
  ["--month", ""],
  ["--limit", ""],
  ["--yes", "don't ask"],
]);

function commonFlag({ long, description }: FlagNode): string {
  const [, byDefault] = /\(default: (\w+)\)$/.exec(description) ?? [];
  const isSaid = byDefault === undefined || (long === "--to" && byDefault === "now");
  return isSaid ? code(long) : `${code(long)} (default: ${byDefault})`;
}

/** Those that set a field which the page on the configuration explains; `--help` does, too. */
const flagsOfFields: ReadonlySet<string> = new Set([
  "--per-child",
  ...[ruleFlags, budgetFlags].flatMap(({ longFlags, switches }) => [
    ...longFlags.map(({ name }) => `--${name}`),
    ...switches
      .filter((each) => each !== onExhaustedFlag)
      .map(({ flag }) => flag.replace(/ .*/, "")),
  ]),
]);

function fieldFlags(flags: readonly FlagNode[]): readonly string[] {
  if (flags.length === 0) return [];
  const isOfBudget = flags.some(({ long }) => long === "--amount");
  const page = isOfBudget
    ? "[a budget](configuration.md#budget-entries)"
    : "[a rule](configuration.md#rules), caps without their `max_`";
  return [`- ${flags.map(({ usage }) => code(usage)).join(", ")}: the fields of ${page}\n`];
}

const linkTo = ({ name }: CommandNode): string => `[${name}](#sluice-${name.replaceAll(" ", "-")})`;

/** Flags by name; four or more that follow each other in the command by the first and the last. */
function rangesOf(node: CommandNode, flags: readonly FlagNode[]): string {
  const order = node.flags.filter((flag) => !isPlainJson(flag)).map(({ long }) => long);
  const runs: string[][] = [];
  for (const { long } of flags) {
    const run = runs.at(-1);
    if (run !== undefined && order.indexOf(long) === order.indexOf(run.at(-1)!) + 1) run.push(long);
    else runs.push([long]);
  }
  return runs
    .map((run) =>
      run.length < 4 ? run.map(code).join(", ") : `${code(run[0]!)} to ${code(run.at(-1)!)}`,
    )
    .join(", ");
}

/**
 * Flags for the same by another period, such as `--rpm` and `--rph`, share a line; so do those with
 * the same words.
 */
function together(flags: readonly FlagNode[]): readonly string[] {
  const period = / per (minute|hour|day)$|, (\w+ly)$/;
  const kindOf = ({ description }: FlagNode): string => description.replace(period, "");
  return grouped(flags, kindOf).map(([kind, alike]) => {
    const usages = alike.map(({ usage }) => code(usage)).join(", ");
    if (alike.every(({ description }) => description === alike[0]!.description))
      return `- ${usages}: ${alike[0]!.description}\n`;
    const periods = alike.map(({ description }) => {
      const [, each, often] = period.exec(description)!;
      return each ?? often!;
    });
    const per = / per /.test(alike[0]!.description) ? " per" : ",";
    return `- ${usages}: ${kind}${per} ${listed(periods)}\n`;
  });
}

const listed = (words: readonly string[]): string =>
  `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;

/** The page says once what `--json` does. */
function isPlainJson({ long }: FlagNode): boolean {
  return long === "--json";
}

function isSame(one: FlagNode, other: FlagNode): boolean {
  return one.usage === other.usage && one.description === other.description;
}

function flagLine({ usage, description }: FlagNode): string {
  return `- ${code(usage)}: ${description}\n`;
}
