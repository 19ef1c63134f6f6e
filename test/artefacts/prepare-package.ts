/**
 * Run by npm before it packs: writes the licences of what the dashboard's files hold, and the lock,
 * under the name by which a package carries it, so that whoever installs it gets the tree that was
 * tested: exact versions, and the overrides, which npm takes from no package but the root.
 * `postpack` removes it again.
 */
import { writeFileSync } from "node:fs";
import { bundledPackages, bundles, licences } from "./licences.js";
import { lockWithoutTools } from "./npm-package.js";

writeFileSync("npm-shrinkwrap.json", `${JSON.stringify(lockWithoutTools(), null, 2)}\n`);

for (const [bundle, file] of [
  [bundles.pages, "dist/programs/dashboard/third-party-licenses.txt"],
  [bundles.spans, "dist/programs/otel-spans-licenses.txt"],
] as const) {
  const { text, problems } = licences(".", bundledPackages(".", bundle));
  if (problems.length > 0) throw new Error(problems.join("\n"));
  writeFileSync(file, text);
}
