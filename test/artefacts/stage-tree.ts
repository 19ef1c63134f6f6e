/**
 * The tree of an installed Sluice with a Node of its own, for tarball and Debian package: machines
 * that have neither npm nor a recent Node.
 *
 *     bin/sluice, sluice-proxy, sluice-limiterd    start the programs with that Node
 *     node/bin/node
 *     dist/programs/  node_modules/  systemd/  docs/
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { licences } from "./licences.js";
import { installNpm, packNpm } from "./npm-package.js";
import { startRegistry } from "./registry.js";
import { repository, run } from "./run.js";
import { unpackNode } from "./unpack-node.js";

export const packageJson = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as {
  readonly version: string;
  readonly repository?: unknown;
  readonly description: string;
  readonly bin: Readonly<Record<string, string>>;
};

/** Packs this repository, and makes the tree `at`; beside it the package's file is left. */
export async function stageTree(at: string): Promise<void> {
  const project = `${at}-project`;
  const registry = await startRegistry(packNpm(dirname(at)));
  await installNpm("sluice", project, registry.url);
  await registry.close();
  renameSync(join(project, "node_modules/sluice"), at);
  writeLicences(at, join(project, "node_modules/.package-lock.json"));
  rmSync(project, { recursive: true });
  rmSync(join(at, "npm-shrinkwrap.json"));
  unpackNode(join(at, "node"));
  // The build has compiled the programs for its own version of Node.
  run(join(at, "node/bin/node"), ["build.mjs", "code", join(at, "dist/programs")]);
  mkdirSync(join(at, "bin"));
  for (const [name, program] of Object.entries(packageJson.bin)) writeStarter(at, name, program);
}

function writeLicences(at: string, lock: string): void {
  const { packages } = JSON.parse(readFileSync(lock, "utf8")) as { packages: object };
  const places = Object.keys(packages).map((place) => place.replace("node_modules/sluice/", ""));
  const { text, problems } = licences(at, places);
  if (problems.length > 0) throw new Error(problems.join("\n"));
  writeFileSync(join(at, "docs/third-party-licenses.txt"), text);
}

/** Found by its own place, through links, so that a link in `/usr/bin` will do. */
function writeStarter(at: string, name: string, program: string): void {
  const file = join(at, "bin", name);
  const lines = [
    "#!/bin/sh",
    'root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")',
    `exec "$root/node/bin/node" "$root/${program}" "$@"`,
  ];
  writeFileSync(file, `${lines.join("\n")}\n`);
  chmodSync(file, 0o755);
}
