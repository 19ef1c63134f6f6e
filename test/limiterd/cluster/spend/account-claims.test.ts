import t from "tap";
import { AccountClaim } from "../../../../limiterd/cluster/spend/account-claims.js";
import { ClusterTurn } from "../../../../limiterd/shares/cluster-turn.js";
import type { ClusterFailureMode } from "../../../../shared/cluster/cluster-config.js";
import type { BudgetDefinition } from "../../../../shared/domain/budget.js";
import type { FromDaemon } from "../../../../shared/wire/message-from-daemon.js";
import {
  ask as askAdmin,
  executed,
  settleOf,
  startDaemon,
  target,
} from "../../in-memory-daemon.js";
import {
  beginMs,
  type Host,
  type HostOptions,
  type Hosts,
  startHosts,
} from "../../shares/hosts.js";

const rates = { input: 1_000_000, output: 1_000_000 };
/** Of a million tokens. */
const hard: BudgetDefinition = {
  ...({ scope: "user_path", subject: "/", periodSeconds: 86_400, perChild: false } as const),
  ...({ amountUsd: 1, hold: "hard" } as const),
};
const rule = {
  ...({ scope: "user_path", subject: "/", periodSeconds: 86_400, perChild: false } as const),
  ...({ maxRequests: null, maxTokens: 1_000_000, hold: "hard" } as const),
};

let lastId = 1;

function begin(host: Host, outputMax: number | null = null, promptTokens = 1000): number {
  const id = ++lastId;
  host.proxy.send({
    ...{ read: 0, kind: "admit", id, userPath: "/", credential: "authenticated" },
    ...{ targets: [target], submission: false },
    metered: { promptTokens, outputMax, isStreamed: outputMax === null, rates: [rates] },
  });
  return id;
}

function answerTo({ proxy }: Host, id: number): Record<string, unknown> {
  const isAnswer = (message: FromDaemon): boolean => "id" in message && message.id === id;
  return { ...(proxy.received.findLast(isAnswer) ?? { kind: "nothing" }) };
}

async function admit(hosts: Hosts, host: Host, outputMax: number | null = null) {
  const id = begin(host, outputMax);
  await hosts.pass(20);
  return { id, ...answerTo(host, id) } as Record<string, unknown> & { id: number };
}

async function draw(hosts: Hosts, host: Host, id: number, total: number) {
  host.proxy.send({ kind: "draw", id, total });
  await hosts.pass(20);
  return answerTo(host, id) as { total: number; cap?: string };
}

function end(host: Host, { id, admittedAtMs, lsn }: Record<string, unknown>, tokens: number): void {
  const lease = {
    ...{ lease: id as number, userPath: "/", admittedAtMs: admittedAtMs as number },
    ...{ lsn: lsn as number, target, submission: false },
    ...{ targetAtMs: admittedAtMs as number, targetLsn: lsn as number },
  };
  const cost = tokens * rates.output;
  const record = executed({
    ...{ inputTokens: tokens, outputTokens: 0, inputCost: cost, outputCost: 0, totalCost: cost },
  });
  host.proxy.send({ ...settleOf(lease, id as number, tokens), record });
}

async function withBudget(options: HostOptions = {}): Promise<{ hosts: Hosts; a: Host; b: Host }> {
  const hosts = startHosts([], { budgets: [hard], ...options });
  const [a, b] = hosts.all;
  await hosts.pass(1000);
  return { hosts, a: a!, b: b! };
}

t.test("what running requests of another host hold can't be used", async (t) => {
  const { hosts, a, b } = await withBudget();
  const large = await admit(hosts, a, 900_000);
  t.match(large, { kind: "admitted", allowance: 499_750 });
  const other = await admit(hosts, b, 900_000);
  t.equal(other.kind, "admitted");
  t.ok((other.allowance as number) <= 499_500, `${other.allowance}`);
  const third = await admit(hosts, b, 900_000);
  t.match(third, { kind: "admitted" });
  const sum = [large, other, third].reduce((all, each) => all + (each.allowance as number), 0);
  t.ok(sum + 3000 <= 1_000_000, `${sum}`);
});

