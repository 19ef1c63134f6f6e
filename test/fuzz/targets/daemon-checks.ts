/** What holds in a daemon whatever its peers said: counts make sense, and gauges come to rest. */
import type { Counter } from "../../../limiterd/counters/counter.js";
import { sumUsd } from "../../../shared/domain/money.js";
import type { TestDaemon } from "../../limiterd/in-memory-daemon.js";
import { must } from "../fuzz-target.js";

const isSane = (count: number): boolean => Number.isSafeInteger(count) && count >= 0;

/** Every count is a whole number from 0 up. */
export function mustCountSanely({ state }: TestDaemon): void {
  for (const rule of state.book.rules.values()) {
    if (rule.own === null) continue;
    const { window, inFlight }: Counter = rule.own;
    for (const [name, count] of Object.entries({ ...window, inFlight }))
      must(
        typeof count !== "number" || isSane(count),
        () => `${name} of the rule ${JSON.stringify(rule.id)} is ${String(count)}`,
      );
  }
  const { cost, settledParts, ...counts } = state.counts;
  for (const [name, count] of Object.entries({ ...counts, ...settledParts }))
    must(isSane(count), () => `the count ${name} is ${count}`);
  const usd = sumUsd(cost);
  must(usd >= 0 && Number.isFinite(usd), () => `the cost of all requests is ${usd}`);
}

/** With no peer left, no slot is held. */
export function mustBeIdle({ state }: TestDaemon): void {
  must(state.peers.size === 0, "a peer is left");
  for (const rule of state.book.rules.values())
    must(
      rule.own === null || rule.own.inFlight === 0,
      () => `${rule.own!.inFlight} slots of the rule ${JSON.stringify(rule.id)} are held by nobody`,
    );
}

/** Lets commits end until something that waits for them is done. */
export async function committing(daemon: TestDaemon, done: Promise<void>): Promise<void> {
  let waits = true;
  const ended = done.finally(() => {
    waits = false;
  });
  // It may fail while a commit is awaited; it is told at the end.
  ended.catch(() => {});
  while (waits) await daemon.commit();
  await ended;
}
