/** Whether the installed packages are those that Sluice was tested with. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Part } from "./simulated.js";

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly dev?: boolean; readonly name?: string }>
  >;
}

/** Beside the compiled files of an installed package; in a checkout it is the lock of npm. */
const locks = ["packages.json", "../package-lock.json"];

export async function packagesAsPinned(): Promise<Part> {
  const dist = fileURLToPath(new URL("../..", import.meta.url));
  const file = locks.map((name) => join(dist, name)).find(existsSync);
  if (file === undefined) throw new Error(`${dist}: the list of packages is missing`);
  const { packages } = JSON.parse(readFileSync(file, "utf8")) as Lock;
  const pinned = Object.entries(packages).filter(
    ([place, { dev }]) => /^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(place) && dev !== true,
  );
  const problems: string[] = [];
  let installed = 0;
  for (const [place, { version }] of pinned) {
    const found = findUpwards(dist, join(place, "package.json"));
    // Of the native packages those for this machine are installed.
    if (found === null) continue;
    installed++;
    const { version: has } = JSON.parse(readFileSync(found, "utf8")) as { version: string };
    if (has !== version)
      problems.push(`${place.slice("node_modules/".length)} is ${has}, tested was ${version}`);
  }
  if (installed === 0) problems.push("no package was found");
  return {
    text: `${installed} installed, ${problems.length} that differ from those tested`,
    details: { installed, different: problems.length },
    problems,
  };
}

function findUpwards(from: string, name: string): string | null {
  const file = join(from, name);
  if (existsSync(file)) return file;
  const parent = dirname(from);
  return parent === from ? null : findUpwards(parent, name);
}
