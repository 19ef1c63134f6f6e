/**
 * The backups in a directory, of which the latest are kept. Files with other names are left alone.
 */
import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

const backupName = /^limiterd-\d{8}T\d{6}Z\.mdb$/;
/** The partial file of a killed backup: see `beginExportFile`. */
const partial = /^\.limiterd-\d{8}T\d{6}Z\.mdb\.[0-9a-f]{8}\.partial$/;

/** Names sort by time. */
export function keptPath(directory: string, nowMs: number): string {
  const time = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, "");
  return join(directory, `limiterd-${time}.mdb`);
}

/**
 * Keeps the new, verified backup and the latest others, `keep` in all, and removes the rest. It
 * keeps the new one whatever its time. Resolves with the removed files.
 */
export async function removeOlder(newBackup: string, keep: number): Promise<readonly string[]> {
  const directory = dirname(newBackup);
  const files = (await readdir(directory, { withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
  const olderBackups = files
    .filter((name) => backupName.test(name) && name !== basename(newBackup))
    .sort();
  const older = olderBackups.slice(0, Math.max(0, olderBackups.length - (keep - 1)));
  const unfinished = files.filter((name) => partial.test(name));
  const paths = [...older, ...unfinished].map((name) => join(directory, name));
  for (const path of paths) await rm(path);
  return paths;
}
