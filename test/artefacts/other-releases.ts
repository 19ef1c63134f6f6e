/**
 * Debian packages of the releases before and after this one, to upgrade from and to. The one before
 * is built from its commit. The one after doesn't exist yet: it is this one, with what a release
 * may change of what neighbours share.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { home, repackDebian } from "./debian-package.js";
import { run } from "./run.js";

/**
 * The release that this one's neighbours may be. Nothing is published yet: it is the first commit
 * that makes a Debian package, under a lower version. With each release it becomes that release.
 */
export const releaseBefore = {
  commit: "50ababc9f40caa2ed662c3a4dfc73fe12313131e",
  version: "0.0.9",
};

/** By that commit's own code, into the folder of the first argument. */
const packing = `
  const own = (name) => import(process.cwd() + "/dist/test/artefacts/" + name + ".js");
  const [into, tree] = [process.argv[1], process.argv[1] + "/tree"];
  await (await own("stage-tree")).stageTree(tree, (await own("npm-package")).packNpm(into));
  (await own("debian-package")).packDebian(tree, into);
`;

/** Why it can't be built here; null: it can be tried. */
export function whyNoReleaseBefore(): string | null {
  try {
    run("git", ["cat-file", "-e", `${releaseBefore.commit}^{tree}`]);
    return null;
  } catch {
    return `the commit ${releaseBefore.commit.slice(0, 10)} isn't in this clone, which may be a shallow one`;
  }
}

/** Its package's file; made once, in a minute or two, and kept among the temporary files. */
export function packReleaseBefore(): string {
  const { commit, version } = releaseBefore;
  const kept = join(tmpdir(), `sluice-${version}-${commit.slice(0, 10)}.deb`);
  if (existsSync(kept)) return kept;
  const folder = mkdtempSync(join(tmpdir(), "sluice-release-before-"));
  try {
    const [tree, into] = ["tree", "into"].map((name) => join(folder, name)) as [string, string];
    for (const each of [tree, into]) mkdirSync(each);
    const archive = join(folder, "tree.tar");
    run("git", ["archive", "--output", archive, commit]);
    run("tar", ["-xf", archive, "-C", tree]);
    for (const file of ["package.json", "shared/version.ts"])
      replaceIn(join(tree, file), /("?version"?(?:: | = )")0\.1\.0"/, `$1${version}"`);
    run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: tree });
    run("npm", ["run", "--silent", "build"], { cwd: tree });
    run(process.execPath, ["--input-type=module", "--eval", packing, into], { cwd: tree });
    const made = readdirSync(into).find((name) => name.endsWith(".deb"))!;
    run("cp", [join(into, made), `${kept}.${process.pid}`]);
    renameSync(`${kept}.${process.pid}`, kept);
    return kept;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The Debian version of the release after this one. */
export const releaseAfter = "9.0.0-1";

/**
 * This release's package as the next one's: another version, the next wire version, and a store of
 * the next schema.
 */
export function packReleaseAfter(file: string, into: string): string {
  return repackDebian(file, into, releaseAfter, (root) => {
    const programs = join(root, home, "dist/programs");
    const names = readdirSync(programs).filter((name) => name.endsWith(".js"));
    const changed = names.flatMap((name) => changeProgram(join(programs, name)));
    // Daemon, proxy and command line have two, and what sends spans the first; the daemon and the
    // process for stores the last.
    for (const [what, times] of [
      ["version", 4],
      ["wire", 3],
      ["schema", 2],
    ] as const)
      if (changed.filter((each) => each === what).length !== times)
        throw new Error(`the programs don't name their ${what} as they did`);
  });
}

/** What each does to a program's text. */
const changes: readonly (readonly [string, RegExp, (found: string, value: string) => string])[] = [
  ["version", /^var version = "[^"]+";$/m, () => `var version = "${releaseAfter.split("-")[0]}";`],
  ["wire", /^var wireVersion = (\d+);$/m, (_, n) => `var wireVersion = ${Number(n) + 1};`],
  [
    "schema",
    /^function schemaAfter\(/m,
    (found) =>
      `storeMigrations.push({ to: storeMigrations.length + 2, changes: () => [] });\n${found}`,
  ],
];

/** Which of the changes the file took. */
function changeProgram(file: string): readonly string[] {
  let text = readFileSync(file, "utf8");
  const taken = changes.filter(([, pattern]) => pattern.test(text));
  for (const [, pattern, next] of taken) text = text.replace(pattern, next);
  writeFileSync(file, text);
  return taken.map(([what]) => what);
}

/** Throws when there is nothing to replace. */
function replaceIn(file: string, pattern: RegExp, by: string): void {
  const text = readFileSync(file, "utf8");
  if (!pattern.test(text)) throw new Error(`${file} doesn't have ${pattern}`);
  writeFileSync(file, text.replace(pattern, by));
}
