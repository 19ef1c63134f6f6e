/** The load of `cluster.ts` on one host: as fast as it goes, or evenly over a time. */
import { setTimeout as delay } from "node:timers/promises";
import { type AdmissionPort, unattended } from "./admission-port.js";

export interface Counted {
  readonly admitted: number;
  readonly refused: number;
  /** Without a verdict: the engine didn't answer in time. */
  readonly unavailable: number;
}

const atOnce = 16;

/** A closed loop; each admission is settled at once. */
export function driveAtOnce(
  port: AdmissionPort,
  seconds: number,
  tenants: number,
): Promise<Counted> {
  const endAt = performance.now() + seconds * 1000;
  let working = atOnce;
  return new Promise((resolve, reject) => {
    const endIfDone = (): void => {
      if (working > 0 || tally.unsettled > 0) return;
      port.events = unattended;
      resolve(tally);
    };
    const next = (slot: number): void => {
      if (performance.now() < endAt) return port.admit(slot, (tally.admitted + slot) % tenants);
      working--;
      endIfDone();
    };
    const tally = settleAtOnce(port, { onAnswered: next, onSettled: endIfDone, onLost: reject });
    for (let slot = 0; slot < atOnce; slot++) next(slot);
  });
}

/** So many requests, spread evenly. */
export async function drivePaced(
  port: AdmissionPort,
  {
    requests,
    seconds,
    tenants,
  }: { readonly requests: number; readonly seconds: number; readonly tenants: number },
): Promise<Counted> {
  let lost: Error | null = null;
  const tally = settleAtOnce(port, {
    onAnswered() {},
    onSettled() {},
    onLost(error) {
      lost = error;
    },
  });
  const startedMs = performance.now();
  for (let sent = 0; sent < requests && lost === null; ) {
    const due = Math.min(
      requests,
      Math.ceil(((performance.now() - startedMs) / (seconds * 1000)) * requests),
    );
    for (; sent < due; sent++) port.admit(sent, sent % tenants);
    await delay(5);
  }
  const answered = (): number => tally.admitted + tally.refused + tally.unavailable;
  while (lost === null && (answered() < requests || tally.unsettled > 0)) await delay(5);
  port.events = unattended;
  if (lost !== null) throw lost;
  return tally;
}

interface Watcher {
  /** Whatever the answer was. */
  onAnswered(slot: number): void;
  onSettled(): void;
  onLost(error: Error): void;
}

/** Counts what a port answers, from now on; what is admitted is settled at once. */
function settleAtOnce(port: AdmissionPort, { onAnswered, onSettled, onLost }: Watcher) {
  const tally = { admitted: 0, refused: 0, unavailable: 0, unsettled: 0 };
  port.events = {
    onVerdict(slot, isAdmitted) {
      if (isAdmitted) {
        tally.admitted++;
        tally.unsettled++;
        port.settle(slot);
      } else tally.refused++;
      onAnswered(slot);
    },
    onUnavailable(slot) {
      tally.unavailable++;
      onAnswered(slot);
    },
    onSettled(settles) {
      tally.unsettled -= settles;
      onSettled();
    },
    onLost,
  };
  return tally;
}
