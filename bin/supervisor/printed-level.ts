/**
 * The least severe level that a supervisor prints of the log of its services: they don't write what
 * nobody would see.
 */
import type { LogLevel } from "../../shared/log.js";

const printedName = "SLUICE_LOG_PRINTED";

const levels: readonly LogLevel[] = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];

/** The variable for a service. */
export function printedVariable(least: LogLevel): Readonly<Record<string, string>> {
  return { [printedName]: least };
}

/** Reads and removes the variable; without it everything is printed. */
export function takePrintedLevel(env: Record<string, string | undefined>): LogLevel {
  const name = env[printedName];
  delete env[printedName];
  return levels.find((level) => level === name) ?? "trace";
}

/**
 * The least severe level that a service writes: the stricter of its configuration and the
 * supervisor's output.
 */
export function loggedLevel(configured: LogLevel, printed: LogLevel): LogLevel {
  return levels[Math.max(levels.indexOf(configured), levels.indexOf(printed))]!;
}
