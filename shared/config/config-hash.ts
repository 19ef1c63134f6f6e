/** By which two processes, or two scrapes, tell that they have the same configuration. Pure. */
import { createHash } from "node:crypto";
import type { Config } from "./config.js";

/** Names of fields that hold secrets, or may. A short hash must not help to guess one. */
const secretNames = /key|secret|token|password|headers|^url$/i;

/** Twelve hexadecimal digits of what is in force, secrets left out. */
export function configHash(config: Config): string {
  const text = JSON.stringify(config, (name, value: unknown) => {
    if (secretNames.test(name) && value !== null) return "set";
    // Of networks.
    return typeof value === "bigint" ? String(value) : value;
  });
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}
