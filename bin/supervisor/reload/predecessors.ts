/**
 * The processes that a service has replaced and that may still run: each hands the list to its
 * successor. The main process waits for them before it ends, since systemd may kill the rest of a
 * unit as soon as its main process has ended.
 */
import { setTimeout as delay } from "node:timers/promises";
import { processStat } from "../../../shared/supervision/process-stat.js";

/** A process by its id and its start, as `PID.TICKS`. */
export type Predecessor = string;

const variable = "SLUICE_PREDECESSORS";
const pollMs = 50;

/** Reads and removes the variable, so that no process started later takes the list for its own. */
export function takePredecessors(env: Record<string, string | undefined>): readonly Predecessor[] {
  const list = env[variable] ?? "";
  delete env[variable];
  return list.split(" ").filter((id) => /^\d{1,10}\.\d{1,20}$/.test(id));
}

/** The variable for the successor of `pid`: this process, and its predecessors that still run. */
export function predecessorsVariable(
  before: readonly Predecessor[],
  pid: number,
): Readonly<Record<string, string>> {
  const self = `${pid}.${processStat(pid)?.startTicks}`;
  return { [variable]: [...before.filter(isRunning), self].join(" ") };
}

/** Resolves when none of them runs, or after `msMax`. */
export async function waitForEnd(
  predecessors: readonly Predecessor[],
  msMax: number,
): Promise<void> {
  const until = performance.now() + msMax;
  while (performance.now() < until && predecessors.some(isRunning)) await delay(pollMs);
}

function isRunning(predecessor: Predecessor): boolean {
  const [pid, ticks] = predecessor.split(".");
  return processStat(Number(pid))?.startTicks === ticks;
}