for (const [name, rules, budgets, refused] of [
  ["budget", [], [hard], { kind: "exceeded", waitSeconds: 1 }],
  // What another host claims of a rule counts as used.
  ["rule", [rule], [], { kind: "refused" }],
] as const)
  t.test(`one stream may use a whole ${name}, and others are refused meanwhile`, async (t) => {
    const hosts = startHosts(rules, { budgets });
    const [a, b] = hosts.all as [Host, Host];
    await hosts.pass(1000);
    const running = await admit(hosts, a);
    let drawn = await draw(hosts, a, running.id, 2_000_000);
    for (let i = 0; i < 10_000 && drawn.cap === undefined; i++)
      drawn = await draw(hosts, a, running.id, 2_000_000);
    t.ok(drawn.total > 998_000, `${drawn.total}`);
    t.match(await admit(hosts, b), refused);
    end(a, running, 400_000);
    await hosts.pass(3000);
    t.match(await admit(hosts, b), { kind: "admitted" });
  });

t.test("at rest the engine has claims of nothing", async (t) => {
  const { hosts, a, b } = await withBudget();
  for (const host of [a, b]) end(host, await admit(hosts, host), 100);
  await hosts.pass(6000);
  for (const fields of hosts.engine.data.hashes.values())
    for (const [field, text] of fields)
      if (field.startsWith("claim:")) t.match(text, /,0\.0+$/, field);
});

for (const [failureMode, cut, refused] of [
  ["closed", true, { kind: "failed" }],
  ["local", true, { kind: "admitted" }],
  ["open", false, { kind: "admitted" }],
] as const satisfies readonly (readonly [ClusterFailureMode, boolean, object])[])
  t.test(`while the engine is away, ${failureMode} decides beyond the claim`, async (t) => {
    const { hosts, a, b } = await withBudget({ failureMode });
    const running = await admit(hosts, a);
    t.match(await admit(hosts, b), { kind: "admitted" });
    for (const host of hosts.all) host.cutOff = true;
    await hosts.pass(1000);
    let drawn = { total: running.allowance as number, cap: undefined as string | undefined };
    for (let i = 0; i < 400 && drawn.cap === undefined; i++)
      drawn = { cap: undefined, ...(await draw(hosts, a, running.id, drawn.total + 4096)) };
    t.equal(drawn.cap !== undefined, cut, `${drawn.total} drawn`);
    if (failureMode === "local") t.ok(drawn.total <= 500_000 && drawn.total > 490_000);
    if (failureMode === "closed") t.ok(drawn.total < 10_000, `${drawn.total}`);
    t.match(await admit(hosts, b), refused);
  });

t.test("an engine that answers is asked in every mode", async (t) => {
  for (const failureMode of ["local", "open"] as const)
    for (const rules of [[], [rule]]) {
      const hosts = startHosts(rules, { failureMode, budgets: rules.length === 0 ? [hard] : [] });
      await hosts.pass(1000);
      let held = 0;
      for (let i = 0; i < 40; i++) {
        const host = hosts.all[i % 2]!;
        const { kind, allowance } = await admit(hosts, host, 900_000);
        if (kind === "admitted") held += (allowance as number) + 1000;
        await hosts.pass(200);
      }
      t.ok(held <= 1_000_000, `${held} of a million are held, ${failureMode}`);
    }
});

t.test("after a reset, or in another period, a host claims anew", async (t) => {
  const { hosts, a } = await withBudget();
  end(a, await admit(hosts, a), 900_000);
  await hosts.pass(2000);
  for (const { daemon } of hosts.all)
    await askAdmin(daemon, "budgets.reset", { confirmation: "reset" });
  t.match(await admit(hosts, a), { kind: "admitted" });
  await hosts.pass(86_400_000);
  t.match(await admit(hosts, a), { kind: "admitted" });
});

