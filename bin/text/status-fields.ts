/**
 * The status objects of daemon and proxy as names and values for people. Fields that a newer
 * version adds are shown too. Pure.
 */
import { isObject } from "../../shared/checked.js";
import { formatDuration } from "./duration.js";

/**
 * Scalars, lists of scalars, and lists of hosts, one line each. The fields of a nested object are
 * prefixed with its name. Lists of other objects are omitted; `--json` has them.
 */
export function statusFields(
  body: unknown,
  prefix = "",
): readonly (readonly [name: string, value: string])[] {
  if (!isObject(body)) return [];
  return Object.entries(body).flatMap(([key, value]) => {
    const name = `${prefix}${key.replaceAll("_", " ")}`;
    if (isObject(value)) return statusFields(value, `${name} `);
    if (key.endsWith("_seconds") && typeof value === "number")
      return [[name.slice(0, -" seconds".length), formatDuration(value)] as const];
    if (Array.isArray(value) && value.length > 0 && value.every(isHost))
      return value.map((host, index) => [index === 0 ? name : "", hostLine(host)] as const);
    // Sentences contain commas: one per line.
    if (
      Array.isArray(value) &&
      value.length > 1 &&
      value.some((item) => typeof item === "string" && item.includes(","))
    )
      return value.map((item, index) => [index === 0 ? name : "", String(item)] as const);
    const text = showValue(value);
    return text === null ? [] : [[name, text] as const];
  });
}

/** One of the hosts that share limits; those of a newer version are shown by `--json` only. */
function isHost(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && typeof value["id"] === "string" && typeof value["name"] === "string";
}

function hostLine(host: Readonly<Record<string, unknown>>): string {
  const silent = host["silent_seconds"];
  return [
    `${String(host["name"])} (${String(host["id"])})`,
    ...(host["this_host"] === true ? ["this host"] : []),
    `version ${String(host["version"])}`,
    ...(typeof host["uptime_seconds"] === "number"
      ? [`up ${formatDuration(host["uptime_seconds"])}`]
      : []),
    ...(host["alive"] === false && typeof silent === "number"
      ? [`not heard of for ${formatDuration(silent)}`]
      : []),
    ...(host["configuration_differs"] === true ? ["its configuration differs"] : []),
    ...(host["failure_mode_differs"] === true
      ? [`its failure mode is ${String(host["failure_mode"])}`]
      : []),
  ].join(", ");
}

function showValue(value: unknown): string | null {
  if (value === null || (Array.isArray(value) && value.length === 0)) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string" || typeof value === "number") return String(value);
  if (
    Array.isArray(value) &&
    value.every((item) => typeof item === "string" || typeof item === "number")
  )
    return value.join(", ");
  return null;
}
