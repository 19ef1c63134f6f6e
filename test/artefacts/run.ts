/** Programs that build artefacts: run to their end, and what they said is told when they fail. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

export const repository = fileURLToPath(new URL("../../../", import.meta.url));

interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** What it printed. */
export function run(program: string, args: readonly string[], options: RunOptions = {}): string {
  const { status, signal, error, stdout, stderr } = spawnSync(program, args, {
    cwd: options.cwd ?? repository,
    env: options.env ?? process.env,
    encoding: "utf8",
    maxBuffer: 256 * 1024 * 1024,
  });
  if (status === 0) return stdout;
  const end = error?.message ?? signal ?? `exit code ${status}`;
  throw new Error(`${program} ${args.join(" ")}: ${end}\n${stdout}${stderr}`.trimEnd());
}

/** Which of the programs aren't there, in words; null: all are. */
export function notInstalled(programs: readonly string[]): string | null {
  const missing = programs.filter(
    (program) => spawnSync(program, ["--version"]).error !== undefined,
  );
  return missing.length > 0 ? `${missing.join(" and ")} isn't installed` : null;
}

/** Leaves an artefact in the folder that `SLUICE_ARTEFACTS` names, where it is wanted. */
export function keep(file: string): void {
  const folder = process.env["SLUICE_ARTEFACTS"];
  if (folder === undefined || folder === "") return;
  mkdirSync(folder, { recursive: true });
  copyFileSync(file, join(folder, basename(file)));
}
