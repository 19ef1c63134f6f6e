/**
 * The frame of a benchmark: a directory and processes of its own, both gone at its end, however it
 * ends.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { createProcesses, type Processes } from "./processes.js";

/** Sets the exit code to what `run` resolves to, and to 1 when it fails. */
export async function withProcesses(
  name: string,
  run: (processes: Processes, dir: string) => Promise<number>,
): Promise<void> {
  const dir = mkdtempSync(join(os.tmpdir(), `sluice-${name}-`));
  const processes = createProcesses(dir);
  const clearAway = async (): Promise<void> => {
    await processes.stopAll();
    rmSync(dir, { recursive: true, force: true });
  };
  const interruption = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      interruption.abort();
      void clearAway().finally(() => process.exit(130));
    });
  }
  try {
    process.exitCode = await run(processes, dir);
  } catch (error) {
    // An interrupted run needs no explanation.
    if (!interruption.signal.aborted)
      process.stderr.write(
        `the benchmark couldn't run: ${error instanceof Error ? error.message : String(error)}\n`,
      );
    process.exitCode = 1;
  } finally {
    await clearAway();
  }
}
