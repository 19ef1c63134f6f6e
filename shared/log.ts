/** One JSON line per event on standard output, by pino. Secrets never reach it: callers log names and ids, not headers or bodies. */
import { type Logger, pino } from "pino";
import type { Config } from "./config/config.js";
import { version } from "./version.js";

export type Log = Logger;

/** A logger for one process. Lines are gathered and written a few times a second; `flush` writes what is left. */
export function createLog(process_: "proxy" | "limiterd" | "up", level: Config["logLevel"]): Log {
  const destination = pino.destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 200 });
  const log = pino({ level, base: { process: process_, version }, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } }, destination);
  return log;
}
