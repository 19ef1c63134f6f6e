/** The change of an audit entry in few words. Pure. */

/** The fields that the entry's subject shows already. */
const identity: ReadonlySet<string> = new Set([
  "id",
  "scope",
  "subject",
  "user_path",
  "limit_key",
  "budget_key",
  "period",
  "period_seconds",
]);

/**
 * `max_requests 50 → 100` for fields that differ; the fields that something new has, or that
 * something deleted had.
 */
export function changeText(before: unknown, after: unknown): string {
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  if (old === null || now === null) {
    const fields = Object.entries(now ?? old ?? {}).filter(
      ([name, value]) => !identity.has(name) && isSet(value),
    );
    const words = fields.map(([name, value]) => `${name} ${textOf(value)}`).join(", ");
    return now === null && words !== "" ? `was ${words}` : words;
  }
  return [...new Set([...Object.keys(old), ...Object.keys(now)])]
    .filter((name) => textOf(old[name]) !== textOf(now[name]))
    .map((name) => `${name} ${textOf(old[name])} → ${textOf(now[name])}`)
    .join(", ");
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields | null {
  if (value === null || value === undefined) return null;
  return typeof value === "object" && !Array.isArray(value) ? (value as Fields) : { value };
}

/** Whether a value differs from an unset field. */
function isSet(value: unknown): boolean {
  return value !== null && value !== false && !(Array.isArray(value) && value.length === 0);
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}
