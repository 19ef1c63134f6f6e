/**
 * The scripts on a real engine, compared with their twin: the same questions at the same times must
 * get the same replies. The time that a script reads is replaced by the twin's.
 */
import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import { Redis } from "ioredis";
import t from "tap";
import { settleMs, slotsValidMs } from "../../../limiterd/bounds.js";
import { readScript, syncScript } from "../../../limiterd/cluster/counter-scripts.js";
import type { EngineConnection } from "../../../limiterd/cluster/engine/engine.js";
import { createEngineLimits } from "../../../limiterd/cluster/engine-limits.js";
import type { SyncQuestion } from "../../../limiterd/cluster/shared-limits.js";
import { createCounterTwin } from "../../support/cluster/counter-twin.js";
import { engineProgram, noEngine, startEngine } from "../../support/processes/start-engine.js";

const skip = engineProgram === null && noEngine;
const runs = Number(process.env["CLUSTER_RUNS"] ?? 400);
const clockOfServer = "redis.call('TIME')";
const most = Number.MAX_SAFE_INTEGER;
const onRefused = (reason: string): void => {
  throw new Error(reason);
};
const t0 = 1_800_000_000_000;

/** Small numbers mostly, and those where arithmetic goes wrong. */
const count = fc.oneof(
  { weight: 6, arbitrary: fc.nat(30) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: most }) },
  { weight: 1, arbitrary: fc.constantFrom(most, most - 1, 2 ** 51, 2 ** 52 + 1) },
);
const period = fc.constantFrom(0, 1, 7, 1000, 60_000, 86_400_000, 3_155_760_000_000);
/** Windows near the current one, by how far they are from it. */
const offset = fc.oneof(
  { weight: 5, arbitrary: fc.constant(0) },
  { arbitrary: fc.integer({ min: -3, max: 2 }), weight: 2 },
);
const asked = fc.record({
  kind: fc.constant("ask" as const),
  host: fc.constantFrom("a", "b", "h:1"),
  start: fc.oneof({ weight: 5, arbitrary: fc.constant(1) }, { weight: 2, arbitrary: fc.nat(6) }),
  seqStep: fc.oneof(
    { weight: 9, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: -2, max: 3 }) },
  ),
  generation: fc.oneof(
    { weight: 12, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.nat(2) },
  ),
  synced: fc.oneof(
    { weight: 3, arbitrary: fc.constant("last" as const) },
    { weight: 1, arbitrary: fc.constant("none" as const) },
  ),
  capRequests: fc.option(count, { freq: 8 }),
  capSlots: fc.option(count, { freq: 3 }),
  offset,
  tokenOffset: offset,
  counts: fc.tuple(count, count, count, count, count, count, count, count),
  slots: fc.tuple(count, count),
});
const passes = fc.record({
  kind: fc.constant("pass" as const),
  ms: fc.oneof(
    fc.nat(20),
    fc.constantFrom(settleMs, settleMs - 1, slotsValidMs, slotsValidMs - 1, 2000 + slotsValidMs),
    fc.nat(70_000),
    fc.integer({ min: -1500, max: 0 }),
    fc.nat(200_000_000),
  ),
});
const wiped = fc.record({ kind: fc.constant("wipe" as const) });
const read = fc.record({
  kind: fc.constant("read" as const),
  host: fc.constantFrom("a", "b", "x"),
  generation: fc.nat(2),
});
const steps = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: asked },
    { weight: 3, arbitrary: passes },
    { weight: 1, arbitrary: wiped },
    { weight: 1, arbitrary: read },
  ),
  { maxLength: 40 },
);

t.test("the scripts and their twin give the same replies", { skip }, async (t) => {
  const engine = await startEngine(t);
  const client = new Redis({ port: engine.port, host: "127.0.0.1" });
  t.teardown(() => client.disconnect());
  const clock = { nowMs: t0 };
  const connection = connectionAt(client, clock);
  let synced = 0;
  await fc.assert(
    fc.asyncProperty(period, steps, async (periodMs, all) => {
      await client.flushall();
      clock.nowMs = t0;
      const twin = createCounterTwin();
      const seqs = new Map<string, number>();
      const heard = new Map<string, number>();
      // Real time doesn't pass: the key's end is the test's to bring about.
      let endsMs = Infinity;
      const name = { ruleId: "rule", child: "/a", periodMs };
      for (const step of all) {
        if (step.kind === "pass") {
          clock.nowMs += step.ms;
          if (clock.nowMs >= endsMs) {
            await client.flushall();
            // The twin ends it when it is asked; the clock may go back before that.
            twin.read({ ...name, generation: 0 }, clock.nowMs);
          }
          continue;
        }
        if (step.kind === "wipe") {
          await client.flushall();
          twin.wipe();
          continue;
        }
        if (step.kind === "read") {
          const { nowMs, window, totals } = (
            await createEngineLimits(connection, {
              clusterName: "c",
              hostId: step.host,
              start: 1,
              onRefused,
            }).read([{ ...name, generation: step.generation }])
          )[0]!;
          const asTwin = twin.read(
            { ...name, generation: step.generation },
            clock.nowMs,
            step.host,
          );
          deepStrictEqual({ nowMs, window, totals }, asTwin);
          continue;
        }
        const asker = { hostId: step.host, start: step.start };
        const seq = Math.max(1, (seqs.get(step.host) ?? 0) + step.seqStep);
        seqs.set(step.host, seq);
        const question = questionOf(step, periodMs, clock.nowMs, {
          seq,
          syncedMs: step.synced === "last" ? (heard.get(step.host) ?? 0) : 0,
        });
        const expected = twin.sync(asker, { ...name, ...question }, clock.nowMs);
        const limits = createEngineLimits(connection, { clusterName: "c", ...asker, onRefused });
        const [reply] = await limits.sync([{ ...name, ...question }]);
        deepStrictEqual(reply, expected);
        if (expected.status !== "synced") continue;
        synced++;
        heard.set(step.host, clock.nowMs);
        endsMs = clock.nowMs + 2 * periodMs + slotsValidMs;
      }
    }),
    { numRuns: runs },
  );
  t.ok(synced > runs, `${synced} questions were answered`);
});

