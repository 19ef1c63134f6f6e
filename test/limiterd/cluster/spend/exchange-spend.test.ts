import fc from "fast-check";
import t from "tap";
import { createMemoryStore } from "../../../support/memory-store.js";
import { ask, budget, noon, settle, spend } from "../../budgets/budget-fixture.js";
import { askFor } from "../../in-memory-daemon.js";
import { accountsOf, clusterOf, join } from "./hosts-fixture.js";

const daily = budget("/team", 86_400, 1);

t.test(
  "an amount is passed by no more than what hosts spend in a second, and what runs",
  { timeout: 60_000 },
  async () => {
    const step = fc.record({
      host: fc.nat(3),
      micros: fc.nat({ max: 60_000 }),
      lasts: fc.nat({ max: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { maxLength: 6 }), { minLength: 20, maxLength: 60 }),
        async (slots) => {
          const cluster = clusterOf(4, [daily]);
          const running: { endsAt: number; end(at: number): void }[] = [];
          let spent = 0;
          let reachedAt = Number.POSITIVE_INFINITY;
          for (const host of cluster.hosts) {
            ask(host.proxy, "/team");
            await host.runTimers();
          }
          // Tenths of a second; each host's ticks have a phase of their own.
          for (const [now, requests] of slots.entries()) {
            cluster.monoMs = now * 100;
            for (const [i, host] of cluster.hosts.entries()) {
              host.daemon.nowMs = noon + now * 100;
              if ((now + i) % 5 === 0) await host.spend.tick();
            }
            for (const one of running.filter(({ endsAt }) => endsAt === now)) one.end(now);
            for (const { host: i, micros, lasts } of requests) {
              const { proxy } = cluster.hosts[i]!;
              const lease = askFor(proxy.peer, ++proxy.id, "/team");
              if (lease === null) continue;
              if (now > reachedAt + 10) return false;
              running.push({
                endsAt: now + 1 + lasts,
                end(at) {
                  settle(proxy, lease, micros * 1e6);
                  spent += micros;
                  if (spent >= 1e6) reachedAt = Math.min(reachedAt, at);
                },
              });
            }
          }
          return true;
        },
      ),
      { numRuns: 60 },
    );
  },
);

t.test("random charges, wipes, cuts and new starts: at rest all hosts know the truth", async () => {
  const paths = ["/a", "/a/x", "/b/y", "/c"];
  const budgets = [
    budget("/", 86_400, 1000),
    budget("/a", 3600, 1000),
    budget("/", 86_401, 1000, { perChild: true }),
  ];
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant("spend" as const),
        host: fc.nat(2),
        path: fc.nat(3),
        pico: fc.nat({ max: 2 ** 31 - 1 }),
      }),
    },
    ...(["tick", "wipe", "cut", "join", "restart", "lose"] as const).map((kind) => ({
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant(kind), host: fc.nat(2) }),
    })),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const cluster = clusterOf(0, budgets);
      const stores = [createMemoryStore(), createMemoryStore(), createMemoryStore()];
      const hosts = stores.map((store, i) => join(cluster, `h${i}`, budgets, { store }));
      const truth = new Map<string, bigint>();
      for (const [at, one] of steps.entries()) {
        const host = hosts[one.host]!;
        cluster.monoMs += 100;
        if (one.kind === "spend") {
          const path = paths[one.path]!;
          spend(host.proxy, path, one.pico);
          truth.set(path, (truth.get(path) ?? 0n) + BigInt(one.pico));
        } else if (one.kind === "tick") await host.spend.tick();
        else if (one.kind === "cut") host.connection.away("cut");
        else if (one.kind === "join") host.connection.back();
        else if (one.kind === "lose") host.connection.loseAnswers(1);
        else if (one.kind === "wipe") {
          cluster.engine.wipe();
          for (const { spend } of hosts) spend.tellAll();
        } else {
          await host.daemon.commit();
          hosts[one.host] = join(cluster, `h${one.host}`, budgets, { store: stores[one.host]! });
          hosts[one.host]!.proxy.seq = 1000 * (at + 1);
        }
      }
      for (const { connection, proxy } of hosts) {
        connection.back();
        connection.loseAnswers(0);
        for (const path of paths) ask(proxy, path);
      }
      for (let i = 0; i < 2; i++)
        for (const host of hosts) {
          cluster.monoMs += 100;
          await host.spend.tick();
        }
      const sum = (covers: (path: string) => boolean): bigint =>
        [...truth].reduce((all, [path, pico]) => all + (covers(path) ? pico : 0n), 0n);
      for (const host of hosts)
        for (const path of paths) {
          const child = `/${path.split("/")[1]}`;
          const expected = [
            sum(() => true),
            sum((other) => other.startsWith(child)),
            ...(child === "/a" ? [sum((other) => other.startsWith("/a"))] : []),
          ];
          const { budgets: book } = host.daemon.state;
          const found = accountsOf(host, path).map((account) => {
            const own = book.running(account, host.daemon.nowMs);
            const others = host.spend.spentIn(account, own.startMs)?.spent;
            const pico = (money: { microUsd: number; picoUsd: number } | undefined): bigint =>
              BigInt(money?.microUsd ?? 0) * 1_000_000n + BigInt(money?.picoUsd ?? 0);
            return pico(own.spent) + pico(others);
          });
          if (found.join() !== expected.join()) return false;
        }
      return true;
    }),
    { numRuns: 100 },
  );
});
