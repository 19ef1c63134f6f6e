/** The outcome of a reload: for the log, for `sluice reload` and its exit code. */

export type ReloadOutcome =
  | { readonly ok: true; readonly lines: readonly string[] }
  | {
      readonly ok: false;
      readonly exitCode: number;
      /** The reason, and which services run with the new configuration if only some do. */
      readonly lines: readonly string[];
    };

/** Null for any other value, such as an answer of another release. */
export function outcomeFrom(value: unknown): ReloadOutcome | null {
  if (typeof value !== "object" || value === null || !("ok" in value) || !("lines" in value))
    return null;
  const { ok, lines } = value;
  if (!Array.isArray(lines) || !lines.every((line) => typeof line === "string")) return null;
  if (ok === true) return { ok, lines };
  const exitCode = "exitCode" in value ? value.exitCode : null;
  return ok === false && typeof exitCode === "number" && exitCode > 0 && exitCode < 256
    ? { ok, exitCode, lines }
    : null;
}
