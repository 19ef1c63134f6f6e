/** SDKs in a process each, which does one job after the other. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { clientEnvironment, clientsDirectory } from "../child.js";
import {
  type Client,
  type ClientDialect,
  deadlineMs,
  type Job,
  type Outcome,
  type Step,
} from "../client.js";

export interface Sdk {
  readonly id: string;
  readonly title: string;
  readonly dialect: ClientDialect;
  readonly steps: readonly Step[];
  readonly setUp: string;
  /** The program and its arguments; scripts are in this folder. */
  readonly command: readonly string[];
}

export function sdkClient(sdk: Sdk): Client {
  const { id, title, dialect, steps, setUp } = sdk;
  let running: SdkProcess | null = null;
  const endProcess = (): void => {
    running?.end();
    running = null;
  };
  return {
    id,
    title,
    dialect,
    steps,
    setUp,
    isThere: () => existsSync(sdk.command[0]!),
    async run(job) {
      running ??= new SdkProcess(sdk, job.directory);
      const outcome = await running.ask(job);
      // Some go on to fail with what they failed with once.
      if (!outcome.succeeded) endProcess();
      return outcome;
    },
    close: async () => endProcess(),
  };
}

class SdkProcess {
  readonly #child: ChildProcess;
  #answer: (outcome: Outcome) => void = () => {};
  #noise = "";

  constructor({ command }: Sdk, home: string) {
    mkdirSync(home, { recursive: true });
    const [program, ...args] = command;
    this.#child = spawn(program!, args, {
      cwd: `${clientsDirectory}sdks`,
      env: clientEnvironment(home, {}),
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child.stderr!.on("data", (text: Buffer) => (this.#noise += text.toString()));
    createInterface({ input: this.#child.stdout! }).on("line", (line) => {
      if (!line.startsWith("\u0001")) {
        this.#noise += line;
        return;
      }
      const said = JSON.parse(line.slice(1)) as { succeeded: boolean; output?: string | null };
      // An SDK may find no text.
      this.#answer({ isLate: false, succeeded: said.succeeded, output: said.output ?? "" });
    });
    this.#child.once("close", (code) => this.#fail(`ended with ${code}`));
    this.#child.once("error", (error) => this.#fail(String(error)));
    this.#child.stdin!.on("error", () => this.#fail("takes no job"));
  }

  #fail(why: string, isLate = false): void {
    this.#answer({ succeeded: false, isLate, output: `${why}: ${this.#noise}` });
  }

  ask({ step, url, key, model, prompt }: Job): Promise<Outcome> {
    return new Promise((resolve) => {
      const isLate = true;
      const timer = setTimeout(
        () => this.#fail(`no answer after ${deadlineMs} ms`, isLate),
        deadlineMs,
      );
      this.#answer = (outcome) => {
        clearTimeout(timer);
        resolve(outcome);
      };
      this.#child.stdin!.write(`${JSON.stringify({ step, url, key, model, prompt })}\n`);
    });
  }

  end(): void {
    this.#child.kill("SIGKILL");
  }
}