for (const [name, changes, ranMs, gapMs] of [
  ["the end of a period", { periodSeconds: 60 }, 20_000, 200],
  ["the end of a period, at once", { periodSeconds: 60 }, 9770, 0],
  ["the length of a rolling budget", { periodSeconds: 60, rolling: true }, 70_000, 200],
] as const)
  t.test(`what running requests hold counts on all hosts after ${name}`, async (t) => {
    const budgets = [{ ...hard, ...changes }];
    const hosts = startHosts([], { budgets, startMs: beginMs + 50_250 });
    const [a, b] = hosts.all as [Host, Host];
    let held = 0;
    const hold = async (host: Host): Promise<void> => {
      const { kind, allowance } = await admit(hosts, host, 900_000);
      if (kind === "admitted") held += 1000 + (allowance as number);
    };
    await hold(a);
    t.ok(held > 490_000, `${held}`);
    await hosts.pass(ranMs - 20);
    for (let i = 0; i < 20; i++) {
      await hold(b);
      await hosts.pass(gapMs);
    }
    t.ok(held > 700_000 && held <= 1_000_000, `${held} of a million are held`);
  });

t.test("a host that died in a period keeps its claim for ten seconds of the next", async (t) => {
  const budgets = [{ ...hard, periodSeconds: 60 }];
  const hosts = startHosts([], { budgets, startMs: beginMs + 50_250 });
  const [a, b] = hosts.all as [Host, Host];
  await admit(hosts, a, 900_000);
  a.cutOff = true;
  const leftAt = async (ms: number): Promise<unknown> => {
    await hosts.pass(ms);
    const answer = await admit(hosts, b, 900_000);
    if (answer.kind === "admitted") end(b, answer, 0);
    return answer.kind === "admitted" ? answer.allowance : answer.kind;
  };
  const held = (await leftAt(15_000)) as number;
  t.ok(held < 400_000, `${held}`);
  const free = (await leftAt(6000)) as number;
  t.ok(free > 400_000, `${free}`);
});

t.test("who waits for two answers doesn't ask for the first again and again", async (t) => {
  const hosts = startHosts([rule], { budgets: [hard] });
  const [a] = hosts.all;
  await hosts.pass(1000);
  begin(a!);
  a!.answerMs = 200;
  await hosts.pass(1);
  a!.answerMs = 0;
  const before = hosts.asked;
  begin(a!);
  await hosts.pass(100);
  t.ok(hosts.asked - before < 10, `${hosts.asked - before} questions`);
});

t.test("from the moment when it sends a lower claim, a host keeps to it", async (t) => {
  let monoMs = 1000;
  const turn = new ClusterTurn("closed");
  const { state } = startDaemon([], { budgets: [hard] });
  const account = [...state.budgets.budgets.values()][0]!.own!;
  const claim = new AccountClaim(account, {
    ...{ turn, monoMs: () => monoMs, isAway: () => false, ask: () => {}, leftOf: () => 1e12 },
    startMs: () => 5,
  });
  const part = { fromMs: 0, claimsFromMs: 0, endMs: 10, amount: 1e12, spentHere: () => 0 };
  const report = () => claim.report(account, false).amount;
  turn.begin("ask");
  t.equal(claim.lacks(part, { held: 0, need: 10, want: 1000 }), true);
  claim.want(1000);
  t.equal(report(), 1000);
  t.equal(claim.leftOf(part), 0, "not confirmed");
  claim.endQuestion(true);
  t.equal(claim.leftOf(part), 1000);
  claim.noteCharge(300);
  t.equal(claim.leftOf(part), 700);
  monoMs = 5000;
  t.equal(report(), 500);
  t.equal(claim.leftOf(part), 500, "a lower claim counts at once");
  claim.endQuestion(false);
  t.equal(claim.leftOf(part), 500, "the engine may have received it");
  t.equal(claim.lacks(part, { held: 0, need: 10, want: 2000 }), true);
  claim.want(2000);
  t.equal(report(), 2000);
  t.equal(claim.leftOf(part), 500);
  claim.endQuestion(true);
  t.equal(claim.leftOf(part), 2000);
  t.equal(claim.leftOf({ ...part, fromMs: 6 }), 0, "in the next period");
});
