/** What the doctor reads of systemd's units on this host, beside those that this release ships. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface InstalledUnits {
  /** Those that are installed. */
  readonly units: readonly InstalledUnit[];
  /** The files that change them. */
  readonly dropIns: readonly string[];
}

interface InstalledUnit {
  readonly path: string;
  /** Whether it says what this release's says. */
  readonly isShipped: boolean;
}

/** Those that systemd takes first are first. */
const unitDirectories = ["/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system"];

/** `shippedIn`: the directory of the units of this release. */
export function readInstalledUnits(
  shippedIn: string,
  directories: readonly string[] = unitDirectories,
): InstalledUnits {
  const units: InstalledUnit[] = [];
  const dropIns: string[] = [];
  for (const name of namesIn(shippedIn).filter((each) =>
    /\.(?:service|socket|timer|target)$/.test(each),
  )) {
    const shipped = textOf(join(shippedIn, name));
    const path = directories.map((each) => join(each, name)).find((each) => textOf(each) !== null);
    if (path === undefined || shipped === null) continue;
    units.push({ path, isShipped: withoutPlaces(textOf(path) ?? "") === withoutPlaces(shipped) });
    for (const directory of directories)
      for (const dropIn of namesIn(join(directory, `${name}.d`)))
        if (dropIn.endsWith(".conf")) dropIns.push(join(directory, `${name}.d`, dropIn));
  }
  return { units, dropIns };
}

/** Where Sluice and its Node are is the host's: a package has its own. */
function withoutPlaces(unit: string): string {
  return unit
    .replaceAll(/\/\S*\/node(?=\s)/g, "NODE")
    .replaceAll(/\/\S*(?=\/(?:dist|systemd|docs)\/)/g, "SLUICE");
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    // It isn't there: nothing is installed in it.
    return [];
  }
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // It isn't there, or isn't this user's to read.
    return null;
  }
}
