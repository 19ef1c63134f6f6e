/**
 * Runs tests against a copy of the compiled product in which one fault was planted.
 */
import { type ChildProcess, spawn } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Coverage, isRun, readCoverage } from "./coverage.js";

export const dist = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
export const root = dirname(dist);

const measureTimeoutMs = 300_000;

/** A test file without any fault: how long it takes, and what it runs. */
export interface TestFile {
  /** Below `dist/`. */
  readonly file: string;
  readonly ms: number;
  readonly coverage: Coverage;
}

/** A copy of what was compiled, in which one file at a time is exchanged. */
export class Copy {
  readonly #directory = mkdtempSync(join(tmpdir(), "sluice-mutation-"));
  readonly dist = join(this.#directory, "dist");
  readonly #running = new Set<ChildProcess>();

  constructor() {
    cpSync(dist, this.dist, { recursive: true });
    for (const name of readdirSync(root))
      if (name !== "dist" && !name.startsWith("."))
        symlinkSync(join(root, name), join(this.#directory, name));
  }

  /** @param file below `dist/`. */
  put(file: string, text: string): void {
    writeFileSync(join(this.dist, file), text);
  }

  /** Null for one that fails as it is, twice: it would notice every fault. */
  async measure(file: string): Promise<TestFile | null> {
    const coverageDirectory = join(this.#directory, "coverage", file);
    mkdirSync(coverageDirectory, { recursive: true });
    const env = { NODE_V8_COVERAGE: coverageDirectory };
    for (let attempt = 0; attempt < 2; attempt++) {
      const startMs = performance.now();
      if (!(await this.#passes([file], measureTimeoutMs, env))) continue;
      const ms = performance.now() - startMs;
      return { file, ms, coverage: readCoverage(coverageDirectory, this.dist) };
    }
    return null;
  }

  /**
   * Whether these tests pass: a source file's own, and then the others, in a process for each of
   * the two: most faults are noticed at once, and to load a test takes longer than to run it. One
   * that takes several times as long as without a fault hangs.
   */
  async passes(tests: readonly TestFile[], source: string): Promise<boolean> {
    const own = `test/${source.replace(/js$/, "test.js")}`;
    const isOwn = ({ file }: TestFile): boolean => file === own;
    for (const some of [tests.filter(isOwn), tests.filter((test) => !isOwn(test))]) {
      if (some.length === 0) continue;
      const ms = some.reduce((sum, test) => sum + test.ms, 0);
      const files = some.map(({ file }) => file);
      if (!(await this.#passes(files, 10_000 + 4 * ms))) return false;
    }
    return true;
  }

  #passes(
    files: readonly string[],
    timeoutMs: number,
    env: Readonly<Record<string, string>> = {},
  ): Promise<boolean> {
    return new Promise((resolve) => {
      const child = spawn(process.execPath, [join(this.dist, "test/mutation/run-files.js")], {
        cwd: this.#directory,
        stdio: "ignore",
        env: {
          ...process.env,
          ...env,
          SLUICE_TEST_FILES: JSON.stringify(files.map((file) => join(this.dist, file))),
          TAP_BAIL: "1",
          TAP_TIMEOUT: String(Math.ceil(timeoutMs / 1000)),
        },
      });
      this.#running.add(child);
      const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
      child.on("exit", (code) => {
        clearTimeout(timer);
        this.#running.delete(child);
        resolve(code === 0);
      });
    });
  }

  remove(): void {
    for (const child of this.#running) child.kill("SIGKILL");
    // One that is being killed may still write something.
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** The tests that run a place, the fast ones before the slow. */
export function testsOf(
  tests: readonly TestFile[],
  { file, start }: { readonly file: string; readonly start: number },
): TestFile[] {
  return tests.filter(({ coverage }) => isRun(coverage, file, start)).sort((a, b) => a.ms - b.ms);
}

/**
 * The compiled test files of a folder below `test/`, with the folders in it. Read from the sources:
 * what a moved or deleted test has left in `dist/` isn't run.
 */
export function testFilesIn(folder: string): string[] {
  return readdirSync(join(root, "test", folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => `test/${folder}/${file.replace(/ts$/, "js")}`)
    .sort();
}
