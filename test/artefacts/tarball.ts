/** A tarball with Node: unpacked anywhere, it runs. */
import { mkdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { run } from "./run.js";
import { packageJson } from "./stage-tree.js";

export const treeName = `sluice-${packageJson.version}-linux-x64`;

/** `tree`: as `stageTree` has made it, in a folder of the name `treeName`. */
export function packTarball(tree: string, into: string): string {
  mkdirSync(into, { recursive: true });
  const file = join(into, `${treeName}.tar.xz`);
  const owner = ["--owner=0", "--group=0", "--numeric-owner", "--sort=name"];
  // Two threads and a quick preset: most of it is Node, which the slow one makes little smaller.
  const env = { ...process.env, XZ_OPT: "-1 -T2" };
  run("tar", [...owner, "-cJf", file, "-C", dirname(tree), basename(tree)], { env });
  return file;
}
