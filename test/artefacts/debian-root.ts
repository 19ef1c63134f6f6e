/** Roots of Debian's packages, as archives. */
import { existsSync, renameSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./run.js";

const suite = "bookworm";

interface DebianRoot {
  readonly name: string;
  /** Of mmdebstrap: `extract` runs none of the packages' scripts. */
  readonly variant: "apt" | "extract";
  readonly packages: readonly string[];
}

/** The archive; made once, in half a minute, and kept among the temporary files. */
export function debianRoot({ name, variant, packages }: DebianRoot): string {
  const archive = join(tmpdir(), `sluice-${name}-${suite}.tar`);
  if (existsSync(archive)) return archive;
  const made = `${archive}.${process.pid}`;
  run("mmdebstrap", [
    ...["--quiet", "--mode=root", `--variant=${variant}`, "--format=tar"],
    `--include=${packages.join(",")}`,
    ...[suite, made, `deb http://deb.debian.org/debian ${suite} main`],
  ]);
  renameSync(made, archive);
  return archive;
}
