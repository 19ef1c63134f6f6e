/** The top-level fields of a JSON object, as a call gives them. */
import { type NamedValues, scanObject, valuesOf } from "../../../proxy/body/scan-json.js";

export function fieldsOf(body: Buffer | string): NamedValues {
  const bytes = Buffer.from(body);
  const members = scanObject(bytes.toString("latin1"));
  return { valuesOf: (name) => valuesOf(bytes, members, name) };
}
