/**
 * Runs the tests of a file against a copy of the compiled product in which one fault was planted.
 */
import { spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const dist = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const root = dirname(dist);

/** A copy of what was compiled, in which one file at a time is exchanged. */
export class Copy {
  readonly #directory = mkdtempSync(join(tmpdir(), "sluice-mutation-"));

  constructor() {
    cpSync(dist, join(this.#directory, "dist"), { recursive: true });
    for (const name of [
      "node_modules",
      "package.json",
      "docs",
      "test",
      "proxy",
      "limiterd",
      "shared",
      "bin",
    ])
      symlinkSync(join(root, name), join(this.#directory, name));
  }

  /** @param file below `dist/`. */
  put(file: string, text: string): void {
    writeFileSync(join(this.#directory, "dist", file), text);
  }

  /** Whether the tests of these files pass, each within the time. */
  async passes(tests: readonly string[], timeoutMs: number): Promise<boolean> {
    for (const test of tests) {
      if (!(await this.#passes(test, timeoutMs))) return false;
    }
    return true;
  }

  #passes(test: string, timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const child = spawn(
        process.execPath,
        ["--enable-source-maps", join(this.#directory, "dist", test)],
        {
          cwd: this.#directory,
          stdio: "ignore",
          env: { ...process.env, TAP_BAIL: "1", TAP_TIMEOUT: String(timeoutMs / 1000) },
        },
      );
      const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
      child.on("exit", (code) => {
        clearTimeout(timer);
        resolve(code === 0);
      });
    });
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/**
 * The tests that answer for a file, below `dist/`: first its own, then the others of its room, then
 * all of its program.
 */
export function testsFor(file: string): string[] {
  const own = `test/${file.replace(/\.js$/, ".test.js")}`;
  const room = dirname(own);
  const inRoom = existsSync(join(dist, room))
    ? readdirSync(join(dist, room))
        .filter((name) => name.endsWith(".test.js"))
        .map((name) => `${room}/${name}`)
    : [];
  const program = `test/${file.slice(0, file.indexOf("/"))}.test.js`;
  return [...inRoom.sort((a, b) => Number(b === own) - Number(a === own)), program];
}
