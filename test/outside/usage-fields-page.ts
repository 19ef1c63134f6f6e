/** `npm run heavy -- usage-fields`: test/outside/usage-fields.md; `--write` writes it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../tidy/source-tree.js";
import { usageFieldsPage } from "./usage-fields.js";

const file = join(root, "test/outside/usage-fields.md");
const page = usageFieldsPage();
if (process.argv.includes("--write")) writeFileSync(file, page);
if (readFileSync(file, "utf8") !== page) {
  process.stdout.write(`${file} differs: npm run heavy -- usage-fields --write\n`);
  process.exitCode = 1;
}
