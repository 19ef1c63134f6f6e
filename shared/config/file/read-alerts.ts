/** Reads the entries of `alerts`, in the file or in the variable `SLUICE_ALERTS`. */
import { parseJson } from "../../checked.js";
import { type AlertFields, alertSettings, alertsMax } from "../settings/alert-settings.js";
import type { DeclaredAlert, ReadFields } from "./config-file.js";
import {
  type FieldSchemas,
  type LocatedValue,
  optional,
  readFields,
  readItems,
  required,
} from "./read-fields.js";

const schemas: FieldSchemas = Object.fromEntries(
  Object.entries(alertSettings).map(([key, { kind, defaultText }]) => [
    key,
    defaultText === null ? required<unknown>(kind) : optional<unknown, null>(kind, null),
  ]),
);

export function readAlerts(place: LocatedValue, problems: string[]): readonly DeclaredAlert[] {
  const items = readItems(place, problems);
  if (items.length > alertsMax)
    problems.push(`${place.path} must have at most ${alertsMax} entries, not ${items.length}`);
  return items.map((item) => ({
    path: item.path,
    fields: readFields(schemas, item, problems) as ReadFields<AlertFields> | null,
  }));
}

/** The variable that replaces the file's `alerts`. */
export const alertsVariable = "SLUICE_ALERTS";

/** The entries of the variable; null if it is unset. */
export function readAlertsVariable(
  text: string | undefined,
  problems: string[],
): readonly DeclaredAlert[] | null {
  if (text === undefined || text.trim() === "") return null;
  const raw = parseJson(text);
  if (Array.isArray(raw)) return readAlerts({ raw, path: alertsVariable }, problems);
  problems.push(
    `${alertsVariable} must be a JSON array of objects with the fields of alerts, such as [{"url": "https://hooks.slack.com/services/…"}]`,
  );
  return [];
}
