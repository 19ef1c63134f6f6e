/** A rule and a budget for some models hold over two hosts, in whole processes on a real engine. */
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { engineProgram, noEngine, startEngine } from "../../support/processes/start-engine.js";
import { type Answer, type ClusterHost, startHost, untilSo } from "../cluster-host.js";

const skip = engineProgram === null && noEngine;
const cap = 6;
const amount = 6;
// The question of a test has few tokens: each answer of sim-fast costs about a dollar.
const yaml = `entitlements: [quota_templates]
prices: { simulator/sim-fast: { input: 0, output: 30000 } }
rate_limits:
  user_paths:
    - path: /interns
      limits:
        - { period_seconds: ${agesSeconds}, max_requests: ${cap}, models: [sim-fast] }
    - path: /teams
      per_child: true
      limits:
        - { period_seconds: ${agesSeconds}, max_requests: ${cap}, models: ["*", "!sim-slow"] }
budgets:
  user_paths:
    - path: /art
      limits: [{ period_seconds: ${agesSeconds}, amount: ${amount}, models: ["simulator/sim-f*"] }]
    - path: /tenants
      per_child: true
      limits: [{ period_seconds: ${agesSeconds}, amount: ${amount}, models: [sim-fast] }]
`;

const ask = (host: ClusterHost, path: string, model: string): Promise<Answer> =>
  host.chat(path, undefined, model);

t.test("a rule and a budget for some models, used on two hosts", { skip }, async (t) => {
  const engine = await startEngine(t);
  const hosts = [await startHost(t, engine, { yaml }), await startHost(t, engine, { yaml })];
  const [a, b] = hosts as [ClusterHost, ClusterHost];

  /** Asks the hosts in turn until each refuses; returns how many requests were admitted. */
  const admittedOf = async (path: string, code: string): Promise<number> => {
    let admitted = 0;
    const refusing = new Set<ClusterHost>();
    const isOver = async (): Promise<boolean> => {
      for (const host of hosts) {
        const { status, body } = await ask(host, path, "sim-fast");
        if (status === 200) {
          admitted++;
          refusing.clear();
        } else {
          t.match({ status, body }, { status: 429, body: { error: { code } } }, path);
          refusing.add(host);
        }
      }
      return refusing.size === hosts.length || admitted > 3 * cap;
    };
    await untilSo(isOver, `both hosts refuse on ${path}`);
    return admitted;
  };
  const othersPass = async (path: string, elsewhere: string): Promise<void> => {
    for (const host of hosts) {
      t.equal((await ask(host, path, "sim-slow")).status, 200, `${path}: another model`);
      t.equal((await ask(host, elsewhere, "sim-fast")).status, 200, `another path, ${elsewhere}`);
    }
  };

  t.equal(await admittedOf("/interns/ann", "rate_limit_exceeded"), cap, "a rule on a path");
  await othersPass("/interns/ann", "/else");
  t.equal(await admittedOf("/teams/x/1", "rate_limit_exceeded"), cap, "each child of a template");
  await othersPass("/teams/x/1", "/teams/y");

  for (const [path, elsewhere] of [
    ["/art/ann", "/else"],
    ["/tenants/x", "/tenants/y"],
  ] as const) {
    // A charge is known on the other host within a second, until which that one admits.
    t.ok((await admittedOf(path, "budget_exceeded")) >= amount / 2, `a budget on ${path}`);
    await othersPass(path, elsewhere);
  }
  const spent = async (host: ClusterHost): Promise<string> => {
    const { budgets } = (await host.admin("GET", "budgets")).body as {
      readonly budgets: readonly { readonly spent: number; readonly user_path: string }[];
    };
    const art = budgets.find(({ user_path: path }) => path === "/art")!.spent;
    return art.toFixed(9);
  };
  const areSame = async (): Promise<boolean> => (await spent(a)) === (await spent(b));
  await untilSo(areSame, "both hosts list the same spend");
  t.ok(Number(await spent(a)) >= amount);

  await a.restartDaemon();
  await untilSo(async () => (await ask(a, "/else", "sim-fast")).status === 200, "it is back");
  for (const path of ["/interns/bob", "/teams/x", "/art", "/tenants/x/1"])
    await untilSo(
      async () => (await ask(a, path, "sim-fast")).status === 429,
      `a killed daemon refuses again on ${path}`,
    );
});
