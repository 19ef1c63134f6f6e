/**
 * Which tests run which place of the compiled code, from V8's own coverage: a fault is tried by the
 * tests that run it, and by no others.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** From the first character to the one behind the last. */
export type Interval = readonly [start: number, end: number];

/** The files that a test has loaded, with what it has run of each. */
export type Coverage = ReadonlyMap<string, readonly Interval[]>;

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface Report {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly Range[] }[];
  }[];
}

/** What processes have left in a directory; the files are named from `dist` on. */
export function readCoverage(directory: string, dist: string): Coverage {
  const intervals = new Map<string, Interval[]>();
  for (const name of readdirSync(directory)) {
    for (const { url, functions } of readReport(join(directory, name)).result) {
      if (!url.startsWith("file:")) continue;
      const path = fileURLToPath(url);
      if (!path.startsWith(`${dist}/`)) continue;
      const file = path.slice(dist.length + 1);
      const known = intervals.get(file) ?? [];
      intervals.set(file, known);
      known.push(...whatWasRun(functions.flatMap(({ ranges }) => ranges)));
    }
  }
  return intervals;
}

/** A process that was killed leaves half a report, which says nothing. */
function readReport(file: string): Report {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Report;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { result: [] };
  }
}

/** Of the ranges of one file in one process, which lie in each other, the narrowest counts. */
export function whatWasRun(ranges: readonly Range[]): Interval[] {
  const size = ({ startOffset, endOffset }: Range): number => endOffset - startOffset;
  const wasRun = new Uint8Array(Math.max(0, ...ranges.map(({ endOffset }) => endOffset)) + 1);
  for (const range of [...ranges].sort((a, b) => size(b) - size(a)))
    wasRun.fill(Number(range.count > 0), range.startOffset, range.endOffset);
  const intervals: Interval[] = [];
  for (let start = wasRun.indexOf(1); start !== -1; ) {
    const end = wasRun.indexOf(0, start);
    intervals.push([start, end]);
    start = wasRun.indexOf(1, end);
  }
  return intervals;
}

export function isRun(coverage: Coverage, file: string, offset: number): boolean {
  return (coverage.get(file) ?? []).some(([start, end]) => start <= offset && offset < end);
}
