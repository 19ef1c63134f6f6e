/**
 * Budgets with a calendar, of a provider and of a model, raises, shadow rules, and rules after
 * which another model serves, over two hosts, in whole processes on a real engine.
 */
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { exactly } from "../../support/patterns/exactly.js";
import { engineProgram, noEngine, startEngine } from "../../support/processes/start-engine.js";
import { type ClusterHost, startHost, untilSo } from "../cluster-host.js";

const skip = engineProgram === null && noEngine;
// Each answer of sim-fast costs about a dollar, and has some 30 tokens.
const yaml = `prices: { "simulator/*": { input: 0, output: 30000 } }
virtual_models: { cheap: { targets: [{ model: simulator/sim-slow }] } }
rate_limits:
  user_paths:
    - { path: /out, limits: [{ period_seconds: ${agesSeconds}, max_output_tokens: 60 }] }
    - { path: /then, limits: [{ period_seconds: ${agesSeconds}, max_requests: 6, on_exhausted: { use: cheap } }] }
    - { path: /warned, limits: [{ period_seconds: ${agesSeconds}, max_requests: 3, on_exhausted: warn }] }
budgets:
  user_paths:
    - { path: /calendar, limits: [{ period: monthly, amount: 4, time_zone: Asia/Tokyo, anchor_day: 3 }] }
    - { path: /rolling, limits: [{ period_seconds: 86400, amount: 4, rolling: true }] }
    - { path: /raised, limits: [{ period_seconds: ${agesSeconds}, amount: 3 }] }
  providers:
    - { name: simulator, limits: [{ period: yearly, amount: 80 }] }
  models:
    - { model: sim-slow, limits: [{ period: monthly, amount: 8, time_zone: Asia/Tokyo }] }
`;

type Hosts = readonly [ClusterHost, ClusterHost];

/** Asks in turns until both refuse; returns how many were admitted. */
async function untilBothRefuse(
  hosts: Hosts,
  path: string,
  words: RegExp,
  model?: string,
): Promise<number> {
  let admitted = 0;
  const refusing = new Set<ClusterHost>();
  await untilSo(async () => {
    for (const host of hosts) {
      const { status, body } = await host.chat(path, undefined, model);
      if (status === 200) {
        admitted++;
        refusing.clear();
      } else {
        t.match({ status, body }, { status: 429, body: { error: { message: words } } }, path);
        refusing.add(host);
      }
    }
    return refusing.size === hosts.length || admitted > 120;
  }, `both hosts refuse on ${path}`);
  t.ok(admitted <= 120, `${path} ends: ${admitted}`);
  return admitted;
}

interface Item {
  readonly subject: string;
  readonly mode?: string;
  readonly spent?: number;
  readonly period_start?: string;
  readonly period_end?: string;
  readonly requests_used?: number;
  readonly would_refuse?: number;
}

async function itemsOn(host: ClusterHost, list: "budgets" | "rate-limits") {
  const { body } = await host.admin("GET", list);
  const { budgets, rate_limits: rules } = body as Record<string, readonly Item[]>;
  return Object.fromEntries((budgets ?? rules ?? []).map((item) => [item.subject, item]));
}

const spentOn = async (host: ClusterHost, subject: string): Promise<number | undefined> => {
  const { spent } = (await itemsOn(host, "budgets"))[subject]!;
  return spent === undefined ? undefined : Math.round(spent * 1e9) / 1e9;
};

