/** Admissions where several hosts count together: the cap is one, wherever requests arrive. */
import t from "tap";
import { settleMs } from "../../../limiterd/bounds.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import type { Lease } from "../../../shared/wire/message-to-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import { ask as admin, executed, pathRule, settleOf, target } from "../in-memory-daemon.js";
import { type Host, type Hosts, startHosts } from "./hosts.js";

/** Asks, and returns the answer once it is there; null: it isn't. */
async function ask(
  hosts: Hosts,
  { proxy }: Host,
  id: number,
  { userPath = "/a", submission = false } = {},
): Promise<FromDaemon | null> {
  const before = proxy.received.length;
  proxy.send({
    read: 0,
    kind: "admit",
    id,
    userPath,
    credential: "authenticated",
    targets: [target],
    submission,
  });
  await hosts.pass(1);
  return proxy.received[before] ?? null;
}

/** The lease of an admitted request. */
function leaseOf(answer: FromDaemon | null, { daemon }: Host): Lease {
  if (answer?.kind !== "admitted") throw new Error(`it is ${answer?.kind}`);
  return {
    lease: answer.id,
    userPath: "/a",
    admittedAtMs: daemon.nowMs,
    lsn: answer.lsn,
    target,
    targetAtMs: daemon.nowMs,
    targetLsn: answer.lsn,
    submission: false,
  };
}

t.test("two hosts admit a cap between them", async (t) => {
  const hosts = startHosts([pathRule("/a", 60, { requests: 5 })]);
  const kinds: string[] = [];
  for (let i = 1; i <= 8; i++) {
    const answer = await ask(hosts, hosts.all[i % 2]!, i);
    kinds.push(answer?.kind ?? "none");
    await hosts.pass(300);
  }
  t.same(kinds, [...Array(5).fill("admitted"), ...Array(3).fill("refused")]);
  const [one] = hosts.all;
  const refused = await ask(hosts, one!, 100);
  t.match(refused, { kind: "refused", dimension: "requests", cap: 5 });
});

t.test("the headers and the wait are of all hosts", async (t) => {
  const hosts = startHosts([pathRule("/a", 60, { requests: 2 })]);
  const [one, two] = hosts.all as [Host, Host];
  t.match(await ask(hosts, one, 1), { headers: { requests: { limit: 2, remaining: 1 } } });
  await hosts.pass(1000);
  t.match(await ask(hosts, two, 1), { headers: { requests: { limit: 2, remaining: 0 } } });
  await hosts.pass(1000);
  t.match(await ask(hosts, one, 2), { kind: "refused", waitSeconds: 58 });
});

t.test("slots are the cluster's, and free again when a request ends", async (t) => {
  const hosts = startHosts([pathRule("/a", 0, { requests: 2 })]);
  const [one, two] = hosts.all as [Host, Host];
  t.equal((await ask(hosts, one, 1))?.kind, "admitted");
  t.equal((await ask(hosts, two, 1))?.kind, "admitted");
  t.equal((await ask(hosts, one, 2))?.kind, "refused");
  two.proxy.close();
  await hosts.pass(400);
  t.equal((await ask(hosts, one, 3))?.kind, "admitted");
});

t.test("tokens of one host are charged on all", async (t) => {
  const hosts = startHosts([pathRule("/a", 60, { tokens: 100 })]);
  const [one, two] = hosts.all as [Host, Host];
  const answer = await ask(hosts, one, 1);
  t.equal(answer?.kind, "admitted");
  one.proxy.send(settleOf(leaseOf(answer, one), 1, 100));
  await hosts.pass(1200);
  t.match(await ask(hosts, two, 1), { kind: "refused", dimension: "tokens", cap: 100 });
});

t.test("a host that stops tells what it has charged, and gives back what it holds", async (t) => {
  const hosts = startHosts([pathRule("/a", 60, { requests: 1000, tokens: 1000 })]);
  const [one] = hosts.all as [Host];
  one.proxy.send(settleOf(leaseOf(await ask(hosts, one, 1), one), 1, 100));
  await one.shares.stop();
  const counter = { ruleId: "user_path\n/a\n60", child: "", periodMs: 60_000, generation: 0 };
  const { totals } = hosts.twin.read(counter, hosts.wallMs());
  t.match(totals, { requests: 1, tokens: 100 });
});

