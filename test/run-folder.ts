/**
 * Runs all test files of a folder in one process. A process of its own costs half a second of CPU
 * for each file, most of it the test runner's, and what is tested here shares no state. One file
 * alone runs as it is: `npx tap dist/test/proxy/upstream/forward.test.js`.
 */
import { readdirSync } from "node:fs";
import t from "tap";

/**
 * @param name below `test/`, with the folders in it.
 * @param jobs how many tests run side by side: more than one where they wait for processes.
 */
export async function testFolder(name: string, jobs = 1): Promise<void> {
  t.jobs = jobs;
  // By itself `node dist/test/NAME.test.js` would end after half a minute.
  t.setTimeout(900_000);
  const folder = new URL(`${name}/`, import.meta.url);
  // Read from the sources: what a moved or deleted test has left in dist/ isn't run.
  const sources = new URL(`../../test/${name}/`, import.meta.url);
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts") && !file.includes("node_modules"))
    .map((file) => file.replace(/ts$/, "js"))
    .sort();
  t.ok(files.length > 0, `${name}: ${files.length} files`);
  // A teardown of the whole makes tap end the whole as soon as it is idle, which it may be while
  // the next file is loaded: teardowns wait for the last file.
  const teardown = t.teardown.bind(t);
  const waiting: Parameters<typeof teardown>[] = [];
  t.teardown = (...given) => void waiting.push(given);
  for (const file of files) {
    t.comment(`${name}/${file}`);
    await import(new URL(file, folder).href);
  }
  for (const given of waiting) teardown(...given);
}
