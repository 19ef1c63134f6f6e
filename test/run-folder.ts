/**
 * Runs all test files of a folder in one process. A process of its own costs half a second of CPU
 * for each file, most of it the test runner's, and what is tested here shares no state. One file
 * alone runs as it is: `npx tap dist/test/proxy/upstream/forward.test.js`.
 */
import { readdirSync } from "node:fs";
import t from "tap";

/** Without it `node dist/test/NAME.test.js` would end after half a minute. */
const timeoutMs = 900_000;

interface FolderOptions {
  /** How many tests run side by side: more than one where they wait for processes. */
  readonly jobs?: number;
  /** Whether each file ends, with its teardowns, before the next one begins. */
  readonly oneByOne?: boolean;
  /** Files that don't run here, by their path below the folder. */
  readonly without?: readonly string[];
}

/** @param name below `test/`, with the folders in it. */
export async function testFolder(
  name: string,
  { jobs = 1, oneByOne = false, without = [] }: FolderOptions = {},
): Promise<void> {
  const folder = new URL(`${name}/`, import.meta.url);
  // Read from the sources: what a moved or deleted test has left in dist/ isn't run.
  const sources = new URL(`../../test/${name}/`, import.meta.url);
  const all = readdirSync(sources, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts") && !file.includes("node_modules"))
    .sort();
  const missing = without.filter((file) => !all.includes(file));
  t.same(missing, [], "what is left out exists");
  const files = all.filter((file) => !without.includes(file));
  t.ok(files.length > 0, `${name}: ${files.length} files`);
  const test = t.test.bind(t);
  const teardown = t.teardown.bind(t);
  let running: Promise<unknown>[] = [];
  // A teardown of the whole makes tap end the whole as soon as it is idle, which it may be while
  // the next file is loaded: teardowns wait for the end of the file, or of the last one.
  let waiting: Parameters<typeof teardown>[0][] = [];
  t.teardown = (run) => void waiting.push(run);
  if (oneByOne)
    t.test = ((...given: Parameters<typeof test>) => {
      const ended = test(...given);
      running.push(ended);
      return ended;
    }) as typeof t.test;
  for (const file of files) {
    t.jobs = jobs;
    t.setTimeout(timeoutMs);
    t.comment(`${name}/${file}`);
    await import(new URL(file.replace(/ts$/, "js"), folder).href);
    if (!oneByOne) continue;
    await Promise.all(running);
    for (const run of waiting.reverse()) await run();
    running = [];
    waiting = [];
  }
  for (const run of waiting) teardown(run);
}
