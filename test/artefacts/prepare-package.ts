/**
 * Run by npm before it packs: writes the licences of what its files hold; what `sluice
 * verify` runs; and the lock, under the name by which a package carries it, so that whoever
 * installs it from a registry gets the tree that was tested: exact versions, and the overrides,
 * which npm takes from no package but the root. Of a file npm ignores it. `postpack` removes lock
 * and files of `verify` again.
 */
import { writeFileSync } from "node:fs";
import { bundledPackages, bundles, licences } from "./licences.js";
import { lockWithoutTools } from "./npm-package.js";
import { copyVerifyFiles } from "./verify-files.js";

const lock = lockWithoutTools();
writeFileSync("npm-shrinkwrap.json", `${JSON.stringify(lock, null, 2)}\n`);
copyVerifyFiles("dist", "dist/verify", lock.packages);

for (const [bundle, file] of [
  [bundles.pages, "dist/programs/dashboard/third-party-licenses.txt"],
  [bundles.spans, "dist/programs/otel-spans-licenses.txt"],
  [bundles.prices, "dist/programs/genai-prices-licenses.txt"],
] as const) {
  const { text, problems } = licences(".", bundledPackages(".", bundle));
  if (problems.length > 0) throw new Error(problems.join("\n"));
  writeFileSync(file, text);
}
