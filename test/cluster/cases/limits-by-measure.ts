/** Caps on output tokens and on cost hold over two hosts, in whole processes on a real engine. */
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { engineProgram, noEngine, startEngine } from "../../support/processes/start-engine.js";
import { type ClusterHost, startHost, untilSo } from "../cluster-host.js";

const skip = engineProgram === null && noEngine;
// Each answer of sim-fast costs about a dollar, and has some 30 tokens.
const yaml = `entitlements: [quota_templates]
prices: { simulator/sim-fast: { input: 0, output: 30000 } }
rate_limits:
  user_paths:
    - path: /out
      limits: [{ period_seconds: ${agesSeconds}, max_requests: 1000, max_output_tokens: 200 }]
    - path: /in
      limits: [{ period_seconds: ${agesSeconds}, max_input_tokens: 1000000 }]
    - path: /cost
      per_child: true
      limits: [{ period_seconds: ${agesSeconds}, max_cost: 6 }]
`;

interface Counts {
  readonly subject: string;
  readonly output_tokens_used?: number;
  readonly input_tokens_used?: number;
  readonly cost_used?: number;
}

t.test("caps on output tokens and on cost, used on two hosts", { skip }, async (t) => {
  const engine = await startEngine(t);
  const hosts = [await startHost(t, engine, { yaml }), await startHost(t, engine, { yaml })];
  const [a] = hosts as [ClusterHost, ClusterHost];
  for (const [path, words] of [
    ["/out/x", /output token limit of 200 reached/],
    ["/cost/acme/y", /^rate limit exceeded for \/cost\/acme: .* cost limit of \$6 reached/],
  ] as const) {
    let admitted = 0;
    const refusing = new Set<ClusterHost>();
    await untilSo(async () => {
      for (const host of hosts) {
        const { status, body } = await host.chat(path, undefined, "sim-fast");
        if (status === 200) {
          admitted++;
          refusing.clear();
        } else {
          t.match({ status, body }, { status: 429, body: { error: { message: words } } }, path);
          refusing.add(host);
        }
      }
      return refusing.size === hosts.length || admitted > 60;
    }, `both hosts refuse on ${path}`);
    t.ok(admitted >= 3 && admitted <= 60, `${path}: ${admitted} were admitted`);
    for (const host of hosts)
      t.equal((await host.chat("/in", undefined, "sim-fast")).status, 200, "another path");
  }
  const used = async (host: ClusterHost): Promise<Readonly<Record<string, Counts>>> => {
    const { rate_limits: rules } = (await host.admin("GET", "rate-limits")).body as {
      readonly rate_limits: readonly Counts[];
    };
    return Object.fromEntries(rules.map((rule) => [rule.subject, rule]));
  };
  await untilSo(async () => {
    const counts = await Promise.all(hosts.map(used));
    return new Set(counts.map((each) => each["/in"]?.input_tokens_used)).size === 1;
  }, "both hosts list the same input tokens");
  t.ok((await used(a))["/out"]!.output_tokens_used! >= 200);
  await a.restartDaemon();
  await untilSo(
    async () => (await a.chat("/in", undefined, "sim-fast")).status === 200,
    "it is back",
  );
  for (const path of ["/out/y", "/cost/acme"])
    await untilSo(
      async () => (await a.chat(path, undefined, "sim-fast")).status === 429,
      `a killed daemon refuses again on ${path}`,
    );
});
