/**
 * How the previous proxy ended, for the metrics: drained, cut or killed. A file exists while a
 * process runs; one that a dead process left behind means that it was killed. Another file keeps
 * the last outcome for the next start.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject, parseJson } from "../shared/checked.js";
import { processStat } from "../shared/supervision/process-stat.js";
import { isMoment } from "../shared/time.js";

export interface StopOutcome {
  readonly atMs: number;
  /** Whether no request was cut, and every settle was sent or spooled. */
  readonly drained: boolean;
}

const outcomeFile = "last-stop.json";
const runningFile = /^running-(\d{1,10})-(\d{1,20})$/;

export class LastStop {
  readonly #directory: string;
  #own: string | null = null;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Marks this process as running, and records processes that were killed. Rejects with the
   * system's error.
   */
  async begin(nowMs: number): Promise<void> {
    await mkdir(this.#directory, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    for (const name of await readdir(this.#directory)) {
      const [, pid, ticks] = runningFile.exec(name) ?? [];
      if (pid === undefined) continue;
      // In a container the next process often has the same pid.
      if (Number(pid) !== process.pid && processStat(Number(pid))?.startTicks === ticks) continue;
      await this.#write({ atMs: nowMs, drained: false });
      await rm(join(this.#directory, name), { force: true });
    }
    const ticks = processStat(process.pid)?.startTicks ?? "0";
    this.#own = join(this.#directory, `running-${process.pid}-${ticks}`);
    await writeFile(this.#own, "", { mode: 0o600 });
  }

  /** Records how this process ends. Rejects with the system's error. */
  async end(outcome: StopOutcome): Promise<void> {
    if (this.#own === null) return;
    await this.#write(outcome);
    await rm(this.#own, { force: true });
  }

  /** The last outcome, also of a predecessor that ended after our start; null if unknown. */
  async read(): Promise<StopOutcome | null> {
    const text = await readFile(join(this.#directory, outcomeFile), "utf8").catch(() => "");
    const value = parseJson(text);
    if (!isObject(value)) return null;
    const { at_ms: atMs, drained } = value;
    return isMoment(atMs) && typeof drained === "boolean" ? { atMs, drained } : null;
  }

  async #write({ atMs, drained }: StopOutcome): Promise<void> {
    const path = join(this.#directory, outcomeFile);
    const temporary = `${path}.${process.pid}`;
    await writeFile(temporary, `${JSON.stringify({ at_ms: atMs, drained })}\n`, { mode: 0o600 });
    await rename(temporary, path);
  }
}
