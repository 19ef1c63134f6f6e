/** The flags that several commands share. */
import { Option } from "commander";
import type { ConfigurationFlags } from "../configuration.js";

/** What every command that prints a result is given. */
export interface CommandFlags extends ConfigurationFlags {
  /** Print the result, and an error, as JSON. */
  readonly json?: boolean;
}

/** The one spelling of `--json`. */
export function jsonOption(description: string): Option {
  return new Option("--json", description);
}
