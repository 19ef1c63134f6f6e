/** Rules that stay with their host where several share their limits: `host_only`. */
import t from "tap";
import type { RuleItem } from "../../../shared/api/rule-item.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { limiterCases, playCase } from "../../conformance/cases.js";
import { definitionOf } from "../../conformance/core-answers.js";
import { ask as askAdmin, leaseOf, pathRule, settleOf, target } from "../in-memory-daemon.js";
import { type Host, type Hosts, startHosts } from "./hosts.js";
import { gatewayOf } from "./shared-gateway.js";

const alone = (rule: RuleDefinition): RuleDefinition => ({ ...rule, hostOnly: true });

/** Asks, and returns the answer once it is there; null: it isn't. */
async function ask(hosts: Hosts, { proxy }: Host, id: number, userPath = "/a") {
  const before = proxy.received.length;
  proxy.send({
    read: 0,
    kind: "admit",
    id,
    userPath,
    credential: "authenticated",
    targets: [target],
    submission: false,
  });
  await hosts.pass(1);
  return proxy.received[before] ?? null;
}

async function kinds(hosts: Hosts, host: Host, count: number, userPath = "/a") {
  const found: string[] = [];
  for (let i = 0; i < count; i++) {
    const id = host.proxy.received.length + 1;
    found.push((await ask(hosts, host, id, userPath))?.kind ?? "none");
  }
  return found.join(" ");
}

/** Settles an admitted request. */
function end({ proxy }: Host, answer: FromDaemon | null, tokens: number): void {
  if (answer?.kind !== "admitted") throw new Error(`it is ${answer?.kind}`);
  proxy.send(settleOf(leaseOf(answer, "/a"), 1, tokens));
}

function pair(rules: readonly RuleDefinition[]): readonly [Hosts, Host, Host] {
  const hosts = startHosts(rules);
  return [hosts, hosts.all[0]!, hosts.all[1]!];
}

t.test("each host has the whole cap, and the engine is asked nothing", async (t) => {
  const [hosts, one, two] = pair([alone(pathRule("/a", 60, { requests: 2 }))]);
  for (const host of [one, two]) t.equal(await kinds(hosts, host, 3), "admitted admitted refused");
  t.equal(hosts.asked, 0);
});

t.test("it holds while the engine is away, and idle hosts know no shares", async (t) => {
  const [hosts, one] = pair([alone(pathRule("/a", 60, { requests: 2 }))]);
  one.cutOff = true;
  t.equal(await kinds(hosts, one, 3), "admitted admitted refused");
  t.equal(one.shares.size, 0);
});

t.test("a shared rule and one of the host must both admit", async (t) => {
  const [hosts, one, two] = pair([
    pathRule("/", 60, { requests: 3 }),
    alone(pathRule("/a", 60, { requests: 2 })),
  ]);
  t.equal(await kinds(hosts, one, 3), "admitted admitted refused");
  await hosts.pass(1000);
  t.equal(await kinds(hosts, two, 2), "admitted refused");
  t.match(two.proxy.received.at(-1), { subject: "/", cap: 3 }, "by the shared one here");
  t.match(one.proxy.received.at(-1), { subject: "/a", cap: 2 });
});

t.test("gauges and children of templates are the host's, too", async (t) => {
  const [hosts, one, two] = pair([
    alone(pathRule("/a", 0, { requests: 1 })),
    { ...alone(pathRule("/t", 60, { requests: 1 })), perChild: true },
  ]);
  for (const host of [one, two]) {
    t.equal(await kinds(hosts, host, 2), "admitted refused");
    t.equal(await kinds(hosts, host, 2, "/t/x"), "admitted refused");
    t.equal(await kinds(hosts, host, 1, "/t/y"), "admitted");
  }
  t.equal(hosts.asked, 0);
});

t.test("tokens are charged to the host alone", async (t) => {
  const [hosts, one, two] = pair([alone(pathRule("/a", 60, { tokens: 10 }))]);
  end(one, await ask(hosts, one, 1), 10);
  await hosts.pass(2000);
  t.match(await ask(hosts, one, 2), { kind: "refused", dimension: "tokens" });
  t.match(await ask(hosts, two, 1), { kind: "admitted" });
});

/** Puts the rule on both hosts, as definitions that are shared do. */
function put(hosts: Hosts, definition: RuleDefinition): void {
  for (const { daemon } of hosts.all)
    daemon.state.book.put(definition, { source: "manual", nowMs: hosts.wallMs(), lsn: 0 });
}

const cap = pathRule("/a", 3600, { requests: 10 });

