/** The flags that several commands have in common. */
import { Option } from "commander";
import { parseUserPath } from "../../shared/domain/limit-key.js";
import type { FromArguments } from "./command-failure.js";
import type { DaemonFlags } from "./with-daemon.js";

/** The flags of every command that prints a result. */
export interface CommandFlags extends DaemonFlags {
  /** Print the result, and an error, as JSON. */
  readonly json?: boolean;
}

/** `--json`, spelt the same for all commands. */
export function jsonOption(description: string): Option {
  return new Option("--json", description);
}

/** The normalized path that `--path` names; `/` without it. */
export function pathFromFlag(typed: string | undefined): FromArguments<string> {
  const path = parseUserPath(typed ?? "/", "--path");
  return path.ok ? path : { ok: false, problems: [path.failure] };
}
