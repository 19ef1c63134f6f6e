/**
 * One line per event on standard output, by pino: JSON, or text for a person at a terminal. Secrets
 * never reach it: callers log names and ids, not headers or bodies.
 */
import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import { type Logger, pino } from "pino";
import { escapeControls } from "./logging/escape-controls.js";
import { lineText } from "./logging/line-text.js";
import { isText, type LogFormat } from "./logging/log-format.js";

/** The least important lines that are written; `silent` writes none. */
export type LogLevel = "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";

export type LineLevel = "warn" | "info" | "debug";

export interface Log extends Logger {
  /**
   * A line whose fields are JSON already, without braces: for what is logged with every request. It
   * has the form and the order of all lines, at a fifth of the cost of serializing an object.
   */
  line(level: LineLevel, fields: string, message: string): void;
}

/** Lines that wait while the reader of standard output is slow; beyond it they are dropped. */
const heldBytesMax = 8 * 1024 * 1024;

/**
 * How long a request's line waits for others. Each write costs a turn of the thread pool, and the
 * destination measures and joins all that it holds: so what has gathered is one write, and the
 * destination holds lines only while the reader is slow.
 */
const gatherMs = 100;
/** A little below `maxWrite`, and what a pipe holds. */
const gatherBytesMax = 60 * 1024;
/** Of one UTF-16 unit in UTF-8, at most. */
const bytesPerCharMax = 3;

/** Of texts pino's destination takes the length, writes a copy, and makes another to go on from. */
interface BytesDestination {
  write(bytes: Buffer): boolean;
  flush(done?: (error?: Error) => void): void;
}

/**
 * A logger for one process. Lines of requests are gathered and written a few times a second, others
 * at once, with those before them; `flush` writes what is left.
 */
export function createLog(process_: string, level: LogLevel, format: LogFormat = "json"): Log {
  const destination = pino.destination({
    dest: 1,
    sync: false,
    // At once; with 0, `flush` would not wait for what is being written.
    minLength: 1,
    maxWrite: 64 * 1024,
    maxLength: heldBytesMax,
    contentMode: "buffer",
  }) as unknown as BytesDestination;
  const timestamp = createTimestamp();
  const inJournal = isJournal(process.env["JOURNAL_STREAM"]);
  const asText = isText(format, isatty(1));
  const ofProcess = `"process":"${process_}"`;
  // Bytes from the start: a text that grows by pieces is copied with each collection of garbage.
  const lines = Buffer.allocUnsafeSlow(gatherBytesMax);
  let bytes = 0;
  let gathering = false;
  const handOver = (): void => {
    gathering = false;
    if (bytes === 0) return;
    destination.write(Buffer.from(lines.subarray(0, bytes)));
    bytes = 0;
  };
  // Gathered lines go first, so that lines keep the order in which they were logged.
  const stream = {
    write(json: string): void {
      handOver();
      const line = asText ? textOf(process_, json) : escapeControls(json);
      destination.write(Buffer.from(inJournal ? journalPriority(json) + line : line));
    },
    flush(done?: (error?: Error) => void): void {
      handOver();
      destination.flush(done);
    },
  };
  const logger = pino(
    {
      level,
      base: { process: process_ },
      timestamp,
      formatters: { level: (label) => ({ level: label }) },
    },
    stream,
  );
  return Object.assign(logger, {
    line(lineLevel: LineLevel, fields: string, message: string) {
      if (!logger.isLevelEnabled(lineLevel)) return;
      const json = `{"level":"${lineLevel}"${timestamp()},${ofProcess},${fields},"msg":"${message}"}\n`;
      const line = asText ? textOf(process_, json) : json;
      const text = inJournal ? journalPriorities[lineLevel] + line : line;
      const bytesMax = text.length * bytesPerCharMax;
      if (bytes + bytesMax > gatherBytesMax) handOver();
      if (bytesMax > gatherBytesMax) return void destination.write(Buffer.from(text));
      bytes += lines.write(text, bytes);
      if (!gathering) {
        gathering = true;
        setTimeout(handOver, gatherMs);
      }
    },
  });
}

/** A line of this log with its end. */
function textOf(process_: string, json: string): string {
  return `${lineText(process_, json.trimEnd(), "trace")}\n`;
}

/** The priorities of syslog(3), which the journal takes from the head of a line. */
const journalPriorities: Readonly<Record<string, string>> = {
  fatal: "<2>",
  error: "<3>",
  warn: "<4>",
  info: "<6>",
  debug: "<7>",
  trace: "<7>",
};

/** Of a line, which begins with its level. */
function journalPriority(line: string): string {
  return journalPriorities[/^\{"level":"(\w+)"/.exec(line)?.[1] ?? ""] ?? "";
}

/** Whether standard output is what systemd says that its journal reads: a device and an inode. */
function isJournal(stream: string | undefined): boolean {
  if (stream === undefined) return false;
  try {
    const { dev, ino } = fstatSync(1);
    return stream === `${dev}:${ino}`;
  } catch {
    // Standard output is closed.
    return false;
  }
}

/** RFC 3339 with milliseconds; the part that is the same for a second is made once for it. */
function createTimestamp(): () => string {
  let second = 0;
  let prefix = "";
  return () => {
    const now = Date.now();
    const ms = now % 1000;
    if (now - ms !== second) {
      second = now - ms;
      prefix = `,"time":"${new Date(second).toISOString().slice(0, 20)}`;
    }
    return `${prefix}${ms < 10 ? "00" : ms < 100 ? "0" : ""}${ms}Z"`;
  };
}

/** Between two reports of a frequent event. */
const reportIntervalMs = 10_000;

/**
 * Counts an event that may happen thousands of times a second: the first one is reported
 * immediately, those of the seconds after it together. `report` gets how many there were since it
 * was called last.
 */
export function createThrottledCount(
  schedule: (ms: number, run: () => void) => void,
  report: (count: number) => void,
): () => void {
  let count = 0;
  let waiting = false;
  function reportAll(): void {
    waiting = count > 0;
    if (!waiting) return;
    report(count);
    count = 0;
    schedule(reportIntervalMs, reportAll);
  }
  return () => {
    count++;
    if (!waiting) reportAll();
  };
}
