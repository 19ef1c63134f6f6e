/**
 * Keeps what was parsed of a large configuration file, so that the next start with the same bytes
 * does without parsing them, which takes a second and more for 100,000 rules. Whatever is wrong
 * with what was kept, the file is parsed: it never decides what the configuration is, only how fast
 * it is read.
 */
import { readFileSync, realpathSync } from "node:fs";
import type { Config } from "../config.js";
import type { ParsedFile } from "../file/parsed-file.js";
import { readKept, writeKept } from "./kept-file.js";
import { type Keeper, keptPlaces } from "./kept-places.js";
import { openParsed, type Reader, sealParsed } from "./seal-parsed.js";

/** A smaller file is parsed in the time that finding out takes. */
const fileBytesMin = 256 * 1024;

export class KeptConfiguration {
  readonly #keeper: Keeper;
  readonly #reader: () => Reader | null;
  #sealed: Buffer | null = null;

  /** `reader`: tests pass their own. */
  constructor(keeper: Keeper, reader: () => Reader | null = runningProgram) {
    this.#keeper = keeper;
    this.#reader = reader;
  }

  /** What was kept of this very file by this very program, or null. */
  find(file: Buffer, process: Parameters<typeof keptPlaces>[2]): ParsedFile | null {
    const reader = file.length < fileBytesMin ? null : this.#reader();
    if (reader === null) return null;
    for (const directory of keptPlaces(this.#keeper, file, process)) {
      const sealed = readKept(directory);
      const parsed = sealed === null ? null : openParsed(sealed, file, reader);
      if (parsed !== null) return parsed;
    }
    return null;
  }

  /** Notes what was parsed of a valid file; `write` keeps it. */
  note(file: Buffer, parsed: ParsedFile): void {
    const reader = file.length < fileBytesMin ? null : this.#reader();
    if (reader !== null) this.#sealed = sealParsed(parsed, file, reader);
  }

  /**
   * To be called when the process answers. Rejects when it can't be written: the next start is as
   * slow as this one was.
   */
  async write({ limiter }: Pick<Config, "limiter">): Promise<void> {
    const sealed = this.#sealed;
    this.#sealed = null;
    if (sealed !== null)
      await writeKept(this.#keeper === "proxy" ? limiter.spoolDir : limiter.dataDir, sealed);
  }
}

/** Null for a program that isn't in one file: it might change without this file. */
function runningProgram(): Reader | null {
  const [, program] = process.argv;
  const file = import.meta.filename;
  if (program === undefined || realpathSync(program) !== file) return null;
  return { program: readFileSync(file), runtime: process.version };
}
