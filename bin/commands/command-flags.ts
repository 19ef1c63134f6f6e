/** The flags that several commands share. */
import { Option } from "commander";
import { normalizeUserPath } from "../../shared/user-path.js";
import type { ConfigurationFlags } from "../configuration.js";
import type { FromFlags } from "../limit-flags.js";

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
export function pathFromFlag(typed: string | undefined): FromFlags<string> {
  const path = normalizeUserPath(typed ?? "/");
  if (path.ok) return { ok: true, value: path.path };
  return { ok: false, problems: [{ message: `--path ${path.reason}, not ${JSON.stringify(typed)}`, param: "--path" }] };
}
