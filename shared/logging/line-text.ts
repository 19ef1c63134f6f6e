/** Formats log lines, which are JSON, for a person at a terminal. Pure. */
import { escapeInLine } from "./escape-controls.js";

const levels = ["trace", "debug", "info", "warn", "error", "fatal"];
/** Fields that the text shows elsewhere or not at all. */
const shownElsewhere = new Set(["level", "time", "process", "msg", "version", "err"]);
/** The fields at the beginning of a request's line. */
const headOfRequest = new Set(["method", "path", "status", "ms"]);

type Fields = Readonly<Record<string, unknown>>;

/**
 * `time level process message field=value…`, or null for a line below `least`. Any other line is
 * returned after the service's name. Always one line, without control characters.
 */
export function lineText(service: string, line: string, least = "warn"): string | null {
  const fields = parseLine(line);
  if (fields === null) return escapeInLine(`${service}: ${line}`);
  const level = levelName(fields["level"]);
  if (levels.indexOf(level) < levels.indexOf(least)) return null;
  const isRequest = fields["msg"] === "request" && typeof fields["path"] === "string";
  const words = [
    clock(fields["time"]),
    level,
    scalar(fields["process"]) ?? service,
    isRequest ? requestText(fields) : (scalar(fields["msg"]) ?? ""),
  ];
  for (const [name, value] of Object.entries(fields)) {
    if (shownElsewhere.has(name) || (isRequest && headOfRequest.has(name))) continue;
    const text = scalar(value);
    if (text !== null) words.push(`${name}=${quotedIfNeeded(text)}`);
  }
  const reason = errorMessage(fields["err"]);
  if (reason !== null) words.push(`(${reason})`);
  return escapeInLine(words.filter((word) => word !== "").join(" "));
}

function requestText(fields: Fields): string {
  const [method, path, status] = ["method", "path", "status"].map((name) => scalar(fields[name]));
  return `${method} ${quotedIfNeeded(path ?? "")} ${status} ${scalar(fields["ms"])}ms`;
}

function parseLine(line: string): Fields | null {
  if (!line.startsWith("{")) return null;
  try {
    const value: unknown = JSON.parse(line);
    return isFields(value) && "level" in value ? value : null;
  } catch {
    // A truncated line of a killed process is shown unchanged.
    return null;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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

/** Quotes a value as a JSON string if it could be read as several fields. */
function quotedIfNeeded(text: string): string {
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
}

function errorMessage(error: unknown): string | null {
  return typeof error === "object" && error !== null && "message" in error
    ? scalar(error.message)
    : null;
}
