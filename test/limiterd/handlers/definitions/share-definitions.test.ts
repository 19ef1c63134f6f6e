import t from "tap";
import { applyLimits } from "../../../../shared/limit-files/apply-limits.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { ask, askFor, pathRule, startDaemon } from "../../in-memory-daemon.js";
import { admit } from "../../keys/key-fixture.js";
import { issueKey, join, newEngine, sharedOf, startHost, type TestHost } from "./hosts-fixture.js";

const team = { user_path: "/team", limit_key: { period: "minute" } };

async function refreshAll(...hosts: readonly TestHost[]): Promise<void> {
  for (const host of hosts) await host.refresh();
}

t.test("what is made, edited, reset and deleted on one host holds on the other", async (t) => {
  const engine = newEngine();
  const [a, b] = [await startHost(engine), await startHost(engine)];
  const proxy = b.daemon.proxy("p1");
  await a.ask("rate-limits.put", { ...team, max_requests: 2 });
  await a.ask("budgets.put", { user_path: "/team", budget_key: { period: "daily" }, amount: 5 });
  await a.ask("budgets.put-settings", { daily_reset_hour: 6 });
  await a.ask("jwts.deny", { jwt: { sub: "mallory" } });
  const key = await issueKey(a, { user_path: "/team" });
  await b.refresh();
  t.same(sharedOf(b), sharedOf(a));
  t.match(
    proxy.received.slice(1),
    exactly([
      { name: "limited", value: true },
      { name: "keys_exist", value: true },
      { name: "jwts_denied", value: { denied: [{ value: "mallory" }] } },
    ]),
  );
  t.match(admit(proxy, 2, key.hash), { kind: "admitted", key: { keyId: "key_1" } });
  await b.ask("keys.deactivate", { id: key.id });
  await b.ask("rate-limits.reset-one", team);
  await a.refresh();
  t.match(admit(a.daemon.proxy("p2"), 2, key.hash), { kind: "denied" });
  const [rule] = a.daemon.state.book.sorted();
  t.ok(a.definitions.generationOf(rule!.id) > 0);
  t.equal(a.definitions.generationOf(rule!.id), b.definitions.generationOf(rule!.id));
  await a.ask("rate-limits.delete", team);
  await a.ask("jwts.allow", { sub: "mallory" });
  await refreshAll(b, a);
  t.same(sharedOf(b), sharedOf(a));
  t.equal(b.daemon.state.book.ruleSet.size, 0);
});

t.test(
  "when two hosts change the same limit together, each change is checked against the other",
  async (t) => {
    const engine = newEngine();
    const [a, b] = [await startHost(engine), await startHost(engine)];
    const keys = await Promise.all([issueKey(a), issueKey(b), issueKey(a), issueKey(b)]);
    t.same(new Set(keys.map(({ id }) => id)).size, 4, "no two keys have one number");
    await a.ask("rate-limits.put", { ...team, max_requests: 2 });
    await b.refresh();
    const deleted = await Promise.allSettled([
      a.ask("rate-limits.delete", team),
      b.ask("rate-limits.delete", team),
    ]);
    t.same(
      deleted.map(({ status }) => status).sort(),
      ["fulfilled", "rejected"],
      "one deletes it, the other one is told that there is none",
    );
    await refreshAll(a, b);
    t.same(sharedOf(a), sharedOf(b));
  },
);

t.test(
  "a file of limits is one change of all hosts, made by what every host has done",
  async (t) => {
    const engine = newEngine();
    const [a, b] = [await startHost(engine), await startHost(engine)];
    await a.ask("rate-limits.put", { ...team, max_requests: 2 });
    await b.refresh();
    let between = (): Promise<unknown> => Promise.resolve();
    const apply = (body: object): ReturnType<typeof applyLimits> =>
      applyLimits(body, {
        async call(op, asked) {
          if (op === "limits.apply") await between();
          return a.ask(op, asked).then(
            (answer) => ({ ok: true, body: answer }),
            (error) => ({ ok: false, failure: error.failure }),
          );
        },
        newId: () => "file",
      });
    const file = {
      rate_limits: [
        { ...team, max_requests: 9 },
        { ...team, user_path: "/new", max_requests: 1 },
      ],
      budgets: [{ user_path: "/team", budget_key: { period: "daily" }, amount: 5 }],
    };
    between = () => b.ask("rate-limits.put", { ...team, max_requests: 7 });
    t.match(await apply(file), { ok: false, failure: { status: 409 } }, "b was faster");
    t.equal(a.daemon.state.book.ruleSet.size, 1, "and nothing of the file holds");
    between = () => Promise.resolve();
    t.match(await apply(file), { ok: true, plan: { counts: { add: 2, change: 1 } } });
    await b.refresh();
    t.same(sharedOf(b), sharedOf(a));
    t.match(
      b.daemon.state.book.sorted().map(({ definition }) => definition.maxRequests),
      exactly([1, 9]),
    );
    t.match(await apply(file), { ok: true, plan: { changes: { length: 0 } } });
    a.connection.away("connection refused");
    t.match(await apply({ rate_limits: [], prune: true }), {
      ok: false,
      failure: {
        code: "cluster_unavailable",
        message: /^nothing was changed: the cluster's engine/,
      },
    });
  },
);

