import fc from "fast-check";
import t from "tap";
import { budgetStatuses } from "../../../../limiterd/lists/list-budgets.js";
import { budgetId } from "../../../../shared/domain/budget.js";
import { perSession } from "../../../../shared/domain/budget-calendar.js";
import { createMemoryStore } from "../../../support/memory-store.js";
import { exactly } from "../../../support/patterns/exactly.js";
import {
  admin,
  ask,
  beginInSession,
  budget,
  hour,
  listed,
  noon,
  settle,
  spend,
  spendInSession,
  usd,
} from "../../budgets/budget-fixture.js";
import { askFor } from "../../in-memory-daemon.js";
import { accountsOf, clusterOf, type Host, join } from "./hosts-fixture.js";

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
          for (const { spend } of hosts) spend.reportAll();
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
            const own = book.runningPeriod(account, host.daemon.nowMs);
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

t.test("what two hosts spend counts together, exactly", async (t) => {
  const cluster = clusterOf(2, [daily]);
  const [a, b] = cluster.hosts;
  spend(a!.proxy, "/team/app", 0.4 * usd + 1);
  spend(b!.proxy, "/team", 0.5 * usd);
  await cluster.settle();
  t.equal(ask(a!.proxy, "/team"), "admitted");
  spend(b!.proxy, "/team/x", 0.1 * usd - 2);
  await cluster.settle();
  t.equal(ask(a!.proxy, "/team"), "admitted", "a pico-dollar is left");
  spend(b!.proxy, "/team/x", 1);
  await cluster.settle();
  t.equal(ask(a!.proxy, "/team"), "/team 86400: 1 of 1, 43200");
  t.equal(ask(b!.proxy, "/team/other"), "/team 86400: 1 of 1, 43200");
});

t.test("without a cluster, nothing is asked and a list has no other hosts", async (t) => {
  const cluster = clusterOf(1, [daily]);
  const [only] = cluster.hosts;
  only!.daemon.state.budgets.others = null;
  spend(only!.proxy, "/team", 0.4 * usd);
  const [item] = await listed(only!.daemon, only!.proxy);
  t.notOk("other_hosts" in item!);
  t.equal(cluster.engine.data.hashes.size, 0);
});

t.test("a list reads the other hosts' spend again, and has its age", async (t) => {
  const cluster = clusterOf(2, [daily, budget("/", 3600, 5, { perChild: true })]);
  const [a, b] = cluster.hosts;
  spend(a!.proxy, "/team/app", 0.25 * usd);
  await a!.spend.tick();
  const [template, fresh] = await listed(b!.daemon, b!.proxy);
  t.match(fresh, { spent: 0.25, remaining: 0.75, other_hosts: { spent: 0.25, age_seconds: 0 } });
  t.equal(fresh!["has_usage"], true);
  t.notOk("other_hosts" in template!, "a template has no account of its own");
  b!.connection.away("cut off");
  cluster.monoMs += 7250;
  spend(a!.proxy, "/team/app", 0.25 * usd);
  await a!.spend.tick();
  const [, old] = await listed(b!.daemon, b!.proxy);
  t.match(old, { spent: 0.25, other_hosts: { spent: 0.25, age_seconds: 7 } });
  const explained = await admin(b!.daemon, b!.proxy, "explain", {
    user_path: "/team",
    targets: [{ provider: "openai", model: "m" }],
  });
  t.match(explained, exactly({ budgets: [{}, { other_hosts: { spent: 0.25 } }] }));
});

t.test("a ranking uses what is known of the other hosts' spend", async (t) => {
  const cluster = clusterOf(2, [budget("/", 86_400, 1, { perChild: true })]);
  const [a, b] = cluster.hosts;
  spend(a!.proxy, "/x", 0.1 * usd);
  spend(a!.proxy, "/y", 0.2 * usd);
  spend(b!.proxy, "/x", 0.5 * usd);
  ask(a!.proxy, "/x");
  await cluster.settle();
  const top = { order: "use", limit: 1 };
  t.match(
    await admin(a!.daemon, a!.proxy, "budgets.list", top),
    exactly({ budgets: [{ subject: "/x", spent: 0.6 }] }),
  );
  const named = { scope: "user_path", user_path: "/", period: "daily", limit: 1 };
  t.match(
    await admin(a!.daemon, a!.proxy, "budgets.children", named),
    exactly({ children: [{ subject: "/x", spent: 0.6 }] }),
  );
});

