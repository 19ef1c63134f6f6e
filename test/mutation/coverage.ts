/**
 * Which tests run which place of the compiled code, from V8's own coverage: a fault is tried by the
 * tests that run it, and by no others.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** The files that a test has loaded, with the ranges of their functions and blocks. */
export type Coverage = ReadonlyMap<string, readonly Range[]>;

interface Report {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly Range[] }[];
  }[];
}

/** What processes have left in a directory; the files are named from `dist` on. */
export function readCoverage(directory: string, dist: string): Coverage {
  const ranges = new Map<string, Range[]>();
  for (const name of readdirSync(directory)) {
    for (const { url, functions } of readReport(join(directory, name)).result) {
      if (!url.startsWith("file:")) continue;
      const path = fileURLToPath(url);
      if (!path.startsWith(`${dist}/`)) continue;
      const file = path.slice(dist.length + 1);
      const known = ranges.get(file) ?? [];
      ranges.set(file, known);
      for (const each of functions) known.push(...each.ranges);
    }
  }
  return ranges;
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

/** Whether a place was run: the narrowest range around it was. */
export function isRun(coverage: Coverage, file: string, offset: number): boolean {
  let narrowest: Range | null = null;
  let wasRun = false;
  for (const range of coverage.get(file) ?? []) {
    if (offset < range.startOffset || offset >= range.endOffset) continue;
    const size = range.endOffset - range.startOffset;
    const least = narrowest === null ? Infinity : narrowest.endOffset - narrowest.startOffset;
    if (size > least) continue;
    // The same range may be reported by several processes.
    wasRun = range.count > 0 || (size === least && wasRun);
    narrowest = range;
  }
  return wasRun;
}
