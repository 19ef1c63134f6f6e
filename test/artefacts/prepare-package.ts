/**
 * Run by npm before it packs: writes the licences of what the dashboard's files hold, and the lock,
 * under the name by which a package carries it, so that whoever installs it gets the tree that was
 * tested: exact versions, and the overrides, which npm takes from no package but the root.
 * `postpack` removes it again.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { bundledPackages, licences } from "./licences.js";
import { lockWithoutTools } from "./npm-package.js";

writeFileSync("npm-shrinkwrap.json", `${JSON.stringify(lockWithoutTools(), null, 2)}\n`);

const bundled = bundledPackages(JSON.parse(readFileSync("dist/pages.json", "utf8")));
const { text, problems } = licences(".", bundled);
if (problems.length > 0) throw new Error(problems.join("\n"));
writeFileSync("dist/programs/dashboard/third-party-licenses.txt", text);
