/** The npm package, and a copy that is installed as its users do. */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { bundledPackages, bundles, manifestIn } from "./licences.js";
import { repository, run } from "./run.js";

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

/**
 * The packages that come with Sluice, with their versions and licences, as CycloneDX: those that
 * are installed beside it, with their hashes, and those that are bundled into its own files. The
 * file, in the folder `into`. npm is shown a project without what development needs: with
 * `--omit=dev` it leaves out what both need.
 */
export function writeBillOfMaterials(into: string): string {
  const project = join(into, "bill-of-materials");
  mkdirSync(project, { recursive: true });
  const { devDependencies: _tools, ...manifest } = readJson("package.json") as Manifest;
  const lock = lockWithoutTools();
  const packages = Object.entries(lock.packages).map(
    ([place, { devDependencies: _none, ...locked }]) => [place, locked],
  );
  writeFileSync(join(project, "package.json"), JSON.stringify(manifest));
  const needed = { ...lock, packages: Object.fromEntries(packages) };
  writeFileSync(join(project, "package-lock.json"), JSON.stringify(needed));
  const args = ["sbom", "--package-lock-only", "--sbom-format=cyclonedx"];
  const file = join(into, `sluice-${manifest.version}.cdx.json`);
  const bom = JSON.parse(run("npm", args, { cwd: project })) as { components: object[] };
  bom.components.push(...bundledComponents());
  writeFileSync(file, `${JSON.stringify(bom, null, 2)}\n`);
  rmSync(project, { recursive: true });
  return file;
}

/** What isn't installed beside Sluice, but is in its own files. */
function bundledComponents(): readonly object[] {
  return Object.values(bundles)
    .flatMap((bundle) => bundledPackages(repository, bundle))
    .map((place) => {
      const { name, version, license } = manifestIn(join(repository, place));
      const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
      const licence = license === undefined ? {} : { licenses: [{ license: { id: license } }] };
      return {
        "bom-ref": purl,
        type: "library",
        name,
        version,
        scope: "required",
        purl,
        ...licence,
      };
    });
}

interface Manifest {
  readonly version: string;
  readonly devDependencies?: object;
}

interface Lock {
  readonly packages: Readonly<
    Record<string, { dev?: boolean; devOptional?: boolean; devDependencies?: object }>
  >;
}

/** The lock without what is there for development, such as a type checker that a package uses. */
export function lockWithoutTools(): Lock {
  const lock = readJson("package-lock.json") as Lock;
  const needed = Object.entries(lock.packages).filter(
    ([, { dev, devOptional }]) => !dev && !devOptional,
  );
  return { ...lock, packages: Object.fromEntries(needed) };
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(join(repository, file), "utf8"));
}
