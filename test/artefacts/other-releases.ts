/**
 * Debian packages of the releases before and after this one, to upgrade from and to. Nothing is
 * published yet, so both are this one: the one before with a lower version, the one after with what
 * a release may change of what neighbours share.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../shared/version.js";
import { home, repackDebian } from "./debian-package.js";

/** The version of the release before this one. */
export const versionBefore = "0.0.9";

/** This release's package under the lower version. */
export function packReleaseBefore(file: string, into: string): string {
  return repackDebian(file, into, `${versionBefore}-1`, (root) =>
    changePrograms(root, [["version", versionBefore, 4]]),
  );
}

/** The Debian version of the release after this one. */
export const releaseAfter = "9.0.0-1";

/**
 * This release's package as the next one's: another version, the next wire version, and a store of
 * the next schema.
 */
export function packReleaseAfter(file: string, into: string): string {
  // Daemon, proxy and command line have two versions, and what sends spans the first; the daemon
  // and the process for stores the schema.
  return repackDebian(file, into, releaseAfter, (root) =>
    changePrograms(root, [
      ["version", releaseAfter.split("-")[0]!, 4],
      ["wire", "", 3],
      ["schema", "", 2],
    ]),
  );
}

/** How each changes a program's text. */
const changes = {
  version: [
    new RegExp(`\\bversion\\s*=\\s*"${version}"\\s*[;,}]`),
    (found: string, to: string) => found.replace(version, to),
  ],
  wire: [
    /\bwireVersion\s*=\s*\d+\s*[;,}]/,
    (found: string) => found.replace(/\d+/, (n) => String(Number(n) + 1)),
  ],
  schema: [
    /\bfunction\s+schemaAfter\s*\(/,
    (found: string) =>
      `storeMigrations.push({ to: storeMigrations.length + 2, changes: () => [] });\n${found}`,
  ],
} as const;

/** Makes each change, to a value where it takes one, in as many programs as have the place. */
function changePrograms(
  root: string,
  wanted: readonly (readonly [keyof typeof changes, string, number])[],
): void {
  const programs = join(root, home, "dist/programs");
  const names = readdirSync(programs).filter((name) => /\.c?js$/.test(name));
  for (const [what, to, times] of wanted) {
    const [pattern, change] = changes[what];
    const files = names
      .map((name) => join(programs, name))
      .filter((file) => pattern.test(readFileSync(file, "utf8")));
    if (files.length !== times)
      throw new Error(`${files.length} programs name their ${what}, not ${times}`);
    for (const file of files)
      writeFileSync(
        file,
        readFileSync(file, "utf8").replace(pattern, (found) => change(found, to)),
      );
  }
}
