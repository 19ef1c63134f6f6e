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
 * `max_requests 50 → 100` for fields that differ; for something new or deleted, the values of its
 * fields.
 */
export function changeText(before: unknown, after: unknown): string {
  const [oldFields, newFields] = [fieldsOf(before), fieldsOf(after)];
  if (oldFields === null || newFields === null) {
    const fields = Object.entries(newFields ?? oldFields ?? {}).filter(
      ([name, value]) => !identity.has(name) && isSet(value),
    );
    const words = fields.map(([name, value]) => `${name} ${textOf(value)}`).join(", ");
    return newFields === null && words !== "" ? `was ${words}` : words;
  }
  return [...new Set([...Object.keys(oldFields), ...Object.keys(newFields)])]
    .filter((name) => textOf(oldFields[name]) !== textOf(newFields[name]))
    .map((name) => `${name} ${textOf(oldFields[name])} → ${textOf(newFields[name])}`)
    .join(", ");
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields | null {
  if (value === null || value === undefined) return null;
  return typeof value === "object" && !Array.isArray(value) ? (value as Fields) : { value };
}

/** Whether a field has a value that is worth showing. */
function isSet(value: unknown): boolean {
  return value !== null && value !== false && !(Array.isArray(value) && value.length === 0);
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}