t.test("a rule of each host that is shared goes on with what all have used", async (t) => {
  const [hosts, one, two] = pair([alone(cap)]);
  await kinds(hosts, one, 4);
  await kinds(hosts, two, 4);
  put(hosts, cap);
  // Each tells what it has used with its first question.
  t.equal(await kinds(hosts, one, 1), "admitted");
  t.equal(await kinds(hosts, two, 2), "admitted refused");
  await hosts.pass(1000);
  t.equal(await kinds(hosts, one, 1), "refused", "4 + 4 + 2");
});

t.test("a shared rule that is each host's goes on with what that host has used", async (t) => {
  const [hosts, one, two] = pair([cap]);
  await kinds(hosts, one, 6);
  await hosts.pass(1000);
  await kinds(hosts, two, 2);
  await hosts.pass(1000);
  put(hosts, alone(cap));
  t.match((await kinds(hosts, one, 5)).split(" ").length, 5);
  t.match(one.proxy.received.at(-1), { kind: "refused", cap: 10 }, "6 + 4");
  t.match(await kinds(hosts, two, 8), /^(?:admitted ?){8}$/, "2 + 8");
  t.match(await kinds(hosts, two, 1), "refused");
  const asked = hosts.asked;
  await hosts.pass(10_000);
  t.same([one.shares.size, two.shares.size], [0, 0], "nothing is held of it any more");
  t.equal(hosts.asked, asked, "nor told");
  put(hosts, cap);
  t.equal(await kinds(hosts, one, 1), "refused", "shared again: 10 + 10 of 10");
});

t.test("turned while requests run, their places are kept", async (t) => {
  const gauge = pathRule("/a", 0, { requests: 2 });
  const [hosts, one, two] = pair([gauge]);
  const first = await ask(hosts, one, 1);
  put(hosts, alone(gauge));
  t.equal(await kinds(hosts, two, 3), "admitted admitted refused");
  t.equal(await kinds(hosts, one, 2), "admitted refused");
  put(hosts, gauge);
  end(one, first, 0);
  await hosts.pass(1000);
  t.equal(await kinds(hosts, one, 1), "refused", "1 here and 2 there");
});

t.test(
  "a request that waits for the engine is judged by the host when its rule is turned",
  async (t) => {
    const [hosts, one] = pair([cap]);
    one.answerMs = 200;
    t.equal(await ask(hosts, one, 1), null);
    put(hosts, alone(cap));
    await hosts.pass(300);
    t.match(one.proxy.received.at(-1), { kind: "admitted" });
  },
);

t.test("lists, explanations and usage mark it, with this host's figures", async (t) => {
  const [hosts, one, two] = pair([alone(pathRule("/a", 60, { requests: 5 })), cap]);
  await kinds(hosts, one, 2);
  await kinds(hosts, two, 1);
  await hosts.pass(1000);
  const body = { user_path: "/a", start_date: "2026-01-01", end_date: "2026-01-01" };
  const explained = { user_path: "/a", targets: [{ provider: "p", model: "m" }] };
  for (const [host, own] of [
    [one, 2],
    [two, 1],
  ] as const) {
    const marked = [
      { host_only: true, period_seconds: 60, requests_used: own },
      { host_only: undefined, period_seconds: 3600, requests_used: 3 },
    ];
    const { rate_limits: items } = await askAdmin(host.daemon, "rate-limits.list", {});
    t.match(items, marked);
    t.notOk("host_only" in (items as readonly RuleItem[])[1]!);
    t.match((await askAdmin(host.daemon, "usage.status", body))["rate_limits"], marked);
    t.match((await askAdmin(host.daemon, "explain", explained))["rules"], marked);
  }
});

for (const item of limiterCases("all")) {
  const rules = item.given.rules.map((rule) => alone(definitionOf(rule)));
  t.test(`${item.id}, by rules of one of two hosts: ${item.given.title}`, async (t) => {
    const hosts = startHosts(rules, { startMs: item.given.clock_base * 1000 });
    await playCase(
      t,
      item,
      gatewayOf(hosts, () => hosts.all[0]!),
    );
    t.equal(hosts.asked, 0);
  });
}

t.test("a list of children says that other hosts may have met more, if they share", async (t) => {
  const template = { ...pathRule("/users", 60, { requests: 5 }), perChild: true };
  for (const [rule, expected] of [
    [template, { children: [{ subject: "/users/ann" }], total: 1, other_hosts: 1 }],
    [alone(template), { children: [{ subject: "/users/ann" }], total: 1, other_hosts: undefined }],
  ] as const) {
    const [hosts, one, two] = pair([rule]);
    t.equal(await kinds(hosts, one, 1, "/users/ann"), "admitted");
    t.equal(await kinds(hosts, two, 1, "/users/bob"), "admitted");
    const asked = askAdmin(one.daemon, "rate-limits.children", {
      user_path: "/users",
      period: "minute",
    });
    await hosts.pass(10);
    t.match(await asked, expected);
  }
});
