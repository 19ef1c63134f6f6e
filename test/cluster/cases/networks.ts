/**
 * Two hosts, each in a network namespace of its own with its daemon and proxy, and a real engine:
 * one host's wire to the engine is cut, both go on as `cluster.failure_mode` says, and it is joined
 * again.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Test } from "tap";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { makeNamespace, noNamespaces } from "../../support/processes/network-namespace.js";
import {
  engineProgram,
  noEngine,
  type RunningEngine,
  startEngine,
} from "../../support/processes/start-engine.js";
import { type Answer, type ClusterHost, startHost, untilSo } from "../cluster-host.js";

const skip = engineProgram === null ? noEngine : noNamespaces();
const cap = 60;
/**
 * A connection is tried again after 3 s at most, and a second may pass until it is given up; the
 * rest is for a machine that is busy.
 */
const joinedMs = 10_000;

interface Site {
  readonly engine: RunningEngine;
  readonly a: ClusterHost;
  readonly b: ClusterHost;
  cut(): void;
  join(): void;
}

async function startSite(t: Test, failureMode: string): Promise<Site> {
  const networks = [makeNamespace(t, 0), makeNamespace(t, 1)] as const;
  const bound = networks.map(({ engineAddress }) => engineAddress);
  const engine = await startEngine(t, ["--bind", "127.0.0.1", ...bound, "--protected-mode", "no"]);
  const env = { SLUICE_CLUSTER_FAILURE_MODE: failureMode };
  const [a, b] = [
    await startHost(t, engine, { network: networks[0], env }),
    await startHost(t, engine, { network: networks[1], env }),
  ];
  for (const host of [a, b])
    await untilSo(async () => (await aliveOf(host)) === 2, "both are known");
  return { engine, a, b, cut: () => networks[0].cut(), join: () => networks[0].join() };
}

async function aliveOf(host: ClusterHost): Promise<number> {
  const { cluster } = (await host.admin("GET", "status")).body as {
    readonly cluster: { readonly hosts: readonly { readonly alive: boolean }[] };
  };
  return cluster.hosts.filter(({ alive }) => alive).length;
}

async function failingOf(host: ClusterHost): Promise<string | null> {
  const { limiter } = (await host.get("/health")).body as {
    readonly limiter: { readonly cluster_failing: string | null };
  };
  return limiter.cluster_failing;
}

async function usedOn(host: ClusterHost): Promise<number> {
  const { rate_limits: rules } = (await host.admin("GET", "rate-limits")).body as {
    readonly rate_limits: readonly { readonly requests_used: number }[];
  };
  return rules[0]?.requests_used ?? -1;
}

/** On a machine that is busy the engine's answers may be late, which callers ask again after. */
async function askPatiently(host: ClusterHost): Promise<Answer> {
  for (let tries = 0; ; tries++) {
    const answer = await host.chat("/team/app");
    if (answer.status !== 503 || tries === 20) return answer;
    await delay(100);
  }
}

/**
 * Asks one after the other; how many were admitted, and the first answer that was none. `isCut`:
 * the host is, and its first answer counts.
 */
async function ask(
  host: ClusterHost,
  most: number,
  isCut = false,
): Promise<{ readonly admitted: number; readonly refusal: Answer | null }> {
  for (let admitted = 0; admitted < most; admitted++) {
    const answer = await (isCut ? host.chat("/team/app") : askPatiently(host));
    if (answer.status !== 200) return { admitted, refusal: answer };
  }
  return { admitted: most, refusal: null };
}

/** A rule and a key that both hosts know; 15 requests on one of them and 5 on the other. */
async function prepare(t: Test, { a, b }: Site): Promise<{ readonly key: string; id: string }> {
  const rule = {
    user_path: "/team",
    limit_key: { period_seconds: agesSeconds },
    max_requests: cap,
  };
  t.equal((await a.admin("PUT", "rate-limits", rule)).status, 200);
  const issued = await a.admin("POST", "auth-keys", { user_path: "/team" });
  const { id, value: key } = issued.body as { id: string; value: string };
  await untilSo(async () => (await b.statusWith(key)) === 200, "the key is known");
  await untilSo(async () => (await usedOn(b)) === 0, "the rule is known");
  for (const host of [a, b]) t.equal((await ask(host, 5)).admitted, 5);
  // So many at once that the host holds units when it is cut off.
  const burst = await Promise.all(Array.from({ length: 10 }, () => askPatiently(a)));
  t.ok(burst.every(({ status }) => status === 200));
  return { key, id };
}