/** Calls of scripts that read this clock. */
function connectionAt(
  client: Redis,
  clock: { readonly nowMs: number },
): Pick<EngineConnection, "call" | "state"> {
  return {
    state: { kind: "connected", epoch: "", serversAway: [] },
    async call({ source }, keys, args) {
      const { nowMs } = clock;
      const time = `{'${Math.floor(nowMs / 1000)}', '${(nowMs % 1000) * 1000}'}`;
      const said = source.replace(clockOfServer, time);
      return (await client.eval(said, keys.length, ...keys, ...args)) as never;
    },
  };
}

t.test("what is left of a cap is exact up to 2^53", { skip }, async (t) => {
  const engine = await startEngine(t);
  const client = new Redis({ port: engine.port, host: "127.0.0.1" });
  t.teardown(() => client.disconnect());
  const clock = { nowMs: t0 };
  const asker = { hostId: "a", start: 1 };
  const limits = createEngineLimits(connectionAt(client, clock), {
    clusterName: "c",
    ...asker,
    onRefused,
  });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(3, 7, 1000, 60_000, 604_800_000, 3_155_760_000_000),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.oneof(fc.integer({ min: 2 ** 40, max: most }), fc.constantFrom(most, most - 1)),
      async (periodMs, part, spentBefore) => {
        await client.flushall();
        const window = Math.floor(t0 / periodMs);
        clock.nowMs = window * periodMs + Math.min(periodMs - 1, Math.floor(part * periodMs));
        const units = { window, spent: 0, spentBefore, held: 0, frozen: 0, frozenBefore: 0 };
        const question = {
          ...{ ruleId: "rule", child: "", generation: 0, seq: 1, syncedMs: 0, periodMs },
          ...{ capRequests: most, capSlots: null, slots: { inUse: 0, wanted: 0 } },
          units: { ...units, wanted: most },
          tokens: { window, current: 0, previous: 0 },
        };
        const [reply] = await limits.sync([question]);
        const left = BigInt((window + 1) * periodMs - clock.nowMs);
        const weighed = (BigInt(spentBefore) * left) / BigInt(periodMs);
        deepStrictEqual(reply!.granted, Number(BigInt(most) - weighed));
        deepStrictEqual(reply, createCounterTwin().sync(asker, question, clock.nowMs));
      },
    ),
    { numRuns: runs },
  );
});

function questionOf(
  step: typeof asked extends fc.Arbitrary<infer T> ? T : never,
  periodMs: number,
  nowMs: number,
  sent: { readonly seq: number; readonly syncedMs: number },
): Omit<SyncQuestion, "ruleId" | "child"> {
  const [spent, spentBefore, held, frozen, frozenBefore, wanted, current, previous] = step.counts;
  const window = periodMs === 0 ? 0 : Math.floor(nowMs / periodMs);
  const at = (by: number): number => (periodMs === 0 ? 0 : Math.max(0, window + by));
  return {
    ...sent,
    generation: step.generation,
    periodMs,
    capRequests: step.capRequests,
    capSlots: step.capSlots,
    units: { window: at(step.offset), spent, spentBefore, held, frozen, frozenBefore, wanted },
    tokens: { window: at(step.tokenOffset), current, previous },
    slots: { inUse: step.slots[0], wanted: step.slots[1] },
  };
}

t.test("a script that is loaded is small, and reads its clock once", async (t) => {
  for (const { source } of [syncScript, readScript]) {
    t.equal(source.split(clockOfServer).length, 2);
    t.ok(source.length < 11_000, `${source.length} characters`);
  }
  t.ok(settleMs < slotsValidMs);
});
