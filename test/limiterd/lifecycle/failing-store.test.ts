/** What grows while the store can't be written, and where it ends. */
import t from "tap";
import { changesWaitingMax } from "../../../shared/bounds.js";
import { budget, client, hour, noon, spend, usd } from "../budgets/budget-fixture.js";
import { wind } from "../clockwork.js";
import {
  ask,
  askFor,
  counts,
  pathRule,
  refusal,
  settleOf,
  startDaemon,
  type TestDaemon,
} from "../in-memory-daemon.js";

const rule = pathRule("/team", 86_400, { requests: 3, tokens: 1000 });
const put = { subject: "/new", limit_key: { period: "day" }, max_requests: 5 };

/** Its store fails from now on; what waits is tried again with each commit. */
async function breakStore(daemon: TestDaemon): Promise<void> {
  daemon.store.broken = true;
  void daemon.state.writer.tryWrite([{ table: "settings", key: "x", value: [1] }]);
  await daemon.commit();
}

async function mend(daemon: TestDaemon, until: () => boolean): Promise<void> {
  daemon.store.broken = false;
  for (let turn = 0; turn < 1000 && !until(); turn++) await daemon.commit();
}

t.test(
  "beyond the bound nothing that can be refused is queued; limits hold, and all of it is written when the store works again",
  async (t) => {
    const daemon = startDaemon([rule]);
    const { state, store } = daemon;
    const peer = daemon.proxy("p");
    await daemon.commit();
    await breakStore(daemon);
    t.match(await refusal(ask(daemon, "rate-limits.put", put)), {
      status: 503,
      message: /^the change is made but not written/,
    });
    t.equal(state.book.rules.size, 2);
    for (let i = 0; i < changesWaitingMax; i++)
      void state.writer.tryWrite([{ table: "settings", key: "y", value: [i] }]);
    for (const [op, body] of [
      ["rate-limits.put", { ...put, subject: "/newer" }],
      ["rate-limits.reset", { confirmation: "reset" }],
      ["budgets.put", { subject: "/a", budget_key: { period: "daily" }, amount: 1 }],
      ["keys.issue", { name: "one" }],
    ] as const)
      t.match(await refusal(ask(daemon, op, body)), {
        status: 503,
        message: /^nothing was changed: too many changes wait .* \(the disk is broken\)/,
      });
    t.same([state.book.rules.size, state.budgets.budgets.size, state.keys.size], [2, 0, 0]);
    t.equal(((await ask(daemon, "rate-limits.list", {}))["rate_limits"] as unknown[]).length, 2);
    t.match(await ask(daemon, "status", null), {
      store: { failing: "the disk is broken" },
    });
    const late = daemon.proxy("late");
    for (const [i, from] of [peer, late, peer].entries())
      from.send(settleOf(askFor(from, 5 + i, "/team")!, i === 2 ? 2 : 1, 10));
    t.equal(askFor(peer, 9, "/team"), null, "the cap is met");
    t.same(counts(daemon, rule), { requests: 3, tokens: 30, inFlight: 0 });
    t.notOk(
      peer.received.some(({ kind }) => kind === "settled"),
      "nothing is acknowledged",
    );
    await mend(daemon, () => peer.received.some(({ kind }) => kind === "settled"));
    await daemon.snapshot();
    t.match(await ask(daemon, "rate-limits.put", { ...put, subject: "/newer" }), {});
    t.same(store.get("settings", "y"), [changesWaitingMax - 1]);
    t.same(store.get("proxies", "late")?.slice(0, 2), [1, true]);
    const after = startDaemon([rule], { store: store.crash(), nowMs: daemon.nowMs });
    t.equal(after.state.book.rules.size, 3);
    t.match(counts(after, rule), { requests: 3, tokens: 30 });
  },
);

t.test(
  "what is asked again and again while the store fails leaves nothing in the queue",
  async (t) => {
    const hourly = budget("/users", 3600, 100, { perChild: true });
    const daemon = startDaemon([], { nowMs: noon, budgets: [hourly] });
    const { state } = daemon;
    const { ring } = wind(daemon, 0);
    const proxy = client(daemon);
    for (let i = 0; i < 20; i++) spend(proxy, `/users/u${i}`, usd);
    const flushed = daemon.flush();
    for (let turn = 0; turn < 10; turn++) await daemon.commit();
    await flushed;
    await breakStore(daemon);
    let queued = 0;
    for (const name of ["write", "tryWrite"] as const) {
      const original = state.writer[name].bind(state.writer) as (
        changes: readonly unknown[],
      ) => unknown;
      Object.assign(state.writer, {
        [name](changes: readonly unknown[]) {
          queued += changes.length;
          return original(changes);
        },
      });
    }
    daemon.nowMs += 10 * hour;
    Object.assign(daemon.store, { isInPlace: () => false });
    for (let i = 0; i < 5; i++) {
      ring(1000);
      t.match(await refusal(ask(daemon, "usage.export", {})), { code: "usage_status_failed" });
    }
    t.equal(queued, 0);
    t.equal(state.budgets.find(hourly)!.children.size, 20, "idle ones wait, too");
    Object.assign(daemon.store, { isInPlace: () => true });
    await mend(daemon, () => state.writer.failing === null);
    for (let i = 0; i < 2; i++) ring(1000);
    for (let turn = 0; turn < 10; turn++) await daemon.commit();
    t.equal(state.budgets.find(hourly)!.children.size, 0);
    t.same([...daemon.store.entries("spends")], []);
  },
);
