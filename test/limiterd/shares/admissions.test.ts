/** Admissions where several hosts count together: the cap is one, wherever requests arrive. */
import t from "tap";
import { settleMs } from "../../../limiterd/cluster/cluster-bounds.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import type { Lease } from "../../../shared/wire/message-to-daemon.js";
import { ask as admin, pathRule, settleOf, target } from "../in-memory-daemon.js";
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
  t.match([one.shares.turn.away, one.shares.counts.refusedAway], [true, 1]);
  one.cutOff = false;
  await hosts.pass(400);
  t.notOk(one.shares.turn.away);
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
  "an engine that was emptied: a host that knows nothing asks what was told again",
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
    t.notOk(one.shares.turn.away);
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

t.test("a list shows a reset at once, also of a counter that no host asks about", async (t) => {
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
