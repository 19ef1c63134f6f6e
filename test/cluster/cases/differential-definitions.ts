/**
 * The scripts on definitions on a real engine, compared with their twin: the same calls at the same
 * times must get the same answers, and leave the same behind. The time that a script reads is
 * replaced by the twin's.
 */
import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import { Redis } from "ioredis";
import t from "tap";
import {
  readScript,
  restateScript,
  trimScript,
  writeScript,
} from "../../../limiterd/cluster/definitions/definition-scripts.js";
import type { EngineScript } from "../../../limiterd/cluster/engine/engine.js";
import { addDefinitionTwins } from "../../support/cluster/definition-twins.js";
import { createFakeEngine } from "../../support/cluster/fake-engine.js";
import { engineProgram, noEngine, startEngine } from "../../support/processes/start-engine.js";

const skip = engineProgram === null && noEngine;
const runs = Number(process.env["CLUSTER_RUNS"] ?? 400);
const clockOfServer = "redis.call('TIME')";
const t0 = 1_800_000_000_000;
const keys = ["definitions", "order", "deleted", "state"].map((each) => `sluice:{c}:${each}`);

const field = fc.constantFrom("rules:user_path\n/a\n60", "rules:b", "keys:1", "keys:10", "rules:É");
const value = fc.constantFrom("null", "null", "[1]", '["a:b"]', '[{"x":"ä"}]');
/** From where the last change is: before it, at it, after it. */
const near = fc.oneof(
  { weight: 5, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.integer({ min: -3_000_000, max: -1 }) },
  { weight: 1, arbitrary: fc.constant(1) },
  { weight: 1, arbitrary: fc.constant(Number.NEGATIVE_INFINITY) },
);
const written = fc.record({
  kind: fc.constant("write" as const),
  base: near,
  fields: fc.uniqueArray(fc.tuple(field, value), { maxLength: 4, selector: ([name]) => name }),
});
const restated = fc.record({
  kind: fc.constant("restate" as const),
  id: fc.constantFrom("one", "two"),
  trimmed: near,
  order: near,
  fields: fc.array(fc.tuple(field, fc.oneof(near, fc.constant("joining" as const)), value), {
    maxLength: 4,
  }),
});
const others = [
  fc.record({
    kind: fc.constant("read" as const),
    after: near,
    most: fc.integer({ min: 1, max: 6 }),
  }),
  fc.record({
    kind: fc.constant("trim" as const),
    before: near,
    most: fc.integer({ min: 1, max: 3 }),
  }),
  // The clock of a server that takes over may be behind.
  fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: -2000, max: 3000 }) }),
  fc.record({ kind: fc.constant("wipe" as const) }),
] as const;
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: written },
    { weight: 3, arbitrary: restated },
    { weight: 3, arbitrary: others[0] },
    { weight: 2, arbitrary: others[1] },
    { weight: 3, arbitrary: others[2] },
    { weight: 1, arbitrary: others[3] },
  ),
  { maxLength: 40 },
);
type Step = typeof steps extends fc.Arbitrary<(infer T)[]> ? T : never;

t.test("the scripts on definitions and their twin do the same", { skip }, async (t) => {
  const engine = await startEngine(t);
  const client = new Redis({ port: engine.port, host: "127.0.0.1" });
  t.teardown(() => client.disconnect());
  const fake = createFakeEngine(t0);
  addDefinitionTwins(fake);
  const twin = fake.connect();
  const seen = new Map<string, number>();

  /** What the engine holds, in an order that both have. */
  const heldByEngine = async () => {
    const hashes = [await client.hgetall(keys[0]!), await client.hgetall(keys[3]!)];
    const sorted = [keys[1]!, keys[2]!].map(async (key) => {
      const found = await client.zrange(key, "0", "-1", "WITHSCORES");
      return Object.fromEntries(
        found.flatMap((name, i) => (i % 2 === 0 ? [[name, Number(found[i + 1])]] : [])),
      );
    });
    return { hashes, sorted: await Promise.all(sorted) };
  };
  const heldByTwin = () => {
    const { hashes, sorted } = fake.data;
    const plain = <V>(all: ReadonlyMap<string, ReadonlyMap<string, V>>, key: string) =>
      Object.fromEntries(all.get(key) ?? []);
    return {
      hashes: [plain(hashes, keys[0]!), plain(hashes, keys[3]!)],
      sorted: [plain(sorted, keys[1]!), plain(sorted, keys[2]!)],
    };
  };
  const compare = async (script: EngineScript, args: readonly (string | number)[]) => {
    const { nowMs } = fake;
    const time = `{'${Math.floor(nowMs / 1000)}', '${(nowMs % 1000) * 1000}'}`;
    const said = script.source.replace(clockOfServer, time);
    const answer = await client.eval(said, keys.length, ...keys, ...args);
    deepStrictEqual(answer, await twin.call(script, keys, args));
    const kind = Array.isArray(answer) ? String(answer[0]) : "a number";
    seen.set(/^\d/.test(kind) ? "a page" : kind, (seen.get(kind) ?? 0) + 1);
    deepStrictEqual({ ...(await heldByEngine()) }, heldByTwin());
  };
  const orderNow = (): number => Number(fake.data.hashes.get(keys[3]!)?.get("order") ?? 0);
  const at = (from: number): number => Math.max(0, Math.max(orderNow(), t0 * 1000) + from);

  const play = async (step: Step): Promise<void> => {
    switch (step.kind) {
      case "write": {
        const base = Math.max(0, orderNow() + step.base);
        return await compare(writeScript, [base, "channel", ...step.fields.flat()]);
      }
      case "restate": {
        const fields = step.fields.flatMap(([name, stamp, text]) => [
          name,
          stamp === "joining" ? 1 : at(stamp),
          text,
        ]);
        const known = [step.id, at(step.trimmed), at(step.order)];
        return await compare(restateScript, ["channel", ...known, ...fields]);
      }
      case "read":
        return await compare(readScript, [Math.max(0, orderNow() + step.after), step.most]);
      case "trim":
        return await compare(trimScript, [at(step.before), step.most]);
      case "pass":
        fake.nowMs += step.ms;
        return;
      case "wipe":
        await client.flushall();
        fake.wipe();
        return;
    }
  };

  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      await client.flushall();
      fake.wipe();
      fake.nowMs = t0;
      for (const step of all) await play(step);
    }),
    { numRuns: runs },
  );
  for (const kind of ["written", "conflict", "behind", "a page", "a number"])
    t.ok(seen.has(kind), `${kind} was among the answers`);
});

t.test("each of these scripts reads the clock once at most", async (t) => {
  for (const { name, source } of [writeScript, readScript, restateScript, trimScript])
    t.ok(source.split(clockOfServer).length === 2, name);
});
