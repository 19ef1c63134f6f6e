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
  let [admitted, refused, unavailable, unsettled, working] = [0, 0, 0, 0, atOnce];
  return new Promise((resolve, reject) => {
    const endIfDone = (): void => {
      if (working > 0 || unsettled > 0) return;
      port.events = unattended;
      resolve({ admitted, refused, unavailable });
    };
    const next = (slot: number): void => {
      if (performance.now() < endAt) return port.admit(slot, (admitted + slot) % tenants);
      working--;
      endIfDone();
    };
    port.events = {
      onVerdict(slot, isAdmitted) {
        if (isAdmitted) {
          admitted++;
          unsettled++;
          port.settle(slot);
        } else refused++;
        next(slot);
      },
      onUnavailable(slot) {
        unavailable++;
        next(slot);
      },
      onSettled(settles) {
        unsettled -= settles;
        endIfDone();
      },
      onLost: reject,
    };
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
  let [admitted, refused, unavailable, unsettled] = [0, 0, 0, 0];
  let lost: Error | null = null;
  const free = Array.from({ length: requests }, (_, slot) => slot);
  port.events = {
    onVerdict(slot, isAdmitted) {
      if (isAdmitted) {
        admitted++;
        unsettled++;
        port.settle(slot);
      } else refused++;
    },
    onUnavailable() {
      unavailable++;
    },
    onSettled(settles) {
      unsettled -= settles;
    },
    onLost(error) {
      lost = error;
    },
  };
  const startedMs = performance.now();
  for (let sent = 0; sent < requests && lost === null; ) {
    const due = Math.min(
      requests,
      Math.ceil(((performance.now() - startedMs) / (seconds * 1000)) * requests),
    );
    for (; sent < due; sent++) port.admit(free[sent]!, sent % tenants);
    await delay(5);
  }
  while (lost === null && (admitted + refused + unavailable < requests || unsettled > 0))
    await delay(5);
  port.events = unattended;
  if (lost !== null) throw lost;
  return { admitted, refused, unavailable };
}