t.test("while the engine is away the copy is enforced, and changes are refused", async (t) => {
  const engine = newEngine();
  const host = await startHost(engine);
  const key = await issueKey(host);
  const store = host.daemon.store.crash();
  host.connection.away("connection refused");
  const refused = await host.ask("keys.deactivate", { id: key.id }).catch((error) => error);
  t.match(refused.failure, { status: 503, code: "cluster_unavailable", message: /nothing was/ });
  t.match(admit(host.daemon.proxy("p1"), 2, key.hash), { kind: "admitted" });
  t.match(await host.ask("keys.list", {}), exactly({ keys: [{ id: "key_1" }] }));
  const restarted = startDaemon([], { store });
  t.match(admit(restarted.proxy("p1"), 2, key.hash), { kind: "admitted" }, "after a restart too");
  host.connection.back();
  await host.ask("keys.deactivate", { id: key.id });
  host.connection.loseAnswers(1);
  const unknown = await issueKey(host).catch((error) => error);
  t.match(unknown.failure, { code: "cluster_unavailable", message: /isn't known/ });
  await host.refresh();
  t.equal(host.daemon.state.keys.size, 2, "it was made, and is read");
});

t.test("a host that dies between the decision and its commit has it after its start", async (t) => {
  const engine = newEngine();
  const [a, b] = [await startHost(engine), await startHost(engine)];
  const before = a.daemon.store.crash();
  const key = await issueKey(a);
  const again = await startHost(engine, { store: before });
  await b.refresh();
  t.same(sharedOf(again), sharedOf(b));
  t.match(admit(again.daemon.proxy("p1"), 2, key.hash), { kind: "admitted" });
});

t.test("who joins with definitions of its own brings them along", async (t) => {
  const engine = newEngine();
  const first = await startHost(engine);
  await first.ask("rate-limits.put", { ...team, max_requests: 2 });
  const theirs = await issueKey(first, { name: "first" });
  const alone = startDaemon([], { nowMs: engine.nowMs - 60_000 });
  await ask(alone, "rate-limits.put", { ...team, max_requests: 9 });
  await ask(alone, "rate-limits.put", { ...team, user_path: "/own", max_requests: 3 });
  const own = await issueKey({ ask: (op, body) => ask(alone, op, body) }, { name: "second" });
  t.equal(own.id, theirs.id, "both have a key_1");
  const second = await join(engine, alone);
  await first.refresh();
  t.same(sharedOf(first), sharedOf(second));
  t.same(second.log, ["joined 3 2", "replaced user_path\n/team\n60", "renumbered 1 2"]);
  for (const host of [first, second]) {
    const proxy = host.daemon.proxy("p");
    t.match(admit(proxy, 2, theirs.hash), { key: { keyId: "key_1" } });
    t.match(admit(proxy, 3, own.hash), { key: { keyId: "key_2" } });
    t.match(
      host.daemon.state.book.sorted().map(({ definition }) => definition.maxRequests),
      exactly([3, 2]),
    );
  }
});

t.test("an engine that lost its data gets all again, and deleted ones don't return", async (t) => {
  const engine = newEngine();
  const [a, b] = [await startHost(engine), await startHost(engine)];
  await a.ask("rate-limits.put", { ...team, max_requests: 2 });
  await b.refresh();
  await a.ask("rate-limits.delete", team);
  const key = await issueKey(a);
  // The other host hasn't heard of both.
  engine.wipe();
  await refreshAll(b, a, b, a);
  t.same(sharedOf(a), sharedOf(b));
  t.equal(b.daemon.state.book.ruleSet.size, 0, "the deleted rule stays deleted");
  t.match(admit(b.daemon.proxy("p1"), 2, key.hash), { kind: "admitted" });
});

t.test("a host that was away for longer than deletions are remembered", async (t) => {
  const engine = newEngine();
  const [a, b] = [await startHost(engine), await startHost(engine)];
  await a.ask("rate-limits.put", { ...team, max_requests: 2 });
  await b.refresh();
  b.connection.away("cut");
  await a.ask("rate-limits.delete", team);
  engine.nowMs += 40 * 86_400_000;
  await a.definitions.trim((engine.nowMs - 86_400_000) * 1000);
  const store = b.daemon.store.crash();
  b.connection.back();
  await refreshAll(b, a);
  t.equal(b.daemon.state.book.ruleSet.size, 0);
  t.equal(a.daemon.state.book.ruleSet.size, 0, "it isn't brought back");
  const restarted = await startHost(engine, { store });
  t.equal(restarted.daemon.state.book.ruleSet.size, 0);
  const fresh = await startHost(engine);
  t.same(sharedOf(fresh), sharedOf(a));
});

t.test("a reset takes effect once, however often it is read", async (t) => {
  const engine = newEngine();
  const [a, b] = [await startHost(engine), await startHost(engine)];
  await a.ask("rate-limits.put", { ...team, max_requests: 2 });
  await b.refresh();
  await a.ask("jwts.deny", { jwt: { sub: "mallory" } });
  // Another host has changed something before: the reset is read again with that.
  await b.ask("rate-limits.reset-one", team);
  const proxy = b.daemon.proxy("p1");
  t.match(askFor(proxy, 2, "/team"), { lease: 2 });
  await b.refresh();
  b.definitions.distrust();
  await b.refresh();
  t.equal(b.daemon.state.book.sorted()[0]!.own!.window.currentRequests, 1);
});

t.test("what another release wrote is passed over, and said", async (t) => {
  const engine = newEngine();
  const a = await startHost(engine);
  const field = "budgets:x";
  const call = a.connection.call.bind(a.connection);
  const { writeScript } = await import(
    "../../../../limiterd/cluster/definitions/definition-scripts.js"
  );
  const keys = ["definitions", "order", "deleted", "state"].map((one) => `sluice:{test}:${one}`);
  await call(writeScript, keys, [a.definitions.state.order, "c", field, '["what"]']);
  await a.refresh();
  t.same(a.log.slice(1), ["skipped budgets x: it is no budget"]);
  const rule = pathRule("/team", 60, { requests: 2 });
  t.same(await a.ask("rate-limits.put", { ...team, max_requests: 2 }), {});
  t.ok(a.daemon.state.book.find(rule));
});
