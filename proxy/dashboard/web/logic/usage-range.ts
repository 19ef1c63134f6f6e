/** The time range of a page: its address, and the parameters of the admin API. Pure. */
import { daysBetween, formatSeconds, parseTimestamp } from "../../../../shared/time.js";

const hourMs = 3_600_000;
/** Starts are rounded to this, so that the address of a query stays the same for a while. */
const stepMs = 300_000;

/**
 * The parameters for the range in a page's address: days, hours or moments. On a page whose ranges
 * are in seconds, `initialSeconds` are those of an address without a range.
 */
export function rangeParameters(
  query: URLSearchParams,
  nowMs: number,
  initialSeconds: string | null = null,
): URLSearchParams {
  if (initialSeconds !== null && !(query.has("start") && query.has("end")))
    return new URLSearchParams({ seconds: query.get("seconds") ?? initialSeconds });
  const parameters = new URLSearchParams();
  const hours = Number(query.get("hours"));
  if (hours > 0) {
    const startMs = Math.floor(nowMs / stepMs) * stepMs - hours * hourMs;
    parameters.set("start", formatSeconds(startMs));
    return parameters;
  }
  const names = query.has("start") ? ["start", "end"] : ["days", "start_date", "end_date"];
  for (const name of names) {
    const value = query.get(name);
    if (value !== null && value !== "") parameters.set(name, value);
  }
  return parameters;
}

/** A chart of at most two days has a bar for each hour, a longer one for each day. */
export function stepOf(query: URLSearchParams): "day" | "hour" {
  const { hours, start, end, start_date, end_date, days } = Object.fromEntries(query);
  if (hours !== undefined) return "hour";
  if (start !== undefined && end !== undefined) {
    const [from = 0, to = 0] = [start, end].map((moment) => parseTimestamp(moment) ?? 0);
    return to - from <= 48 * hourMs ? "hour" : "day";
  }
  const count =
    start_date === undefined || end_date === undefined
      ? Number(days ?? 30)
      : daysBetween(start_date, end_date).length;
  return count <= 2 ? "hour" : "day";
}
