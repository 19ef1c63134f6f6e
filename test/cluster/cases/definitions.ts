/** Hosts that share rules and keys by a real engine: two daemons and their proxies, one machine. */
import type { Test } from "tap";
import t from "tap";
import { makeSite, type Part } from "../../support/processes/processes.js";
import {
  engineProgram,
  noEngine,
  type RunningEngine,
  startEngine,
} from "../../support/processes/start-engine.js";

const skip = engineProgram === null && noEngine;
const masterKey = "test-master-key-of-two-hosts";

interface Host {
  readonly daemon: Part;
  restartDaemon(): Promise<void>;
  /** An admin request; its status and body. */
  admin(method: string, path: string, body?: object): Promise<Answer>;
  /** What a caller with this key is answered. */
  statusWith(key: string): Promise<number>;
  get(path: string): Promise<Answer>;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function startHost(t: Test, engine: RunningEngine, declared = ""): Promise<Host> {
  const site = makeSite(
    t,
    `providers:\n  openai:\n    base_url: http://127.0.0.1:1/v1\n    api_key: sk-x\n${declared}`,
    { SLUICE_CLUSTER_URL: engine.url, SLUICE_MASTER_KEY: masterKey },
  );
  let daemon = await site.startDaemon();
  const { ready } = await site.startProxy();
  const ask = async (path: string, options: RequestInit): Promise<Answer> => {
    const response = await fetch(`${ready}${path}`, options);
    return { status: response.status, body: await response.json().catch(() => null) };
  };
  return {
    get daemon() {
      return daemon;
    },
    async restartDaemon() {
      await daemon.kill("SIGKILL");
      daemon = await site.startDaemon();
    },
    admin: (method, path, body) =>
      ask(`/admin/${path}`, {
        method,
        headers: { authorization: `Bearer ${masterKey}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    statusWith: async (key) =>
      (await ask("/v1/usage", { headers: { authorization: `Bearer ${key}` } })).status,
    get: (path) => ask(path, {}),
  };
}

/** Asks again until it is so; returns after how many ms, from the first question on. */
async function until(isSo: () => Promise<boolean>, what: string): Promise<number> {
  const began = performance.now();
  while (!(await isSo()))
    if (performance.now() - began > 10_000) throw new Error(`not within ten seconds: ${what}`);
  return performance.now() - began;
}

t.test(
  "a key that is issued on one host is used and deactivated on the other",
  { skip },
  async (t) => {
    const engine = await startEngine(t);
    const [a, b] = [await startHost(t, engine), await startHost(t, engine)];
    const issued = await a.admin("POST", "auth-keys", { user_path: "/team" });
    t.equal(issued.status, 201, JSON.stringify(issued.body));
    const { id, value } = issued.body as { id: string; value: string };
    const holdsMs = await until(async () => (await b.statusWith(value)) === 200, "it is known");
    t.ok(holdsMs < 1000, `known on the other host after ${holdsMs.toFixed(0)} ms`);
    const ended = await b.admin("POST", `auth-keys/${id}/deactivate`);
    t.ok(ended.status < 300, JSON.stringify(ended.body));
    t.equal(await b.statusWith(value), 401, "refused at once where it was deactivated");
    const refusedMs = await until(async () => (await a.statusWith(value)) === 401, "it is refused");
    t.ok(refusedMs < 1000, `refused on the other host after ${refusedMs.toFixed(0)} ms`);
    t.comment(`${holdsMs.toFixed(0)} ms until it was known, ${refusedMs.toFixed(0)} until refused`);
    const rule = { user_path: "/team", limit_key: { period: "minute" }, max_requests: 7 };
    await Promise.all([a.admin("PUT", "rate-limits", rule), b.admin("PUT", "rate-limits", rule)]);
    for (const host of [a, b])
      await until(
        async () =>
          JSON.stringify((await host.admin("GET", "rate-limits")).body).includes('"/team"'),
        "the rule is listed",
      );
  },
);

t.test("the engine is killed and comes back without its data", { skip }, async (t) => {
  const engine = await startEngine(t);
  const a = await startHost(t, engine);
  const b = await startHost(
    t,
    engine,
    "rate_limits:\n  models:\n    - model: gpt-4o\n      limits:\n        - period: minute\n          max_requests: 5\n",
  );
  const { value } = (await a.admin("POST", "auth-keys", {})).body as { value: string };
  await until(async () => (await b.statusWith(value)) === 200, "it is known");
  interface Shared {
    readonly engine: string;
    readonly hosts: readonly { readonly alive: boolean; readonly configuration_differs: boolean }[];
  }
  const shared = async (): Promise<Shared> =>
    ((await a.admin("GET", "status")).body as { cluster: Shared }).cluster;
  // A host hears of another with its next heartbeat.
  await until(async () => (await shared()).hosts.length === 2, "both hosts are known");
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
  await until(isAway, "the engine is noticed to be away");
  const refused = await a.admin("POST", "auth-keys", {});
  t.match(refused, { status: 503, body: { code: "cluster_unavailable" } });
  t.equal(await a.statusWith(value), 200);
  await b.restartDaemon();
  await until(
    async () => (await b.statusWith(value)) === 200,
    "the copy is enforced after a start",
  );
  await engine.restart();
  await until(async () => !(await isAway()), "the engine is back");
  await until(
    async () => (await a.admin("POST", "auth-keys", { name: "later" })).status === 201,
    "keys are issued again",
  );
  const fresh = await startHost(t, engine);
  await until(async () => (await fresh.statusWith(value)) === 200, "a fresh host knows the key");
  for (const host of [a, b, fresh]) {
    const listed = async (): Promise<string> =>
      JSON.stringify((await host.admin("GET", "auth-keys")).body);
    await until(async () => (await listed()).includes('"later"'), "the later key is listed");
  }
});
