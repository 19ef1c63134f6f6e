/** The commands of the program as plain values, derived from commander's own tree. */
import type { Command } from "commander";
import { flagName, type Setting } from "../../shared/config/settings/setting.js";
import { settings } from "../../shared/config/settings/settings.js";
import { groupings } from "../../shared/wire/admin-op.js";

export interface CommandNode {
  /** Without the program's name; empty for the program itself: `limits set`. */
  readonly name: string;
  readonly description: string;
  /** As the help writes them: `<subject>`, `[name]`. */
  readonly args: readonly string[];
  readonly flags: readonly FlagNode[];
  readonly children: readonly CommandNode[];
}

export interface FlagNode {
  /** `--path` */
  readonly long: string;
  /** As the help writes it: `--path <path>`. */
  readonly usage: string;
  readonly takesValue: boolean;
  /** The value is required. */
  readonly needsValue: boolean;
  readonly description: string;
}

/** Hidden commands and flags aren't in it. */
export function treeOf(command: Command, name = ""): CommandNode {
  const children = command.commands.filter((child) => !hidden.has(child.name()));
  return {
    name,
    description: command.description(),
    args: command.registeredArguments.map((arg) =>
      arg.required ? `<${arg.name()}>` : `[${arg.name()}]`,
    ),
    flags: command.options.flatMap(({ long, flags, required, optional, description, hidden }) =>
      long == null || hidden
        ? []
        : [
            {
              long,
              usage: flags,
              takesValue: required || optional,
              needsValue: required,
              description,
            },
          ],
    ),
    children: children.map((child) => treeOf(child, `${name} ${child.name()}`.trim())),
  };
}

/** The command that scripts call for values. */
export const valuesCommand = "complete";
const hidden: ReadonlySet<string> = new Set([valuesCommand, "help"]);

/** The node and all below it. */
export function allNodes(node: CommandNode): readonly CommandNode[] {
  return [node, ...node.children.flatMap(allNodes)];
}

/** The last word of a command's name. */
export function lastWord({ name }: CommandNode): string {
  return name.slice(name.lastIndexOf(" ") + 1);
}

export type ValueKind = "subjects" | "keys" | "models" | "files";

/** The values that a flag may have; null: any. */
export function valuesOfFlag(long: string): ValueKind | null {
  return flagValues[long] ?? null;
}

const flagSettings = Object.values<Setting<unknown>>(settings).flatMap(({ flag, kind }) =>
  flag === null ? [] : [{ long: flagName(flag), kind }],
);

const flagValues: Readonly<Record<string, ValueKind>> = {
  ...Object.fromEntries(
    flagSettings.flatMap(({ long, kind }) => (kind.isPath === true ? [[long, "files"]] : [])),
  ),
  "--path": "subjects",
  "--for": "subjects",
  "--key": "keys",
  "--model": "models",
  "--config": "files",
  "--key-file": "files",
  "--output": "files",
  "--bundle": "files",
};

/** The values of a command's first argument; null: any. */
export function valuesOfArgument({ name, args }: CommandNode): ValueKind | null {
  const [first = ""] = args;
  if (/subject/.test(first)) return "subjects";
  if (/id/.test(first) && name.startsWith("keys")) return "keys";
  return /file/.test(first) ? "files" : null;
}

type FlagWords = readonly [long: string, command: string, words: readonly string[]];

/** Flags with a fixed set of values, for commands whose names begin with `command`. */
const flagWords: readonly FlagWords[] = [
  ["--scope", "limits", ["user_path", "provider", "model"]],
  ["--scope", "budgets", ["user_path", "label", "provider", "model"]],
  ["--period", "limits", ["minute", "hour", "day", "concurrent"]],
  ["--period", "budgets", ["hourly", "daily", "weekly", "monthly", "session"]],
  ["--by", "usage", groupings],
  ["--format", "usage", ["ndjson", "csv"]],
  ...flagSettings.flatMap(({ long, kind }): FlagWords[] =>
    kind.words === undefined ? [] : [[long, "", kind.words]],
  ),
];

/** The fixed values of a command's flag; null if it has none. */
export function wordsOfFlag({ name }: CommandNode, long: string): readonly string[] | null {
  const match = flagWords.find(([flag, command]) => flag === long && name.startsWith(command));
  return match === undefined ? null : match[2];
}

/** The fixed values of a command's first argument. */
export function wordsOfArgument({ name }: CommandNode): readonly string[] {
  return name === "completion" ? ["bash", "zsh", "fish"] : [];
}