t.test("limits of every kind, on two hosts", { skip }, async (t) => {
  const engine = await startEngine(t);
  const hosts: Hosts = [await startHost(t, engine, { yaml }), await startHost(t, engine, { yaml })];
  const [a, b] = hosts;
  const isSame = (subject: string) => async (): Promise<boolean> =>
    (await spentOn(a, subject)) === (await spentOn(b, subject));

  for (const path of ["/calendar", "/rolling"]) {
    const admitted = await untilBothRefuse(hosts, `${path}/x`, /budget exceeded for/);
    t.ok(admitted >= 3, `${path}: ${admitted} were admitted`);
    await untilSo(isSame(path), `both list what was spent on ${path}`);
  }
  const [ofA, ofB] = await Promise.all(hosts.map((host) => itemsOn(host, "budgets")));
  const { period_start: start, period_end: end } = ofA!["/calendar"]!;
  t.match(ofB!["/calendar"], { period_start: start, period_end: end }, "one month for both");
  t.match(start, /-0[23]T15:00:00Z$/, "midnight of the third in Tokyo");

  const exceeded = /budget exceeded for \/raised/;
  await untilBothRefuse(hosts, "/raised", exceeded);
  const budget = { user_path: "/raised", budget_key: { period_seconds: agesSeconds } };
  const raise = { ...budget, amount: 12, for_seconds: 3600, reason: "two hosts", by: "test" };
  t.match(await a.admin("POST", "budgets/raise", raise), { status: 200 });
  await untilSo(async () => (await b.chat("/raised")).status === 200, "the other host raises it");
  await b.restartDaemon();
  await untilSo(async () => (await b.chat("/raised")).status === 200, "also after a restart");
  t.match(await b.admin("DELETE", "budgets/raise", budget), { status: 200 });
  await untilBothRefuse(hosts, "/raised", exceeded);

  const reached = /output token limit of \d+ reached/;
  await untilBothRefuse(hosts, "/out", reached);
  const rule = { user_path: "/out", limit_key: { period_seconds: agesSeconds } };
  const more = { max_output_tokens: 300, for_seconds: 3600, reason: "two hosts", by: "test" };
  t.match(await a.admin("POST", "rate-limits/raise", { ...rule, ...more }), { status: 200 });
  await untilSo(async () => (await b.chat("/out")).status === 200, "a raised cap on output tokens");
  t.match(await a.admin("DELETE", "rate-limits/raise", rule), { status: 200 });
  await untilBothRefuse(hosts, "/out", reached);

  const shadow = {
    user_path: "/shadow",
    limit_key: { period_seconds: agesSeconds },
    mode: "shadow",
  };
  t.match(await a.admin("PUT", "rate-limits", { ...shadow, max_requests: 4 }), { status: 200 });
  await untilSo(
    async () => (await itemsOn(b, "rate-limits"))["/shadow"] !== undefined,
    "it is known",
  );
  for (let i = 0; i < 6; i++)
    for (const host of hosts)
      t.equal((await host.chat("/shadow")).status, 200, "nothing is refused");
  const noted = async (): Promise<number> => {
    const items = await Promise.all(hosts.map((host) => itemsOn(host, "rate-limits")));
    return items.reduce((sum, each) => sum + (each["/shadow"]!.would_refuse ?? 0), 0);
  };
  const found = await noted();
  t.ok(found >= 4 && found <= 8, `12 requests, a cap of 4: ${found} are noted`);
  await untilSo(async () => {
    const items = await Promise.all(hosts.map((host) => itemsOn(host, "rate-limits")));
    return items.every((each) => (each["/shadow"]!.requests_used ?? 0) >= 4);
  }, "both list what it counts");
  const enforced = { ...shadow, mode: "enforce", max_requests: 4, replaces: shadow };
  t.match(await b.admin("PUT", "rate-limits", enforced), { status: 200 });
  await untilSo(async () => {
    const { mode } = (await itemsOn(a, "rate-limits"))["/shadow"]!;
    return mode === undefined;
  }, "both enforce it");
  await untilBothRefuse(hosts, "/shadow", /\d+s request limit of 4 reached/);

  const after = new Set<ClusterHost>();
  let own = 0;
  await untilSo(async () => {
    for (const host of hosts) {
      const { status, headers } = await host.chat("/then");
      t.equal(status, 200, "another model serves");
      if (headers.get("x-sluice-fallback") === "cheap") after.add(host);
      else own++;
    }
    return after.size === hosts.length;
  }, "both hosts go to the other model");
  t.equal(own, 6, "no more than the cap has gone to the first model");
  await untilSo(async () => {
    const { headers, status } = await a.chat("/warned");
    return status === 200 && headers.get("x-sluice-exhausted") !== null;
  }, "a rule that warns says so");
  await untilSo(async () => {
    const { headers, status } = await b.chat("/warned");
    return status === 200 && headers.get("x-sluice-exhausted") !== null;
  }, "on the other host too");
  await untilBothRefuse(hosts, "/any", /budget exceeded for model sim-slow/, "sim-slow");
  await untilSo(isSame("sim-slow"), "both list what was spent on the model");
  await untilSo(
    async () => (await a.chat("/then")).status === 429,
    "the other model's budget refuses what would go there",
  );

  // The last one, because it ends everything: what all the others have cost counts in it.
  await untilBothRefuse(hosts, "/any", /budget exceeded for provider simulator/);
  await untilSo(isSame("simulator"), "both list what was spent at the provider");
  for (const host of hosts)
    t.match(await host.chat("/other"), {
      status: 429,
      body: { error: { code: "budget_exceeded" } },
    });
  t.match(
    Object.keys(await itemsOn(a, "budgets")).sort(),
    exactly(["/calendar", "/raised", "/rolling", "sim-slow", "simulator"]),
  );
});
