/** The npm package, and a copy that is installed as its users do. */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { run } from "./run.js";

/** The package's file, in the folder `into`. */
export function packNpm(into: string): string {
  mkdirSync(into, { recursive: true });
  return join(into, run("npm", ["pack", "--silent", "--pack-destination", into]).trim());
}

/**
 * Installs a package into a project of its own at `project`, without scripts. `spec`: its name, or
 * its file; `registry`: an address, if not the one that this machine uses.
 */
export async function installNpm(spec: string, project: string, registry?: string): Promise<void> {
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, "package.json"), '{"name":"app","version":"1.0.0","private":true}');
  const args = ["install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", spec];
  if (registry !== undefined) args.push(`--registry=${registry}`);
  await promisify(execFile)("npm", args, { cwd: project });
}

/** The packages that come with Sluice, with their versions, hashes and licences, as CycloneDX. */
export function billOfMaterials(): string {
  const args = ["--package-lock-only", "--omit=dev", "--sbom-format=cyclonedx"];
  return run("npm", ["sbom", ...args]);
}
