/** What `sluice verify` runs, as a package carries it: compiled files and all that they import. */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { run } from "./run.js";

/** Below `dist/`: those that are started. */
const started = [
  "test/verify/main.js",
  "test/sim/main.js",
  "test/bench/overshoot/provider.js",
] as const;

/**
 * Copies them from `dist` to `into`, a folder beside the programs, with the versions of the
 * packages that Sluice was tested with.
 */
export function copyVerifyFiles(dist: string, into: string, packages: object): void {
  rmSync(into, { recursive: true, force: true });
  const files = verifyFiles(dist);
  for (const file of files) {
    mkdirSync(dirname(join(into, file)), { recursive: true });
    copyFileSync(join(dist, file), join(into, file));
  }
  writeFileSync(join(into, "package.json"), `${JSON.stringify({ type: "module" })}\n`);
  const versions = Object.entries(packages as Record<string, { version?: string }>).map(
    ([place, { version }]) => [place, { version }],
  );
  const listed = { packages: Object.fromEntries(versions) };
  writeFileSync(join(into, "packages.json"), `${JSON.stringify(listed)}\n`);
}

/** The files, below `dist`. */
export function verifyFiles(dist: string): ReadonlySet<string> {
  const files = new Set<string>();
  for (const file of started) addImports(dist, file, files);
  return files;
}

function addImports(dist: string, file: string, files: Set<string>): void {
  if (files.has(file)) return;
  files.add(file);
  const text = readFileSync(join(dist, file), "utf8");
  for (const [, from] of text.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g))
    addImports(dist, normalize(join(dirname(file), from!)), files);
}

/** Runs it for a short time with a fixed seed; what it has found. */
export function verifyShortly(sluice: string): object {
  return JSON.parse(run(sluice, ["verify", "--minutes", "0.2", "--seed", "1", "--json"])) as object;
}

/** What it must have found. */
export const verified = {
  seed: "0x00000001",
  packages: { different: 0 },
  simulation: { violations: 0 },
  problems: { length: 0 },
};
