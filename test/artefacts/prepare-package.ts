/**
 * Run by npm before it packs: writes the licences of what the dashboard's files hold, and the lock,
 * under the name by which a package carries it, so that whoever installs it gets the tree that was
 * tested: exact versions, and the overrides, which npm takes from no package but the root.
 * `postpack` removes it again.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { bundledPackages, licences } from "./licences.js";

interface Lock {
  readonly packages: Readonly<Record<string, { dev?: boolean; devOptional?: boolean }>>;
}

const readJson = <T>(file: string): T => JSON.parse(readFileSync(file, "utf8")) as T;

const lock = readJson<Lock>("package-lock.json");
// npm would install a type checker, which a dependency may use and development needs.
const needed = Object.entries(lock.packages).filter(
  ([, { dev, devOptional }]) => !dev && !devOptional,
);
writeFileSync(
  "npm-shrinkwrap.json",
  `${JSON.stringify({ ...lock, packages: Object.fromEntries(needed) }, null, 2)}\n`,
);

const { text, problems } = licences(".", bundledPackages(readJson("dist/pages.json")));
if (problems.length > 0) throw new Error(problems.join("\n"));
writeFileSync("dist/programs/dashboard/third-party-licenses.txt", text);
