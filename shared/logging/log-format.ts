/** The format of log lines. Pure. */

/** `auto`: text at a terminal, JSON anywhere else. */
export type LogFormat = "auto" | "json" | "text";

/** Whether lines are formatted for people. `auto` decides by the terminal. */
export function isText(format: LogFormat, isTerminal: boolean): boolean {
  return format === "text" || (format === "auto" && isTerminal);
}
