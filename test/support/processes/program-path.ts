/**
 * Where the programs are that tests start: in `dist/programs/`, bundled as they are shipped. After
 * `npx tsc -p .` alone the modules in `dist/` are newer, and they are the same program.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ownDist = fileURLToPath(new URL("../../..", import.meta.url));

type Program = "sluice" | "sluice-proxy" | "sluice-limiterd";

/** `dist`: of another checkout, which may be too old to have `programs/`. */
export function programPath(program: Program, dist: string = ownDist): string {
  const bundle = join(dist, "programs", `${program}.js`);
  // tsc writes this file whenever it has compiled anything.
  const compiled = changedMs(join(dist, ".tsbuildinfo"));
  return changedMs(bundle) > compiled ? bundle : join(dist, "bin", `${program}.js`);
}

/** 0: there is no such file. */
function changedMs(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