async function totalOf(host: ClusterHost): Promise<unknown> {
  const { body } = await host.admin("GET", "usage?user_path=/team");
  return body;
}

for (const [mode, bound] of [
  ["closed", cap],
  // Its part, a half, beside what it was granted, while the other has all that is left.
  ["local", cap + cap / 2],
  ["open", Number.POSITIVE_INFINITY],
] as const)
  t.test(`a host is cut off and joined, failure_mode ${mode}`, { skip }, async (t) => {
    const site = await startSite(t, mode);
    const { a, b } = site;
    const { key, id } = await prepare(t, site);

    site.cut();
    const alone = await ask(a, mode === "open" ? cap : 2 * cap, true);
    if (mode === "closed") {
      t.match(alone.refusal, {
        status: 503,
        body: { error: { code: "cluster_unavailable", message: /engine/ } },
      });
      t.equal(alone.refusal?.headers.get("retry-after"), "1");
    } else if (mode === "local") {
      t.equal(alone.refusal?.status, 429);
      // Its half, or what it was granted if that is more; the other host has used 5.
      t.ok(alone.admitted + 15 <= cap - 5, `${alone.admitted + 15} of its part`);
      t.ok(alone.admitted + 15 >= cap / 2, "no less than its half");
    } else t.equal(alone.refusal, null);
    await untilSo(async () => (await failingOf(a)) !== null, "it is said that the engine is away");
    t.match(await failingOf(a), /hasn't answered in time|no network leads|engine/);
    t.equal(await failingOf(b), null, "the other host is well");

    const changed = await a.admin("POST", "auth-keys", {});
    t.match(changed, { status: 503, body: { code: "cluster_unavailable" } });
    t.equal(await a.statusWith(key), 200, "what it knows is enforced from its copy");
    t.ok((await b.admin("POST", `auth-keys/${id}/deactivate`)).status < 300);
    t.equal(await b.statusWith(key), 401);
    const other = await ask(b, 2 * cap);
    t.equal(other.refusal?.status, 429, "the other host goes on to the cap");
    const admitted = 20 + alone.admitted + other.admitted;
    t.ok(admitted <= bound, `${admitted} of ${cap} were admitted`);
    t.comment(`${alone.admitted} where it was cut, ${other.admitted} on the other host`);

    site.join();
    const backMs = await untilSo(async () => (await failingOf(a)) === null, "it is joined");
    const refusedMs = await untilSo(async () => (await a.statusWith(key)) === 401, "it is refused");
    t.ok(backMs + refusedMs < joinedMs, `joined after ${(backMs + refusedMs).toFixed(0)} ms`);
    for (const host of [a, b])
      await untilSo(async () => (await usedOn(host)) === admitted, "what all have used is known");
    // Nothing is granted beyond the cap, and what was cut off isn't lost or counted twice.
    const left = Math.max(0, cap - admitted);
    const after = [await ask(a, left + 1), await ask(b, left + 1)];
    t.equal(
      after.reduce((sum, each) => sum + each.admitted, 0),
      left,
      "what is left, and no more",
    );
    for (const { refusal } of after) t.equal(refusal?.status, 429);
    const total = {
      usage: { total_requests: admitted + left },
      hosts: { complete: true, count: 2 },
    };
    for (const host of [a, b])
      await untilSo(
        async () =>
          JSON.stringify(await totalOf(host)).includes(`"total_requests":${admitted + left}`),
        "usage is that of both",
      );
    t.match(await totalOf(a), total);
    t.match(await totalOf(b), total);
  });
