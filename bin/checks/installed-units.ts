/** The doctor's readings of systemd's units on this host, compared with those of this release. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface InstalledUnits {
  /** The installed units. */
  readonly units: readonly InstalledUnit[];
  /** The drop-in files that modify them. */
  readonly dropIns: readonly string[];
}

interface InstalledUnit {
  readonly path: string;
  /** Whether it equals the unit of this release. */
  readonly isShipped: boolean;
}

/** In systemd's order of precedence. */
const unitDirectories = ["/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system"];

/** `shippedIn`: the directory of the units of this release. */
export function readInstalledUnits(
  shippedIn: string,
  directories: readonly string[] = unitDirectories,
): InstalledUnits {
  const units: InstalledUnit[] = [];
  const dropIns: string[] = [];
  for (const name of namesIn(shippedIn).filter((file) =>
    /\.(?:service|socket|timer|target)$/.test(file),
  )) {
    const shipped = fileText(join(shippedIn, name));
    const path = directories
      .map((folder) => join(folder, name))
      .find((candidate) => fileText(candidate) !== null);
    if (path === undefined || shipped === null) continue;
    units.push({ path, isShipped: withoutPlaces(fileText(path) ?? "") === withoutPlaces(shipped) });
    for (const directory of directories)
      for (const dropIn of namesIn(join(directory, `${name}.d`)))
        if (dropIn.endsWith(".conf")) dropIns.push(join(directory, `${name}.d`, dropIn));
  }
  return { units, dropIns };
}

/** Removes the paths of Sluice and Node, which differ between packages. */
function withoutPlaces(unit: string): string {
  return unit
    .replaceAll(/\/\S*\/node(?=\s)/g, "NODE")
    .replaceAll(/\/\S*(?=\/(?:dist|systemd|docs)\/)/g, "SLUICE");
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    // The directory doesn't exist: nothing is installed in it.
    return [];
  }
}

function fileText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The file doesn't exist, or this user may not read it.
    return null;
  }
}
