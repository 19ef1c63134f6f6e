/** What `sluice verify` prints. Pure. */
import type { Part } from "./simulated.js";

/** A part that has run. */
export interface RunPart extends Part {
  readonly name: string;
  /** What to do if it has found a problem. */
  readonly advice: string;
}

/** The lines of a part. */
export function describePart({ name, text, problems, trace = [] }: RunPart): string {
  const lines = [`${problems.length === 0 ? "ok    " : "FAILED"}  ${name.padEnd(12)}  ${text}`];
  for (const problem of problems) lines.push(`        ${problem}`);
  if (trace.length > 0) lines.push("        What happened before:");
  for (const line of trace) lines.push(`          ${line}`);
  return lines.join("\n");
}

/** The last lines, for all parts. */
export function describeEnd(parts: readonly RunPart[], seconds: number, repeat: string): string {
  const failed = parts.filter(({ problems }) => problems.length > 0);
  const count = failed.reduce((sum, { problems }) => sum + problems.length, 0);
  if (count === 0) return `\nEverything holds (${seconds} s). To run the same again: ${repeat}`;
  const advice = [...new Set(failed.map((part) => part.advice))];
  return [
    `\n${count} ${count === 1 ? "problem" : "problems"} (${seconds} s). To repeat the run: ${repeat}`,
    ...advice,
  ].join("\n");
}
