/** What the cases look at in the machine, and load on its proxies that nothing may disturb. */
import { spawn } from "node:child_process";
import type { RuleList } from "../../../shared/api/rule-item.js";
import type { UsageSummary } from "../../../shared/api/usage-report.js";
import type { LoadReport } from "./load.js";
import { type Machine, waitFor } from "./machine.js";

export interface Case {
  readonly name: string;
  /** Returns what there is to say of it; rejects when it isn't so. */
  play(machine: Machine, given: Given): Promise<string>;
}

export interface Given {
  /** docs/systemd.md. */
  readonly page: string;
  /** How many stops are drawn at random in this machine, and from which seed. */
  readonly stops: number;
  readonly seed: number;
}

export const sluice = "node /opt/sluice/dist/programs/sluice.js";
export const keyFile = "/etc/sluice/secrets/master_key";

export function requireThat(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

/** A property of a unit, as systemd has it. */
export function property(machine: Machine, unit: string, name: string): string {
  return machine.sh(`systemctl show ${unit} --value -p ${name}`).trim();
}

export function mainPid(machine: Machine, unit: string): number {
  return Number(property(machine, unit, "MainPID"));
}

/** The block of the page after a heading, or the first one. */
export function block(page: string, heading = ""): string {
  const found = /```sh\n([^]*?)```/.exec(page.slice(page.indexOf(heading)));
  requireThat(found !== null, `the page has no block after ${heading}`);
  return found![1]!;
}

/** Of what the daemon has recorded and counted since the store was made. */
export function counted(machine: Machine): { readonly recorded: number; readonly counted: number } {
  const { usage } = JSON.parse(machine.sh(`${sluice} usage --json`)) as UsageSummary;
  const list = JSON.parse(machine.sh(`${sluice} limits list --json`)) as RuleList;
  return { recorded: usage.total_requests, counted: list.rate_limits[0]!.requests_used };
}

/** Load on a port, until the returned function is called. */
export function startLoad(machine: Machine, port: number): () => Promise<LoadReport> {
  const key = machine.sh(`cat ${keyFile}`).trim();
  const load = "/opt/sluice/dist/test/systemd/booted/load.js";
  const [program, ...args] = [...machine.enter, "node", load, key, String(port)];
  const child = spawn(program!, args, { stdio: ["pipe", "pipe", "inherit"], cwd: "/" });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  return async () => {
    child.stdin.end();
    await ended;
    return JSON.parse(text) as LoadReport;
  };
}

/** Whatever is done under load: nothing fails, and everything is counted once. */
export async function underLoad(machine: Machine, times: number, act: string): Promise<string> {
  const before = counted(machine);
  const stop = startLoad(machine, 8080);
  const startedMs = performance.now();
  try {
    for (let i = 0; i < times; i++) {
      machine.sh(act);
      // What waited meanwhile is served before the next.
      machine.sh("sleep 0.5");
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const eachMs = (performance.now() - startedMs) / times - 500;
  const { plain, streams, worstMs, failures } = await stop();
  requireThat(
    failures.length === 0,
    `${failures.length} failed, of ${plain + streams}: ${failures.slice(0, 5).join("; ")}`,
  );
  requireThat(
    streams > times / 10 && plain > times / 2,
    `only ${plain} requests, ${streams} streams`,
  );
  const truth = plain + streams;
  // What the last ones used is settled in a moment.
  const after = await waitFor(30_000, () => {
    const now = counted(machine);
    return now.recorded - before.recorded === truth ? now : null;
  }).catch(() => counted(machine));
  const [recorded, ofRule] = [after.recorded - before.recorded, after.counted - before.counted];
  requireThat(
    recorded === truth && ofRule === truth,
    `${truth} requests were answered, ${recorded} recorded, ${ofRule} counted`,
  );
  return `${times} times, ${eachMs.toFixed(0)} ms each; ${plain} requests and ${streams} streams, none refused, reset or cut, all counted; the slowest took ${worstMs.toFixed(0)} ms`;
}