t.test("an idle cluster asks nothing", async (t) => {
  const hosts = startHosts([pathRule("/a", 3600, { requests: 5 })]);
  const [one] = hosts.all as [Host, Host];
  one.proxy.send(settleOf(leaseOf(await ask(hosts, one, 1), one), 1, 10));
  await hosts.pass(20_000);
  const { asked } = hosts;
  await hosts.pass(60_000);
  t.equal(hosts.asked, asked);
  t.equal(one.shares.size, 0, "its share is forgotten");
  t.match(await ask(hosts, one, 2), { headers: { requests: { remaining: 3 } } });
});

t.test("an engine that is away is found again", async (t) => {
  const hosts = startHosts([pathRule("/a", 60, { requests: 5 })]);
  const [one] = hosts.all as [Host, Host];
  one.cutOff = true;
  t.match(await ask(hosts, one, 1), {
    kind: "failed",
    failure: { status: 503, code: "cluster_unavailable" },
  });
  t.match([one.shares.turn.isAway, one.shares.counts.refusedAway], exactly([true, 1]));
  one.cutOff = false;
  await hosts.pass(400);
  t.notOk(one.shares.turn.isAway);
  t.equal((await ask(hosts, one, 2))?.kind, "admitted");
});

t.test("what a host was granted it may use while the engine is away", async (t) => {
  for (const [failureMode, kinds] of [
    ["closed", ["failed", "failed", "failed"]],
    ["local", ["admitted", "admitted", "refused"]],
    ["open", ["admitted", "admitted", "admitted"]],
  ] as const) {
    const hosts = startHosts([pathRule("/a", 60, { requests: 4 })], { failureMode });
    const [one] = hosts.all as [Host, Host];
    one.cutOff = true;
    const answers = [];
    for (let id = 1; id <= 3; id++) answers.push((await ask(hosts, one, id))?.kind);
    t.same(answers, kinds, failureMode);
  }
});

/** All hosts have noticed that the engine has lost its data, but for those that are cut off. */
function wipe({ all, twin }: Hosts): void {
  twin.wipe();
  for (const { shares, cutOff } of all) if (!cutOff) shares.restateAll(settleMs);
}

t.test("an engine that was emptied: no mode admits what is known to be used", async (t) => {
  for (const failureMode of ["closed", "local", "open"] as const)
    for (const period of [60, 0]) {
      const hosts = startHosts([pathRule("/a", period, { requests: 5 })], { failureMode });
      const [one, two] = hosts.all as [Host, Host];
      for (let id = 1; id <= 5; id++) {
        t.equal((await ask(hosts, id % 2 === 0 ? two : one, id))?.kind, "admitted");
        await hosts.pass(300);
      }
      t.equal((await ask(hosts, one, 6))?.kind, "refused");
      two.cutOff = true;
      wipe(hosts);
      const why = `${failureMode}, ${period} s`;
      const kinds = new Set<string | undefined>();
      for (let id = 7; id <= 30; id++) {
        kinds.add((await ask(hosts, one, id))?.kind);
        await hosts.pass(99);
      }
      kinds.delete(undefined);
      t.same([...kinds], ["refused"], why);
    }
});

t.test(
  "on an emptied engine, a host that knows nothing asks for what other hosts reported again",
  async (t) => {
    const hosts = startHosts([pathRule("/a", 60, { requests: 5 })], { failureMode: "open" });
    const [one, two] = hosts.all as [Host, Host];
    for (let id = 1; id <= 3; id++) t.equal((await ask(hosts, one, id))?.kind, "admitted");
    wipe(hosts);
    await hosts.pass(10);
    const kinds = [];
    for (let id = 1; id <= 4; id++) kinds.push((await ask(hosts, two, id))?.kind);
    t.same(kinds, ["admitted", "admitted", "refused", "refused"]);
  },
);

