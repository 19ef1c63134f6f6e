/** Which form log lines take. Pure. */

/** `auto`: text at a terminal, JSON anywhere else. */
export type LogFormat = "auto" | "json" | "text";

/** Whether lines are for a person, written where there is a terminal or not. */
export function isText(format: LogFormat, atTerminal: boolean): boolean {
  return format === "text" || (format === "auto" && atTerminal);
}
