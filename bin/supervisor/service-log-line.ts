/** The JSON log lines of daemon and proxy as `sluice up` shows them at a terminal. Pure. */
import { isObject } from "../../shared/checked.js";

const levels = ["trace", "debug", "info", "warn", "error", "fatal"];
/** Fields that the rendered line shows elsewhere or not at all. */
const shownElsewhere = new Set(["level", "time", "process", "msg", "version", "err"]);

/**
 * `time level process message field=value…`, or null for a line below `warn`. A line that isn't a
 * log line of Sluice is returned unchanged after the service's name.
 */
export function renderServiceLogLine(service: string, line: string): string | null {
  const fields = parseLine(line);
  if (fields === null) return `${service}: ${line}`;
  const level = levelName(fields["level"]);
  if (levels.indexOf(level) < levels.indexOf("warn")) return null;
  const words = [
    clock(fields["time"]),
    level,
    scalar(fields["process"]) ?? service,
    scalar(fields["msg"]) ?? "",
  ];
  for (const [name, value] of Object.entries(fields)) {
    const text = shownElsewhere.has(name) ? null : scalar(value);
    if (text !== null) words.push(`${name}=${text}`);
  }
  const reason = errorMessage(fields["err"]);
  if (reason !== null) words.push(`(${reason})`);
  return words.filter((word) => word !== "").join(" ");
}

function parseLine(line: string): Readonly<Record<string, unknown>> | null {
  if (!line.startsWith("{")) return null;
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) && "level" in value ? value : null;
  } catch {
    // Half a line of a process that was killed: it is shown unchanged.
    return null;
  }
}

/** An unknown level is shown rather than hidden. */
function levelName(level: unknown): string {
  return typeof level === "string" && levels.includes(level) ? level : "error";
}

/** The time of day in an RFC 3339 time. */
function clock(time: unknown): string {
  return typeof time === "string" && time.length >= 19 ? time.slice(11, 19) : "";
}

function scalar(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return null;
}

function errorMessage(error: unknown): string | null {
  return typeof error === "object" && error !== null && "message" in error
    ? scalar(error.message)
    : null;
}
