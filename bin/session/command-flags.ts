/** The flags that several commands have in common. */
import { Option } from "commander";
import { parseUserPath } from "../../shared/domain/limit-key.js";
import type { TableView } from "../text/table.js";
import type { ParsedArguments } from "./command-failure.js";
import type { Session } from "./terminal.js";
import type { DaemonFlags } from "./with-daemon.js";

/** The flags of every command that prints a result. */
export interface CommandFlags extends DaemonFlags {
  /** Print the result, and an error, as JSON. */
  readonly json?: boolean;
  /** Tables as wide as they need. */
  readonly wide?: boolean;
}

/** How tables are shown where the command prints. */
export function tableView(
  { terminal: { columns, colour } }: Pick<Session, "terminal">,
  { wide }: Pick<CommandFlags, "wide">,
): TableView {
  return { width: wide === true ? null : columns, colour };
}

/** `--json`, spelt the same for all commands. */
export function jsonOption(description: string): Option {
  return new Option("--json", description);
}

/** `--limit`: an integer from 1 to `max`. */
export function limitFromFlag(
  text: string | undefined,
  { byDefault, max }: { readonly byDefault: number; readonly max: number },
): ParsedArguments<number> {
  const limit = text === undefined ? byDefault : Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= max) return { ok: true, value: limit };
  const message = `--limit must be a number from 1 to ${max}, not ${JSON.stringify(text)}`;
  return { ok: false, problems: [{ message, param: "--limit" }] };
}

/** The normalized path that `--path` names, or another flag; `/` without it. */
export function pathFromFlag(text: string | undefined, flag = "--path"): ParsedArguments<string> {
  const path = parseUserPath(text ?? "/", flag);
  return path.ok ? path : { ok: false, problems: [path.failure] };
}