t.test(
  "an engine that was emptied: tokens that others were known to have charged count",
  async (t) => {
    const hosts = startHosts([pathRule("/a", 60, { tokens: 100 })], { failureMode: "open" });
    const [one, two] = hosts.all as [Host, Host];
    one.proxy.send(settleOf(leaseOf(await ask(hosts, one, 1), one), 1, 100));
    await hosts.pass(1200);
    t.equal((await ask(hosts, two, 1))?.kind, "refused");
    one.cutOff = true;
    wipe(hosts);
    await hosts.pass(300);
    t.match(await ask(hosts, two, 2), { kind: "refused", dimension: "tokens" });
  },
);

t.test("an engine that settles isn't asked in vain, and is asked when it can grant", async (t) => {
  const hosts = startHosts([pathRule("/a", 60, { requests: 5 })]);
  const [one] = hosts.all as [Host, Host];
  t.equal((await ask(hosts, one, 1))?.kind, "admitted");
  wipe(hosts);
  await hosts.pass(200);
  const { asked } = hosts;
  for (let id = 2; id <= 9; id++)
    t.match(await ask(hosts, one, id), { failure: { code: "cluster_unavailable" } });
  t.equal(hosts.asked - asked, 1, "what others have told it again is worth one question");
  await hosts.pass(settleMs - 500);
  const before = hosts.asked;
  t.equal(await ask(hosts, one, 10), null, "it waits");
  await hosts.pass(400);
  t.match(one.proxy.received.at(-1), { kind: "admitted", id: 10 });
  t.ok(hosts.asked - before < 10, `${hosts.asked - before} questions`);
});

interface Drive {
  readonly ms: number;
  readonly firstId: number;
  /** Charged for each request. */
  readonly tokens: number;
  readonly perTurn: number;
  readonly everyMs: number;
}

/** The same requests on each host, on ten paths. */
async function driveAll(hosts: Hosts, { ms, firstId, tokens, ...pace }: Drive): Promise<void> {
  const { all } = hosts;
  for (let turn = 0; turn < ms / pace.everyMs; turn++) {
    const before = all.map(({ proxy }) => proxy.received.length);
    for (let i = 0; i < pace.perTurn; i++) {
      const id = firstId + turn * pace.perTurn + i;
      const [credential, targets] = ["authenticated", [target]] as const;
      const userPath = `/t${id % 10}`;
      for (const { proxy } of all)
        proxy.send({
          read: 0,
          kind: "admit",
          id,
          userPath,
          credential,
          targets,
          submission: false,
        });
    }
    await hosts.pass(pace.everyMs);
    for (const [i, host] of all.entries())
      for (const answer of host.proxy.received.slice(before[i]))
        if (answer.kind === "admitted" && tokens > 0) {
          const lease = { ...leaseOf(answer, host), userPath: `/t${answer.id % 10}` };
          host.proxy.send(settleOf(lease, answer.id, tokens));
        }
  }
}

t.test("far from the caps each counter is asked about every few seconds", async (t) => {
  const cap = { requests: 1_000_000, tokens: 1_000_000_000 };
  const paths = ["/", ...Array.from({ length: 10 }, (_, i) => `/t${i}`)];
  for (const [count, perTurn, everyMs] of [
    [1, 10, 10],
    [3, 1, 10],
    [1, 1, 100],
  ] as const)
    for (const tokens of [0, 50]) {
      const hosts = startHosts(
        paths.map((path) => pathRule(path, 3600, cap)),
        { count },
      );
      const drive = (ms: number, firstId: number): Promise<void> =>
        driveAll(hosts, { ms, firstId, tokens, perTurn, everyMs });
      await drive(9000, 1);
      const { asked } = hosts;
      const batches = batchesOf(hosts);
      await drive(8000, 100_001);
      const what = `${count} hosts at ${(perTurn * 1000) / everyMs}/s, ${tokens} tokens`;
      const [askedEach, batchesEach] = [hosts.asked - asked, batchesOf(hosts) - batches].map(
        (all) => all / count / 8,
      );
      t.ok(askedEach! <= 5, `${what}: ${askedEach} questions a second`);
      t.ok(batchesEach! <= 1, `${what}: ${batchesEach} batches a second`);
      t.equal(hosts.all[0]!.shares.counts.refusedAway, 0);
    }
});