t.test("an account that is needed for the first time is read in a moment", async (t) => {
  const cluster = clusterOf(2, [budget("/", 86_400, 1, { perChild: true })]);
  const [a, b] = cluster.hosts;
  spend(a!.proxy, "/team", 2 * usd);
  await a!.spend.tick();
  t.equal(ask(b!.proxy, "/team"), "admitted", "nothing is known yet, and nothing waits");
  await b!.runTimers();
  t.equal(ask(b!.proxy, "/team"), "/team 86400: 2 of 1, 43200");
  t.equal(ask(b!.proxy, "/other"), "admitted", "each child for itself");
});

t.test("an engine that lost its data opens no budget until the hosts report again", async (t) => {
  const cluster = clusterOf(2, [daily]);
  const [a, b] = cluster.hosts;
  t.equal(ask(b!.proxy, "/team"), "admitted");
  spend(a!.proxy, "/team", 2 * usd);
  await cluster.settle();
  const refused = "/team 86400: 2 of 1, 43200";
  t.equal(ask(b!.proxy, "/team"), refused);
  cluster.engine.wipe();
  await b!.spend.tick();
  t.equal(ask(b!.proxy, "/team"), refused, "as it has read before");
  await cluster.settle();
  t.equal(ask(b!.proxy, "/team"), refused);
});

t.test("while the engine is away, own spend counts with the last that is known", async (t) => {
  const cluster = clusterOf(2, [daily]);
  const [a, b] = cluster.hosts;
  spend(a!.proxy, "/team", 0.4 * usd);
  ask(b!.proxy, "/team");
  await cluster.settle();
  b!.connection.away("cut off");
  spend(b!.proxy, "/team", 0.3 * usd);
  t.equal(await b!.spend.tick(), false);
  t.equal(ask(b!.proxy, "/team"), "admitted", "0.7 of 1");
  spend(b!.proxy, "/team", 0.3 * usd);
  t.equal(ask(b!.proxy, "/team"), "/team 86400: 1 of 1, 43200");
  t.equal(ask(a!.proxy, "/team"), "admitted", "which the other doesn't know");
  b!.connection.back();
  await cluster.settle();
  t.equal(ask(a!.proxy, "/team"), "/team 86400: 1 of 1, 43200");
});

t.test("a lost answer counts nothing twice", async (t) => {
  const cluster = clusterOf(2, [daily]);
  const [a, b] = cluster.hosts;
  spend(a!.proxy, "/team", 0.4 * usd);
  a!.connection.loseAnswers(3);
  t.equal(await a!.spend.tick(), false);
  await cluster.settle();
  t.match((await listed(b!.daemon, b!.proxy))[0], { spent: 0.4 });
});

t.test("a wiped engine gets all spend again, also of children", async (t) => {
  const cluster = clusterOf(3, [daily, budget("/", 3600, 1, { perChild: true })]);
  const [a, b, c] = cluster.hosts;
  spend(a!.proxy, "/team", 0.25 * usd);
  spend(b!.proxy, "/team", 0.25 * usd);
  spend(b!.proxy, "/else", 0.125 * usd);
  await cluster.settle();
  cluster.engine.wipe();
  for (const host of cluster.hosts) host.spend.reportAll();
  ask(c!.proxy, "/team");
  ask(c!.proxy, "/else");
  await cluster.settle();
  t.match(await listed(c!.daemon, c!.proxy), exactly([{}, { spent: 0.5 }]));
  const top = await admin(c!.daemon, c!.proxy, "budgets.children", {
    scope: "user_path",
    user_path: "/",
    period: "hourly",
  });
  t.match(top, { children: { length: 0 }, total: 0 }, "it lists those that this host has charged");
  t.match(
    accountsOf(c!, "/else").map((account) => c!.spend.spentIn(account, noon)?.requests),
    exactly([1]),
  );
});

