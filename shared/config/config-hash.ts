/** A hash by which two processes, or two scrapes, recognize the same configuration. Pure. */
import { createHash } from "node:crypto";
import type { Config } from "./config.js";

/** Names of fields that are or contain secrets, or may. */
const secretNames = /key|secret|token|password|^headers$|spanHeaders|^url$/i;

/** Twelve hexadecimal digits. Secrets are excluded: a short hash must not help to guess one. */
export function configHash(config: Config): string {
  const text = JSON.stringify(config, (name, value: unknown) => {
    // Network addresses.
    if (typeof value === "bigint") return String(value);
    // Numbers here are token caps.
    const mayBeSecret = typeof value === "string" || (typeof value === "object" && value !== null);
    return mayBeSecret && secretNames.test(name) ? "set" : value;
  });
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}