t.test("what a host holds far from the cap is little beside another one's burst", async (t) => {
  const hosts = startHosts([pathRule("/", 3600, { requests: 1000 })]);
  const [one, two] = hosts.all as [Host, Host];
  await driveAll({ ...hosts, all: [one] }, { ...alone, ms: 9000, firstId: 1, everyMs: 300 });
  const { requests } = hosts.twin.read(onRoot, hosts.wallMs()).totals;
  t.ok(requests <= 30 + 1000 / 32, `${requests} of 30 count`);
  await driveAll({ ...hosts, all: [two] }, { ...alone, ms: 20, firstId: 1, perTurn: 600 });
  const admitted = two.proxy.received.filter(({ kind }) => kind === "admitted").length;
  t.ok(admitted >= 1000 - requests, `${admitted} are admitted at once`);
  await hosts.pass(5500);
  await driveAll({ ...hosts, all: [two] }, { ...alone, ms: 10, firstId: 5000, perTurn: 100 });
  const all = [one, two].flatMap(({ proxy }) => proxy.received);
  t.equal(all.filter(({ kind }) => kind === "admitted").length, 1000, "and in the end all");
});

t.test(
  "three hosts at 99% of a cap are refused nothing, and at 120% what is above it",
  async (t) => {
    const asked = 4800;
    for (const [cap, admitted] of [
      [asked / 0.99, asked],
      [asked / 1.2, asked / 1.2],
    ] as const) {
      const hosts = startHosts([pathRule("/", 3600, { requests: Math.ceil(cap) })], { count: 3 });
      await driveAll(hosts, { ...alone, ms: 8000, firstId: 1, perTurn: 2 });
      await hosts.pass(1000);
      const answers = hosts.all.flatMap(({ proxy }) => proxy.received.slice(1));
      t.equal(answers.filter(({ kind }) => kind === "admitted").length, admitted);
      t.equal(answers.filter(({ kind }) => kind === "refused").length, asked - admitted);
    }
  },
);

t.test("what a host holds unused is given back soon after the cap is lowered", async (t) => {
  for (const [period, seconds] of [
    ["hour", 3600],
    ["concurrent", 0],
  ] as const) {
    const hosts = startHosts([pathRule("/", seconds, { requests: 4000 })]);
    const [one, two] = hosts.all as [Host, Host];
    await driveAll({ ...hosts, all: [one] }, { ...alone, ms: 8000, firstId: 1, everyMs: 500 });
    for (const { daemon } of hosts.all)
      await admin(daemon, "rate-limits.put", {
        subject: "/",
        limit_key: { period },
        max_requests: 17,
      });
    await hosts.pass(300);
    t.match(await ask(hosts, two, 1), { kind: "admitted" }, `the 17th, ${period}`);
    await hosts.pass(300);
    t.match(await ask(hosts, two, 2), { kind: "refused", cap: 17 });
  }
});

const alone = { tokens: 0, perTurn: 1, everyMs: 10 };
const onRoot = { ruleId: "user_path\n/\n3600", child: "", periodMs: 3_600_000, generation: 0 };

function batchesOf({ all }: Hosts): number {
  return all
    .flatMap(({ shares }) => [...shares.counts.syncs.values].slice(0, -1))
    .reduce((sum, each) => sum + each, 0);
}

t.test("a part of the engine is away: the counters of the others go on", async (t) => {
  for (const [failureMode, kinds] of [
    ["closed", ["failed", "failed", "failed"]],
    ["local", ["admitted", "admitted", "refused"]],
    ["open", ["admitted", "admitted", "admitted"]],
  ] as const) {
    const rules = ["/a", "/b"].map((path) => pathRule(path, 60, { requests: 4 }));
    const hosts = startHosts(rules, { failureMode });
    const [one] = hosts.all as [Host, Host];
    one.awayRule = "user_path\n/a\n60";
    const [onA, onB] = [[], []] as (string | undefined)[][];
    for (let id = 1; id <= 6; id += 2) {
      onA!.push((await ask(hosts, one, id))?.kind);
      onB!.push((await ask(hosts, one, id + 1, { userPath: "/b" }))?.kind);
    }
    t.same(onA, kinds, failureMode);
    t.same(onB, ["admitted", "admitted", "admitted"], failureMode);
    t.notOk(one.shares.turn.isAway);
    const { asked } = hosts;
    await hosts.pass(1000);
    t.ok(hosts.asked - asked < 20, `${hosts.asked - asked} questions in a second`);
    one.awayRule = null;
    await hosts.pass(300);
    if (failureMode === "closed") t.equal((await ask(hosts, one, 9))?.kind, "admitted");
    else
      t.match(
        hosts.twin.read(
          { ruleId: "user_path\n/a\n60", child: "", periodMs: 60_000, generation: 0 },
          hosts.wallMs(),
        ).totals.requests,
        kinds.filter((each) => each === "admitted").length,
      );
  }
});