t.test("a daemon that starts again tells what it has in its store", async (t) => {
  const store = createMemoryStore();
  const cluster = clusterOf(2, [daily]);
  const [, b] = cluster.hosts;
  const before = join(cluster, "again", [daily], { store });
  spend(before.proxy, "/team", 0.75 * usd);
  await before.daemon.commit();
  const after = join(cluster, "again", [daily], { store });
  await after.spend.tick();
  t.match((await listed(b!.daemon, b!.proxy))[0], { spent: 0.75 });
});

t.test("a reset forgets what all hosts had spent, as soon as each one knows of it", async (t) => {
  const cluster = clusterOf(3, [daily]);
  const [a, b, c] = cluster.hosts;
  for (const { proxy } of cluster.hosts) spend(proxy, "/team", 0.25 * usd);
  await cluster.settle();
  t.match((await listed(a!.daemon, a!.proxy))[0], { spent: 0.75 });
  const reset = (host: typeof a): void => {
    const { budgets } = host!.daemon.state;
    budgets.reset(budgets.find(daily)!, noon);
  };
  reset(a);
  t.equal(ask(a!.proxy, "/team"), "admitted");
  t.match(
    budgetStatuses(a!.daemon.state, { userPath: "/team" }, [], noon),
    exactly([{ spent: 0 }]),
    "at once, not when it is next read",
  );
  spend(a!.proxy, "/team", 0.125 * usd);
  reset(b);
  reset(c);
  await cluster.settle();
  for (const { daemon, proxy } of cluster.hosts)
    t.match((await listed(daemon, proxy))[0], { spent: 0.125 });
});

t.test("a new period begins with nothing, of the others too", async (t) => {
  const hourly = budget("/team", 3600, 1);
  const cluster = clusterOf(2, [hourly]);
  const [a, b] = cluster.hosts;
  spend(a!.proxy, "/team", 1 * usd);
  ask(b!.proxy, "/team");
  await cluster.settle();
  t.match(ask(b!.proxy, "/team"), /1 of 1/);
  for (const { daemon } of cluster.hosts) daemon.nowMs += hour;
  t.equal(ask(b!.proxy, "/team"), "admitted");
  spend(a!.proxy, "/team", 0.5 * usd);
  a!.daemon.nowMs += 5000;
  await cluster.settle();
  t.match((await listed(b!.daemon, b!.proxy))[0], { spent: 0.5 });
  cluster.engine.nowMs += 3 * hour;
  await cluster.engine.connect().commands.time();
  t.equal(cluster.engine.data.hashes.size, 0, "rows end with their period, and an hour");
});

t.test(
  "spend that an engine refuses is logged and sent again, and delays no other spend",
  async (t) => {
    const other = budget("/other", 86_400, 1);
    const cluster = clusterOf(2, [daily, other]);
    const [a, b] = cluster.hosts;
    cluster.engine.data.strings.set(`sluice:sluice:spend:${budgetId(daily)}\n`, "not ours");
    spend(a!.proxy, "/team", 0.25 * usd);
    spend(a!.proxy, "/other", 0.25 * usd);
    await a!.spend.tick();
    t.match(a!.refused[0], /WRONGTYPE/);
    t.match(await listed(b!.daemon, b!.proxy), exactly([{ spent: 0.25 }, { spent: 0 }]));
    cluster.engine.data.strings.clear();
    await cluster.settle();
    t.match(await listed(b!.daemon, b!.proxy), exactly([{ spent: 0.25 }, { spent: 0.25 }]));
  },
);

t.test("hosts add up what one session has spent, and forget it as the session ends", async (t) => {
  const cluster = clusterOf(2, [budget("/agents", perSession, 5)]);
  const [a, b] = cluster.hosts as [Host, Host];
  spendInSession(a.proxy, "/agents/ci", "s1", 3);
  spendInSession(b.proxy, "/agents/ci", "s1", 3);
  spendInSession(b.proxy, "/agents/ci", "s2", 3);
  await cluster.settle();
  for (const { proxy } of [a, b]) {
    t.match(beginInSession(proxy, "/agents/ci", "s1"), /session limit: spent 6 of 5/);
    t.type(beginInSession(proxy, "/agents/ci", "s2"), "object");
  }
  for (const { daemon } of [a, b]) daemon.nowMs = noon + 8 * 86_400_000;
  for (const { proxy } of [a, b])
    t.type(beginInSession(proxy, "/agents/ci", "s1"), "object", "a week later");
});
