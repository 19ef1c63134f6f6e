/** By which two processes, or two scrapes, tell that they have the same configuration. Pure. */
import { createHash } from "node:crypto";
import type { Config } from "./config.js";

/** Names of fields whose texts, or those within, are secrets or may be. */
const secretNames = /key|secret|token|password|^headers$|spanHeaders|^url$/i;

/** Twelve hexadecimal digits of what is in force. A short hash must not help to guess a secret. */
export function configHash(config: Config): string {
  const text = JSON.stringify(config, (name, value: unknown) => {
    // Addresses of networks.
    if (typeof value === "bigint") return String(value);
    // Numbers are caps of tokens.
    const mayBeSecret = typeof value === "string" || (typeof value === "object" && value !== null);
    return mayBeSecret && secretNames.test(name) ? "set" : value;
  });
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}