t.test("a list shows a reset immediately, also of a counter that no host asks about", async (t) => {
  const hosts = startHosts([pathRule("/a", 60, { requests: 5 })]);
  const [one, two] = [hosts.all[0]!, hosts.all[1]!];
  for (const [i, host] of [one, two].entries())
    host.proxy.send(settleOf(leaseOf(await ask(hosts, host, i + 1), host), 1, 0));
  await hosts.pass(8000);
  t.equal(one.shares.size, 0);
  for (const host of [one, two]) {
    host.generation = 1;
    host.daemon.state.book.resetAll(host.daemon.state.writer.lsn);
    const asked = admin(host.daemon, "rate-limits.list", {});
    await hosts.pass(1);
    const { rate_limits: items } = (await asked) as { rate_limits: { requests_used: number }[] };
    t.equal(items[0]!.requests_used, 0);
  }
});

/** The figures of each rule in a host's lists, and whether an explanation admits. */
async function listed(hosts: Hosts, { daemon }: Host, userPath: string) {
  const asked = [
    admin(daemon, "rate-limits.list", {}),
    admin(daemon, "usage.status", {
      ...{ user_path: userPath, start_date: "2026-01-01", end_date: "2026-01-01" },
    }),
    admin(daemon, "explain", { user_path: userPath, targets: [{ provider: "p", model: "m" }] }),
  ];
  await hosts.pass(1);
  const [rules, status, explained] = (await Promise.all(asked)) as [object, object, object];
  const { admitted } = (explained as { verdict: { admitted: boolean } }).verdict;
  const names = ["period_seconds", "requests_used", "tokens_used", "cost_used", "in_flight"];
  const lists = [rules, status, explained] as { rate_limits?: object[]; rules?: object[] }[];
  const figures = lists.map(({ rate_limits, rules }) =>
    (rate_limits ?? rules ?? []).map((item) =>
      Object.fromEntries(Object.entries(item).filter(([name]) => names.includes(name))),
    ),
  );
  return { admitted, figures };
}

t.test("each host's lists show what all have used, and admit as without a list", async (t) => {
  const cap = { requests: 100, tokens: 1000 };
  const of = { ...pathRule("/a", 600, {}), maxRequests: null, maxTokens: null };
  const hosts = startHosts([
    pathRule("/a", 600, cap),
    pathRule("/a", 0, { requests: 5 }),
    { ...of, periodSeconds: 700, maxTokens: 1000, hold: "hard" },
    { ...of, periodSeconds: 800, measureCaps: { cost: 1 } },
    { ...pathRule("/a", 900, cap), perChild: true },
  ]);
  const [one, two] = hosts.all as [Host, Host];
  const asked = { userPath: "/a/b" };
  const answer = await ask(hosts, one, 1, asked);
  const lease = { ...leaseOf(answer, one), userPath: "/a/b" };
  const record = executed({ totalCost: 600_000_000_000 });
  one.proxy.send({ ...settleOf(lease, 1, 600), record });
  for (const ms of [1000, 9000, 60_000]) {
    await hosts.pass(ms);
    const own = await listed(hosts, one, "/a/b");
    t.same(own, await listed(hosts, two, "/a/b"), `after ${ms} ms`);
    const used = { requests_used: 1, tokens_used: 600 };
    const list = [
      { period_seconds: 0, in_flight: 0 },
      { period_seconds: 600, ...used },
      { period_seconds: 700, ...used },
      { period_seconds: 800, ...used, cost_used: 0.6 },
      { period_seconds: 900, ...used },
    ];
    // The list has the template itself, the others its child.
    const rules = list.with(4, { period_seconds: 900, requests_used: 0, tokens_used: 0 });
    t.match(own, exactly({ admitted: true, figures: [rules, list, list] }));
  }
  t.equal((await ask(hosts, one, 2, asked))?.kind, "admitted");
});

