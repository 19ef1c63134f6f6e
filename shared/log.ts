/**
 * The log: pino writes one line per event to standard output, as JSON or, at a terminal, as text.
 * Secrets never reach it: callers log names and ids, not headers or bodies.
 */
import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import { type Logger, pino } from "pino";
import { escapeControls } from "./logging/escape-controls.js";
import { lineText } from "./logging/line-text.js";
import { isText, type LogFormat } from "./logging/log-format.js";

/** The least severe level that is logged; `silent` logs nothing. */
export type LogLevel = "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";

export type LineLevel = "warn" | "info" | "debug";

export interface Log extends Logger {
  /**
   * Logs a line from fields already serialized as JSON, without braces, for lines logged with every
   * request. Form and order are those of all lines, at a fifth of the cost of serializing an
   * object.
   */
  line(level: LineLevel, fields: string, message: string): void;
}

/** Bytes of lines queued while the reader of standard output is slow; further lines are dropped. */
const heldBytesMax = 8 * 1024 * 1024;

/**
 * How long the line of a request is buffered. Each write costs a turn of the thread pool, and
 * pino's destination measures and joins its queue: one write for all buffered lines keeps that
 * queue empty unless the reader is slow.
 */
const gatherMs = 100;
/** A little below `maxWrite` and the capacity of a pipe. */
const gatherBytesMax = 60 * 1024;
/** The most UTF-8 bytes of one UTF-16 unit. */
const bytesPerCharMax = 3;

/** pino's destination in buffer mode: for texts it would measure each one and copy it twice. */
interface BytesDestination {
  write(bytes: Buffer): boolean;
  flush(done?: (error?: Error) => void): void;
  flushSync(): void;
}

/**
 * Creates the logger of a process. Lines of requests are buffered and written a few times a second.
 * Any other line is written immediately, after the buffered ones. `flush` writes the rest.
 */
export function createLog(process_: string, level: LogLevel, format: LogFormat = "json"): Log {
  const destination = pino.destination({
    dest: 1,
    sync: false,
    // Write immediately; with 0, `flush` wouldn't wait for a write in progress.
    minLength: 1,
    maxWrite: 64 * 1024,
    maxLength: heldBytesMax,
    contentMode: "buffer",
  }) as unknown as BytesDestination;
  const timestamp = createTimestamp();
  const inJournal = isJournal(process.env["JOURNAL_STREAM"]);
  const asText = isText(format, isatty(1));
  const processField = `"process":"${process_}"`;
  // A Buffer from the start: the garbage collector copies a text that grows in pieces.
  const lines = Buffer.allocUnsafeSlow(gatherBytesMax);
  let bytes = 0;
  let isGathering = false;
  const handOver = (): void => {
    isGathering = false;
    if (bytes === 0) return;
    destination.write(Buffer.from(lines.subarray(0, bytes)));
    bytes = 0;
  };
  // Buffered lines go first, so that lines keep the order in which they were logged.
  const stream = {
    write(json: string): void {
      handOver();
      const line = asText ? readableLine(process_, json) : escapeControls(json);
      destination.write(Buffer.from(inJournal ? journalPriority(json) + line : line));
    },
    flush(done?: (error?: Error) => void): void {
      handOver();
      destination.flush(done);
    },
    /**
     * pino calls it after each line of the level `fatal`. Lines that the thread pool is writing
     * may come after that line.
     */
    flushSync(): void {
      handOver();
      destination.flushSync();
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
      const json = `{"level":"${lineLevel}"${timestamp()},${processField},${fields},"msg":"${message}"}\n`;
      const line = asText ? readableLine(process_, json) : json;
      const text = inJournal ? journalPriorities[lineLevel] + line : line;
      const bytesMax = text.length * bytesPerCharMax;
      if (bytes + bytesMax > gatherBytesMax) handOver();
      if (bytesMax > gatherBytesMax) return void destination.write(Buffer.from(text));
      bytes += lines.write(text, bytes);
      if (!isGathering) {
        isGathering = true;
        setTimeout(handOver, gatherMs);
      }
    },
  });
}

/** A line as text, with its line feed. */
function readableLine(process_: string, json: string): string {
  return `${lineText(process_, json.trimEnd(), "trace")}\n`;
}

/** The priorities of syslog(3), which the journal reads from the beginning of a line. */
const journalPriorities: Readonly<Record<string, string>> = {
  fatal: "<2>",
  error: "<3>",
  warn: "<4>",
  info: "<6>",
  debug: "<7>",
  trace: "<7>",
};

/** The priority of a line, which begins with its level. */
function journalPriority(line: string): string {
  return journalPriorities[/^\{"level":"(\w+)"/.exec(line)?.[1] ?? ""] ?? "";
}

/** Whether standard output is the journal's stream, which systemd names by device and inode. */
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

/** RFC 3339 with milliseconds; the part up to the seconds is computed once per second. */
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

/** The interval between two reports of a frequent event. */
const reportIntervalMs = 10_000;

/**
 * Returns a function that counts an event that may happen thousands of times a second. The first
 * event is reported immediately, later ones together every `reportIntervalMs`. `report` gets the
 * number of events since its last call.
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
