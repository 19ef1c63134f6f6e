/** `npm run docs`: writes what the documentation repeats of the tables of settings and presets. */
import { readFileSync, writeFileSync } from "node:fs";
import { ownedFiles, ownerOf, withOwner } from "../../artefacts/repository-owner.js";
import { exampleFile, pages, withTables } from "./reference.js";

// The compiled file is four directories below the repository.
const docs = new URL("../../../../docs/", import.meta.url);

for (const name of Object.keys(pages)) {
  const place = new URL(name, docs);
  writeFileSync(place, withTables(name, readFileSync(place, "utf8")));
}
writeFileSync(new URL("examples/sluice.yaml", docs), exampleFile());

const repository = new URL("../", docs);
const owner = ownerOf(
  JSON.parse(readFileSync(new URL("package.json", repository), "utf8")) as object,
);
for (const name of ownedFiles) {
  const place = new URL(name, repository);
  writeFileSync(place, withOwner(readFileSync(place, "utf8"), owner));
}
