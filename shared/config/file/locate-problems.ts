/**
 * Finds line and column of the problems of a file, whose messages begin with the path of what is
 * wrong. The text is parsed once more for it, so only what has problems is located.
 */
import type { Problem } from "../problems.js";
import { type Places, parseYaml } from "./parse-yaml.js";
import { positionsOf } from "./yaml-fault.js";

/** The problems, those of the file with their positions. */
export function locateProblems(text: string, problems: readonly Problem[]): readonly Problem[] {
  const places: Places = new Map();
  parseYaml(text, { places });
  const offsets = problems.map(({ kind, message }) =>
    kind === "file" ? offsetOf(message, places) : null,
  );
  const ascending = [...new Set(offsets)].flatMap((at) => at ?? []).sort((a, b) => a - b);
  const positions = positionsOf(text, ascending);
  return problems.map((problem, i) => {
    const at = offsets[i];
    return at == null
      ? withKnownPosition(problem)
      : { ...problem, position: positions[ascending.indexOf(at)]! };
  });
}

/** What isn't YAML has its position in the message. */
function withKnownPosition(problem: Problem): Problem {
  const [, line, column, message] = /^line (\d+), column (\d+): (.*)$/s.exec(problem.message) ?? [];
  return message === undefined || problem.kind !== "file"
    ? problem
    : { ...problem, message, position: { line: Number(line), column: Number(column) } };
}

/** Where the longest path that a message begins with and the file holds is; null without one. */
function offsetOf(message: string, places: Places): number | null {
  /** A key, or a place of a list. */
  const step = /\.?[\w-]+|\[(?:\d+|"(?:[^"\\]|\\.)*")\]/y;
  let found: number | null = null;
  while (step.test(message)) found = places.get(message.slice(0, step.lastIndex)) ?? found;
  return found;
}
