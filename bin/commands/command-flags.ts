/** The flags that several commands share. */
import { Option } from "commander";
import { parseUserPath } from "../../shared/domain/limit-key.js";
import type { FromArguments } from "../session/command-failure.js";
import type { ConfigurationFlags } from "../session/configuration.js";

/** What every command that prints a result is given. */
export interface CommandFlags extends ConfigurationFlags {
  /** Print the result, and an error, as JSON. */
  readonly json?: boolean;
}

/** The one spelling of `--json`. */
export function jsonOption(description: string): Option {
  return new Option("--json", description);
}

/** The normal path that `--path` names; `/` without it. */
export function pathFromFlag(typed: string | undefined): FromArguments<string> {
  const path = parseUserPath(typed ?? "/", "--path");
  return path.ok ? path : { ok: false, problems: [path.failure] };
}
