/** A boolean as files, variables and flags write it: `true`, `yes`, `on` or `1`, in any case. */

const booleans: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["yes", true],
  ["on", true],
  ["1", true],
  ["false", false],
  ["no", false],
  ["off", false],
  ["0", false],
]);

/** Undefined for anything else. */
export function booleanOf(raw: unknown): boolean | undefined {
  if (typeof raw === "boolean") return raw;
  return typeof raw === "string" || typeof raw === "number"
    ? booleans.get(String(raw).trim().toLowerCase())
    : undefined;
}
