/**
 * What each test file runs when there is no fault, and how long it takes. It is measured once, and
 * kept until one of the files changes that the test loads: a line is tried again, after a test was
 * written for it, without measuring hundreds of others.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Coverage, Interval } from "./coverage.js";
import { type Copy, root, type TestFile } from "./run-mutation.js";

interface Kept {
  /** Of what `loaded` holds, and of the versions of all packages. */
  readonly digest: string;
  readonly loaded: readonly string[];
  readonly ms: number;
  readonly coverage: readonly (readonly [file: string, run: readonly Interval[]])[];
}

export class MeasuredTests {
  readonly #directory = join(root, "node_modules/.cache/sluice-mutants");
  readonly #digests = new Map<string, string>();
  readonly #packages = readFileSync(join(root, "package-lock.json"), "utf8");

  readonly #dist: string;

  /** `dist`: of a copy in which nothing is planted yet; what was compiled may change meanwhile. */
  constructor(dist: string) {
    this.#dist = dist;
  }

  /** Null for a test that fails without any fault. */
  async get(file: string, copy: Copy): Promise<TestFile | null> {
    return this.#kept(file) ?? (await this.#measure(file, copy));
  }

  #kept(file: string): TestFile | null {
    try {
      const kept = JSON.parse(readFileSync(this.#placeOf(file), "utf8")) as Kept;
      if (kept.digest !== this.#digestOf(kept.loaded)) return null;
      return { file, ms: kept.ms, coverage: new Map(kept.coverage) };
    } catch (error) {
      // Not measured yet, one of its files is gone, or half of it was written.
      if (error instanceof SyntaxError || (error as { code?: unknown }).code === "ENOENT")
        return null;
      throw error;
    }
  }

  async #measure(file: string, copy: Copy): Promise<TestFile | null> {
    const measured = await copy.measure(file);
    if (measured === null) return null;
    const loaded = [...measured.coverage.keys()];
    const test = { ...measured, coverage: withoutTests(measured.coverage) };
    const kept: Kept = {
      digest: this.#digestOf(loaded),
      loaded,
      ms: test.ms,
      coverage: [...test.coverage],
    };
    // Here each time: an `npm ci` takes it away.
    mkdirSync(this.#directory, { recursive: true });
    writeFileSync(this.#placeOf(file), JSON.stringify(kept));
    return test;
  }

  #placeOf(file: string): string {
    return join(this.#directory, `${file.replaceAll("/", " ")}.json`);
  }

  #digestOf(files: readonly string[]): string {
    const hash = createHash("sha256").update(this.#packages);
    for (const file of files) hash.update(this.#fileDigest(file));
    return hash.digest("hex");
  }

  #fileDigest(file: string): string {
    const known = this.#digests.get(file);
    if (known !== undefined) return known;
    const digest = createHash("sha256")
      .update(readFileSync(join(this.#dist, file)))
      .digest("hex");
    this.#digests.set(file, digest);
    return digest;
  }
}

/** Faults are planted in none of them. */
function withoutTests(coverage: Coverage): Coverage {
  return new Map([...coverage].filter(([file]) => !file.startsWith("test/")));
}
