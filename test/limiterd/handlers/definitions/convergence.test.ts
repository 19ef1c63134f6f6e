import t from "tap";
import { createRandom } from "../../../sim/random.js";
import type { FakeEngine } from "../../../support/cluster/fake-engine.js";
import { issueKey, newEngine, sharedOf, startHost, type TestHost } from "./hosts-fixture.js";

interface Cluster {
  readonly engine: FakeEngine;
  readonly hosts: TestHost[];
  readonly hashes: string[];
}

const paths = ["/a", "/b", "/c"];

/** One thing that somebody does, or that happens; what is refused changes nothing. */
async function step(
  { engine, hosts, hashes }: Cluster,
  below: (n: number) => number,
): Promise<void> {
  const at = below(hosts.length);
  const host = hosts[at]!;
  const rule = { user_path: paths[below(3)], limit_key: { period: "minute" } };
  const budget = { user_path: paths[below(3)], budget_key: { period: "daily" } };
  const id = `key_${1 + below(6)}`;
  engine.nowMs += below(50);
  host.daemon.nowMs = engine.nowMs;
  const asked = [
    () => host.ask("rate-limits.put", { ...rule, max_requests: 1 + below(9) }),
    () => host.ask("rate-limits.delete", rule),
    () => host.ask("rate-limits.reset-one", rule),
    () => host.ask("budgets.put", { ...budget, amount: 1 + below(9) }),
    () => host.ask("budgets.delete", budget),
    () => host.ask("keys.deactivate", { id }),
    () => host.ask("keys.delete", { id }),
    () => host.ask("jwts.deny", { jwt: { sub: `s${below(3)}` } }),
    () => host.ask("jwts.allow", { sub: `s${below(3)}` }),
    async () => void hashes.push((await issueKey(host, { name: `n${below(99)}` })).hash),
    () => host.refresh(),
  ];
  const happens = [
    () => host.connection.away("cut"),
    () => host.connection.back(),
    () => host.connection.loseAnswers(1),
    async () => {
      hosts[at] = await startHost(engine, { store: host.daemon.store.crash() });
    },
    () => (below(4) === 0 ? engine.wipe() : undefined),
    // A failover that loses the last changes: what was there is there again.
    async () => {
      const kept = structuredClone(engine.data);
      await host.ask("rate-limits.put", { ...rule, max_requests: 77 }).catch(() => {});
      for (const [name, map] of Object.entries(kept) as [keyof typeof kept, Map<string, never>][]) {
        engine.data[name].clear();
        for (const [key, value] of map) engine.data[name].set(key, value);
      }
    },
  ];
  const all = below(5) === 0 ? happens : asked;
  await Promise.resolve(all[below(all.length)]!()).catch((error: { failure?: unknown }) => {
    if (error.failure === undefined) throw error;
  });
}

t.test("whatever happens, in the end all hosts enforce the same", async (t) => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = createRandom(seed);
    const below = (n: number): number => random.int(0, n - 1);
    const engine = newEngine();
    const hosts = await Promise.all([0, 1, 2].map(() => startHost(engine)));
    const cluster: Cluster = { engine, hosts, hashes: [] };
    for (let i = 0; i < 40; i++) await step(cluster, below);
    for (const host of cluster.hosts) {
      host.connection.loseAnswers(0);
      host.connection.back();
    }
    for (let round = 0; round < 3; round++) for (const host of cluster.hosts) await host.refresh();
    const [first, ...others] = cluster.hosts.map(sharedOf);
    for (const other of others) t.same(other, first, `seed ${seed}`);
    const fresh = await startHost(engine);
    t.same(sharedOf(fresh), first, `a fresh host, seed ${seed}`);
    const known = fresh.daemon.state.keys;
    for (const hash of cluster.hashes) {
      const key = known.find(hash);
      t.ok(key !== undefined || known.deletedCount > 0, `no issued key is lost, seed ${seed}`);
    }
    if (!t.passing()) break;
  }
});
