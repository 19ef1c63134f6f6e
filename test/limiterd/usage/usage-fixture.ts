/**
 * What the tests of usage share: requests that are settled, and what the daemon reports and keeps.
 */
import t from "tap";
import { recordsFromStored, type UsageRecord } from "../../../limiterd/usage/usage-records.js";
import type { MoneySum } from "../../../shared/domain/money.js";
import type { MemoryStore } from "../../support/memory-store.js";
import {
  ask,
  executed,
  settleOf,
  type TestDaemon,
  type TestPeer,
  target,
} from "../in-memory-daemon.js";

export const dayMs = 86_400_000;
export const noonMs = Date.parse("2026-03-10T12:00:00Z");
export const today = { user_path: "/", start_date: "2026-03-10", end_date: "2026-03-10" };

/** What of a settle is not in its record. */
interface Settled {
  readonly model?: string;
  readonly endedAgoMs?: number;
  readonly estimated?: boolean;
}

type Spent = Parameters<typeof executed>[0] & { settled?: Settled };

/** Settles one request on a path, sent without an admission. */
export function spend(peer: TestPeer, seq: number, userPath: string, spent: Spent = {}): void {
  t.ok(peer.send(spending(seq, userPath, spent)), "the settle is taken");
}

/** What `spend` sends. */
export function spending(
  seq: number,
  userPath: string,
  { settled = {}, ...changes }: Spent = {},
): ReturnType<typeof settleOf> {
  const { model = target.model, endedAgoMs = 0, estimated = false } = settled;
  const lease = {
    lease: 0,
    userPath,
    admittedAtMs: 0,
    lsn: 0,
    target: { provider: target.provider, model },
    targetAtMs: 0,
    targetLsn: 0,
    submission: false,
  };
  const record = executed({ model, ...changes });
  return {
    ...settleOf(lease, seq, record.inputTokens + record.outputTokens, { ended: endedAgoMs }),
    estimated,
    record,
  };
}

export async function usageOf(
  daemon: TestDaemon,
  userPath: string,
  startDate = "2026-03-10",
  endDate = startDate,
): Promise<Record<string, unknown>> {
  const { usage } = await ask(daemon, "usage.status", {
    user_path: userPath,
    start_date: startDate,
    end_date: endDate,
  });
  return usage as Record<string, unknown>;
}

export function recordsIn(store: MemoryStore): UsageRecord[] {
  return [...store.entries("usage")].flatMap(({ value }) => recordsFromStored(value)!);
}

export const picoOf = ({ microUsd, picoUsd }: MoneySum): bigint =>
  BigInt(microUsd) * 1_000_000n + BigInt(picoUsd);

export function recordOn(userPath: string, changes: Partial<UsageRecord> = {}): UsageRecord {
  const { responseId: _, ...record } = executed();
  return {
    ...record,
    atMs: noonMs,
    userPath,
    provider: "openai",
    model: "gpt-4o",
    estimated: false,
    ...changes,
  };
}
