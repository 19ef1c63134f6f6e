/** What became of a reload: for the log, for `sluice reload` and its exit code. */

export type ReloadOutcome =
  | { readonly ok: true; readonly lines: readonly string[] }
  | {
      readonly ok: false;
      readonly exitCode: number;
      /** Why; and what runs now, if it isn't all as before. */
      readonly lines: readonly string[];
    };

/** Null for anything else, such as what another release says. */
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
