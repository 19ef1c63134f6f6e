/** A tarball with Node: unpacked anywhere, it runs. */
import { join } from "node:path";
import { run } from "./run.js";
import { packageJson, stageTree } from "./stage-tree.js";

export const treeName = `sluice-${packageJson.version}-linux-${process.arch}`;

/** The tarball's file, in the folder `into`, where its tree is made too. */
export async function packTarball(into: string): Promise<string> {
  await stageTree(join(into, treeName));
  const file = join(into, `${treeName}.tar.xz`);
  const owner = ["--owner=0", "--group=0", "--numeric-owner", "--sort=name"];
  // Two threads and a quick preset: most of it is Node, which the slow one makes little smaller.
  const env = { ...process.env, XZ_OPT: "-1 -T2" };
  run("tar", [...owner, "-cJf", file, "-C", into, treeName], { env });
  return file;
}
