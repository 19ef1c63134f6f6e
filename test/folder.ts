/**
 * Runs all test files of a folder in one process. A process of its own costs half a second of CPU for each
 * file, most of it the test runner's, and what is tested here shares no state. One file alone runs as it
 * is: `npx tap dist/test/proxy/upstream/forward.test.js`.
 */
import { readdirSync } from "node:fs";
import t from "tap";

/** @param name below `test/`, with the folders in it. */
export async function testFolder(name: string): Promise<void> {
  const folder = new URL(`${name}/`, import.meta.url);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".test.js")).sort();
  t.ok(files.length > 0, `${name}: ${files.length} files`);
  for (const file of files) {
    t.comment(`${name}/${file}`);
    await import(new URL(file, folder).href);
  }
}
