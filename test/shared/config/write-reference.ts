/** `npm run docs`: writes what the documentation repeats of the tables of settings and presets. */
import { readFileSync, writeFileSync } from "node:fs";
import { exampleFile, pages, withTables } from "./reference.js";

// The compiled file is four directories below the repository.
const docs = new URL("../../../../docs/", import.meta.url);

for (const name of Object.keys(pages)) {
  const place = new URL(name, docs);
  writeFileSync(place, withTables(name, readFileSync(place, "utf8")));
}
writeFileSync(new URL("examples/sluice.yaml", docs), exampleFile());
