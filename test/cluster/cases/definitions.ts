/** Hosts that share rules and keys by a real engine: two daemons and their proxies, one machine. */
import t from "tap";
import { engineProgram, noEngine, startEngine } from "../../support/processes/start-engine.js";
import { startHost, untilSo } from "../cluster-host.js";

const skip = engineProgram === null && noEngine;
/** A change holds on all hosts within a second, unless the machine keeps them from running. */
const busyMs = 5000;

t.test(
  "a key that is issued on one host is used and deactivated on the other",
  { skip },
  async (t) => {
    const engine = await startEngine(t);
    const [a, b] = [await startHost(t, engine), await startHost(t, engine)];
    const issued = await a.admin("POST", "auth-keys", { user_path: "/team" });
    t.equal(issued.status, 201, JSON.stringify(issued.body));
    const { id, value } = issued.body as { id: string; value: string };
    const holdsMs = await untilSo(async () => (await b.statusWith(value)) === 200, "it is known");
    t.ok(holdsMs < busyMs, `known on the other host after ${holdsMs.toFixed(0)} ms`);
    const lastUse = async (): Promise<string | null> => {
      const { auth_keys: keys } = (await a.admin("GET", "auth-keys?limit=10")).body as {
        auth_keys: readonly { last_used_at: string | null }[];
      };
      return keys[0]!.last_used_at;
    };
    const listedMs = await untilSo(async () => (await lastUse()) !== null, "its use is listed");
    t.comment(`used on the other host: listed after ${listedMs.toFixed(0)} ms`);
    const ended = await b.admin("POST", `auth-keys/${id}/deactivate`);
    t.ok(ended.status < 300, JSON.stringify(ended.body));
    t.equal(await b.statusWith(value), 401, "refused at once where it was deactivated");
    const refusedMs = await untilSo(
      async () => (await a.statusWith(value)) === 401,
      "it is refused",
    );
    t.ok(refusedMs < busyMs, `refused on the other host after ${refusedMs.toFixed(0)} ms`);
    t.comment(`${holdsMs.toFixed(0)} ms until it was known, ${refusedMs.toFixed(0)} until refused`);
    const rule = { user_path: "/team", limit_key: { period: "minute" }, max_requests: 7 };
    await Promise.all([a.admin("PUT", "rate-limits", rule), b.admin("PUT", "rate-limits", rule)]);
    for (const host of [a, b])
      await untilSo(
        async () =>
          JSON.stringify((await host.admin("GET", "rate-limits")).body).includes('"/team"'),
        "the rule is listed",
      );
  },
);

t.test("the engine is killed and comes back without its data", { skip }, async (t) => {
  const engine = await startEngine(t);
  const a = await startHost(t, engine);
  const b = await startHost(t, engine, {
    yaml: "rate_limits:\n  models:\n    - model: gpt-4o\n      limits:\n        - period: minute\n          max_requests: 5\n",
  });
  const { value } = (await a.admin("POST", "auth-keys", {})).body as { value: string };
  await untilSo(async () => (await b.statusWith(value)) === 200, "it is known");
  interface Shared {
    readonly engine: string;
    readonly hosts: readonly { readonly alive: boolean; readonly configuration_differs: boolean }[];
  }
  const shared = async (): Promise<Shared> =>
    ((await a.admin("GET", "status")).body as { cluster: Shared }).cluster;
  // A host hears of another with its next heartbeat.
  await untilSo(async () => (await shared()).hosts.length === 2, "both hosts are known");
  const { engine: state, hosts } = await shared();
  t.equal(state, "connected");
  t.same(
    hosts.map(({ alive }) => alive),
    [true, true],
  );
  t.same(hosts.map(({ configuration_differs: differs }) => differs).sort(), [false, true]);
  await engine.kill();
  const isAway = async (): Promise<boolean> => {
    const { limiter } = (await a.get("/health")).body as { limiter: { cluster_failing: unknown } };
    return limiter.cluster_failing !== null;
  };
  await untilSo(isAway, "the engine is noticed to be away");
  const refused = await a.admin("POST", "auth-keys", {});
  t.match(refused, { status: 503, body: { code: "cluster_unavailable" } });
  t.equal(await a.statusWith(value), 200);
  await b.restartDaemon();
  await untilSo(
    async () => (await b.statusWith(value)) === 200,
    "the copy is enforced after a start",
  );
  await engine.restart();
  await untilSo(async () => !(await isAway()), "the engine is back");
  await untilSo(
    async () => (await a.admin("POST", "auth-keys", { name: "later" })).status === 201,
    "keys are issued again",
  );
  const fresh = await startHost(t, engine);
  await untilSo(async () => (await fresh.statusWith(value)) === 200, "a fresh host knows the key");
  for (const host of [a, b, fresh]) {
    const listed = async (): Promise<string> =>
      JSON.stringify((await host.admin("GET", "auth-keys")).body);
    await untilSo(async () => (await listed()).includes('"later"'), "the later key is listed");
  }
});

t.test("another program has written where definitions are", { skip }, async (t) => {
  const engine = await startEngine(t);
  const [a, b] = [await startHost(t, engine), await startHost(t, engine)];
  const { value } = (await a.admin("POST", "auth-keys", {})).body as { value: string };
  await untilSo(async () => (await b.statusWith(value)) === 200, "it is known");
  const key = (name: string): string => `sluice:{sluice}:${name}`;
  for (const name of ["definitions", "order", "deleted", "state"]) {
    await engine.cli("DEL", key(name));
    await engine.cli("SET", key(name), "somebody else's");
    await untilSo(
      async () => Number(await engine.cli("HLEN", key("definitions")).catch(() => 0)) > 0,
      "hosts tell the engine again",
    );
    t.equal(await b.statusWith(value), 200, "the copy is enforced");
    await untilSo(
      async () => (await a.admin("POST", "auth-keys", { name })).status === 201,
      "keys are issued",
    );
  }
  const fresh = await startHost(t, engine);
  await untilSo(async () => (await fresh.statusWith(value)) === 200, "a fresh host knows the key");
});
