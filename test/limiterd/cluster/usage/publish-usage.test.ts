import fc from "fast-check";
import t from "tap";
import { dayMs } from "../../../../shared/time.js";
import { groupings } from "../../../../shared/wire/admin-op.js";
import { createMemoryStore } from "../../../support/memory-store.js";
import { ask, startDaemon } from "../../in-memory-daemon.js";
import { noonMs, spend } from "../../usage/usage-fixture.js";
import { engineAtNoon, joinUsage, type UsageHost } from "./hosts-fixture.js";

const today = { user_path: "/", start_date: "2026-03-01", end_date: "2026-03-10" };

t.test(
  "a host publishes what changed, under its own id, and a repeat changes nothing",
  async (t) => {
    const engine = engineAtNoon();
    const host = joinUsage(engine, "a");
    spend(host.peer, 1, "/team");
    t.equal(await host.tick(), true);
    const { hashes } = engine.data;
    const before = new Map([...hashes].map(([key, fields]) => [key, [...fields]]));
    t.match([...hashes.keys()].join(), /sluice:sluice:usage:a:2026-03-10:t\d+/);
    host.publisher.begin("another");
    await host.tick();
    await host.tick();
    t.same(new Map([...hashes].map(([key, fields]) => [key, [...fields]])), before);
    engine.nowMs += 401 * dayMs;
    await engine.connect().commands.time();
    t.same([...hashes.keys()], ["sluice:sluice:usage-hosts"], "days end with the retention");
  },
);

t.test("as of when it has published, it says by the engine's clock", async (t) => {
  for (const knowsTime of [true, false]) {
    const engine = engineAtNoon();
    const host = joinUsage(engine, "a", { knowsTime });
    engine.nowMs += 5;
    await host.tick();
    const { time } = host.connection.commands;
    const { asOfMs } = JSON.parse(engine.data.hashes.get("sluice:sluice:usage-hosts")!.get("a")!);
    t.equal(asOfMs, await time());
  }
});

t.test(
  "a start publishes again what may not have been, and not what is long published",
  async (t) => {
    const engine = engineAtNoon();
    const store = createMemoryStore();
    const first = joinUsage(engine, "a", { store });
    spend(first.peer, 1, "/old", { settled: { endedAgoMs: 6 * dayMs } });
    await first.tick();
    await first.daemon.flush();
    await first.daemon.commit();
    engine.nowMs += 30 * dayMs;
    await first.tick();
    await first.daemon.commit();
    spend(first.peer, 2, "/new");
    await first.daemon.commit();
    await first.daemon.flush();
    engine.data.hashes.clear();
    const again = joinUsage(engine, "a", { store });
    await again.tick();
    const days = [...engine.data.hashes.keys()].map((key) => key.split(":")[4]);
    t.ok(days.includes("2026-04-09"));
    t.notOk(days.includes("2026-03-04"), "the mark in the store says that the engine has it");
    engine.wipe();
    await again.tick();
    t.ok(
      [...engine.data.hashes.keys()].some((key) => key.includes(":2026-03-04:")),
      "an engine that has lost its data gets all",
    );
  },
);

t.test("while the engine is away what changed is remembered, and published later", async (t) => {
  const engine = engineAtNoon();
  const [a, b] = [joinUsage(engine, "a"), joinUsage(engine, "b")];
  a.connection.away("cut off");
  spend(a.peer, 1, "/team");
  t.equal(await a.tick(), false);
  a.connection.back();
  a.connection.loseAnswers(1);
  t.equal(await a.tick(), false);
  t.equal(await a.tick(), true);
  t.match(await ask(b.daemon, "usage.summary", today), { usage: { total_requests: 1 } });
});

t.test("what the engine refuses is said, and tried again", async (t) => {
  const engine = engineAtNoon();
  const a = joinUsage(engine, "a");
  engine.data.strings.set("sluice:sluice:usage:a:2026-03-10", "not ours");
  spend(a.peer, 1, "/team");
  t.equal(await a.tick(), false);
  t.match(a.refused[0], /WRONGTYPE/);
  engine.data.strings.clear();
  t.equal(await a.tick(), true);
});

t.test(
  "random usage, wipes, cuts and new starts: at rest every report is that of one host with all of it",
  async (t) => {
    const paths = ["/", "/a", "/a/x", "/b/y/z", "/c"];
    const keys = ["", "key_1", "key_2"];
    const labelsOf = (keyId: string): readonly string[] => (keyId === "key_1" ? ["eu", "x"] : []);
    const step = fc.oneof(
      {
        weight: 8,
        arbitrary: fc.record({
          kind: fc.constant("spend" as const),
          host: fc.nat(2),
          path: fc.constantFrom(...paths),
          model: fc.constantFrom("m1", "m2", "vendor/m3"),
          keyId: fc.constantFrom(...keys),
          days: fc.nat(5),
          inputTokens: fc.nat(1000),
        }),
      },
      ...(["tick", "wipe", "cut", "join", "restart", "lose", "flush"] as const).map((kind) => ({
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant(kind), host: fc.nat(2) }),
      })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const engine = engineAtNoon();
        const stores = [createMemoryStore(), createMemoryStore(), createMemoryStore()];
        const hosts: UsageHost[] = stores.map((store, i) =>
          joinUsage(engine, `h${i}`, { store, labelsOf }),
        );
        const all = startDaemon([], { nowMs: noonMs, labelsOf });
        const oracle = all.proxy("all");
        let seq = 0;
        for (const one of steps) {
          const host = hosts[one.host]!;
          if (one.kind === "spend") {
            const { path, model, keyId, days, inputTokens } = one;
            const of = { keyId, inputTokens, settled: { model, endedAgoMs: days * dayMs } };
            spend(host.peer, ++seq, path, of);
            spend(oracle, seq, path, of);
          } else if (one.kind === "tick") await host.tick();
          else if (one.kind === "cut") host.connection.away("cut");
          else if (one.kind === "join") host.connection.back();
          else if (one.kind === "lose") host.connection.loseAnswers(2);
          else if (one.kind === "flush") await host.daemon.flush();
          else if (one.kind === "wipe") engine.wipe();
          else {
            await host.daemon.commit();
            hosts[one.host] = joinUsage(engine, host.name, { store: host.store, labelsOf });
          }
        }
        for (const { connection } of hosts) {
          connection.back();
          connection.loseAnswers(0);
        }
        for (const host of hosts) if (!(await host.tick())) return false;
        // Sessions are summed from a host's own records.
        for (const host of hosts)
          for (const by of [null, ...groupings.filter((grouping) => grouping !== "session")])
            for (const user_path of ["/", "/a"]) {
              const question = { ...today, user_path, by };
              const { hosts: whose, ...summary } = await ask(
                host.daemon,
                "usage.summary",
                question,
              );
              const truth = await ask(all, "usage.summary", question);
              t.same(summary, truth, `${by} of ${user_path}`);
              t.match(whose, { scope: "all_hosts", count: 3, complete: true });
              if (!t.passing()) return false;
            }
        return true;
      }),
      { numRuns: 15 },
    );
  },
);