t.test("requests of two hosts wait for one cap, and get it without one too many", async (t) => {
  const waiting = { maxMs: 300_000, defaultMs: 300_000, paths: [] };
  for (const [rule, max] of [
    [pathRule("/a", 0, { requests: 2 }), 2],
    [pathRule("/a", 10, { requests: 4 }), 4],
  ] as const) {
    const hosts = startHosts([rule], { waiting });
    const admitted = new Map<Host, Set<number>>(hosts.all.map((host) => [host, new Set()]));
    const readOf = new Map<Host, number>(hosts.all.map((host) => [host, 0]));
    const ends = new Map<string, () => void>();
    let last = 0;
    let running = 0;
    let runningMax = 0;
    const wait = { askedMs: null, timeoutMs: null, waitedMs: 0 };
    for (let id = 1; id <= 10; id++)
      for (const { proxy } of hosts.all)
        proxy.send({
          ...{ read: 0, kind: "admit", id, userPath: "/a", credential: "authenticated" },
          ...{ targets: [target], submission: false, wait },
        });
    for (let at = 0; at < 2000 && last < 20; at++) {
      await hosts.pass(50);
      for (const host of hosts.all) {
        await host.daemon.commit();
        const { received } = host.proxy;
        for (let read = readOf.get(host)!; read < received.length; read++) {
          const message = received[read]!;
          if (message.kind === "refused" || message.kind === "failed") t.fail(message.kind);
          if (message.kind !== "admitted") continue;
          last++;
          runningMax = Math.max(runningMax, ++running);
          admitted.get(host)!.add(message.id);
          const lease = leaseOf(message, host);
          ends.set(`${host.id} ${message.id}`, () => {
            running--;
            host.proxy.send(settleOf(lease, admitted.get(host)!.size, 0));
          });
        }
        readOf.set(host, received.length);
      }
      if (at % 20 === 0) {
        for (const [name, end] of ends) {
          ends.delete(name);
          end();
          break;
        }
      }
    }
    t.equal(last, 20);
    if (rule.periodSeconds === 0) t.ok(runningMax <= max, `${runningMax} at a time`);
    for (const { daemon } of hosts.all) t.equal(daemon.state.waiters.size, 0);
  }
});

t.test("a floor is kept over all hosts to which its owner sends alike", async (t) => {
  const childShares = { children: { a: { floor: 0.4 }, b: { floor: 0.4 } } };
  const rule = { ...pathRule("/team", 3600, { requests: 20 }), childShares };
  const hosts = startHosts([rule]);
  const counts = { a: 0, b: 0 };
  let id = 0;
  /** Asks on both hosts in turn, until each has refused twice in a row. */
  const useAll = async (child: "a" | "b"): Promise<void> => {
    for (let refused = 0, i = 0; refused < 4 && i < 100; i++) {
      const answer = await ask(hosts, hosts.all[i % 2]!, ++id, { userPath: `/team/${child}` });
      if (answer?.kind === "admitted") {
        counts[child]++;
        refused = 0;
      } else refused++;
      await hosts.pass(300);
    }
  };
  for (const [i, host] of hosts.all.entries())
    counts.b +=
      (await ask(hosts, host, 1000 + i, { userPath: "/team/b" }))?.kind === "admitted" ? 1 : 0;
  await useAll("a");
  const kept = 20 - counts.a - counts.b;
  t.ok(kept >= 0.25 * 20, `${kept} of 20 are kept for a child with a floor of 8`);
  await useAll("b");
  t.ok(counts.b >= 0.35 * 20, `it gets ${counts.b}`);
  t.equal(counts.a + counts.b, 20, "and the cap is one");
});
