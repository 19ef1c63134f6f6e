/** Streams that are counted on both sides: by the provider that answers them, and by the daemon. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { UsageSummary } from "../../../shared/api/usage-report.js";
import { type Machine, waitFor } from "./machine.js";
import type { StreamsOrder, StreamsReport } from "./streams.js";
import { keyFile, requireThat, sluice } from "./under-load.js";

/** The program `streams.ts` in the machine. */
export class Streams {
  readonly #child;
  readonly #ended: Promise<unknown>;
  readonly #lines: AsyncIterator<string>;
  readonly #key: string;

  constructor(machine: Machine) {
    const load = "/opt/sluice/dist/test/systemd/booted/streams.js";
    const [program, ...args] = [...machine.enter, "node", load];
    this.#key = machine.sh(`cat ${keyFile}`).trim();
    this.#child = spawn(program!, args, { stdio: ["pipe", "pipe", "inherit"], cwd: "/" });
    this.#ended = once(this.#child, "exit");
    // A reboot stops the program, and nsenter stops itself with it. The machine can't go down
    // before nsenter runs again and reaps its child.
    const going = setInterval(() => this.#child.kill("SIGCONT"), 200);
    void this.#ended.finally(() => clearInterval(going));
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** Resolves once each has begun. */
  async begin(order: Omit<StreamsOrder, "key">): Promise<void> {
    this.#child.stdin.write(`${JSON.stringify({ ...order, key: this.#key })}\n`);
    const line = await this.#line();
    requireThat(line === "begun", line);
  }

  /** Has all be reported once they have ended; the machine may go meanwhile. */
  report(): Promise<StreamsReport> {
    this.#child.stdin.write("report\n");
    return this.#line().then((line) => JSON.parse(line) as StreamsReport);
  }

  /** The provider ends with it. */
  async end(): Promise<void> {
    this.#child.stdin.end();
    await this.#ended;
  }

  async #line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error("the streams' program has ended");
    return value;
  }
}

export type Sums = StreamsReport["truth"];

export function recorded(machine: Machine): Sums {
  const { usage } = JSON.parse(machine.sh(`${sluice} usage --json`)) as UsageSummary;
  const {
    total_requests: requests,
    total_input_tokens: input,
    total_output_tokens: output,
  } = usage;
  return { requests, input, output };
}

/** What was recorded since `before` is what the provider has sent. */
export async function requireCounted(machine: Machine, before: Sums, truth: Sums): Promise<void> {
  const since = (): Sums => {
    const now = recorded(machine);
    return {
      requests: now.requests - before.requests,
      input: now.input - before.input,
      output: now.output - before.output,
    };
  };
  const isTruth = (sums: Sums): boolean => JSON.stringify(sums) === JSON.stringify(truth);
  const found = await waitFor(30_000, () => {
    const sums = since();
    return isTruth(sums) ? sums : null;
  }).catch(since);
  requireThat(
    isTruth(found),
    `the provider has sent ${JSON.stringify(truth)}, recorded is ${JSON.stringify(found)}`,
  );
}

export function requireWhole(report: StreamsReport, wanted: number): void {
  requireThat(
    report.completed === wanted,
    `${report.completed} of ${wanted} streams completed: ${report.failures.join("; ")}`,
  );
}
