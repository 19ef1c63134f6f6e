import t from "tap";
import { endReconnectGrace } from "../../../limiterd/handlers/accept-hello.js";
import { beginsAbove } from "../../../limiterd/maintenance/adopt-store.js";
import type { MemoryStore } from "../../support/memory-store.js";
import {
  askFor,
  counts,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
} from "../in-memory-daemon.js";

const rules = [pathRule("/team", 86_400, { requests: 1000, tokens: 100_000 })];
/** Requests and tokens that the rule counts. */
function used(daemon: TestDaemon): readonly number[] {
  const { requests, tokens } = counts(daemon, rules[0]!);
  return [requests, tokens];
}

/** As a daemon whose proxies have all come back. */
function started(store: MemoryStore, upMs: number): TestDaemon {
  const daemon = startDaemon(rules, { store, upMs });
  endReconnectGrace(daemon.state);
  return daemon;
}

const dayUpMs = 86_400_000;

/** A store in the state of `backup`, as a restore puts it in the place of `replaced`. */
async function restored(
  backup: MemoryStore,
  replaced: MemoryStore | null,
  upMs: number,
  boot = "boot",
): Promise<MemoryStore> {
  const uptime = { boot, upMs };
  const store = backup.crash();
  const above = replaced === null ? 0 : Number(beginsAbove(replaced, 0, uptime)[0]!.value![0]);
  await store.commit(beginsAbove(store, above, uptime));
  return store;
}

async function settled(daemon: TestDaemon): Promise<void> {
  await daemon.commit();
  await daemon.snapshot();
  await daemon.commit();
}

t.test(
  "proxies that have lived through a restore count what still runs and what they send again, once",
  async (t) => {
    const before = startDaemon(rules, { upMs: 1000 });
    const proxy = before.proxy("p");
    const running = askFor(proxy, 1, "/team")!;
    for (let n = 2; n <= 4; n++) proxy.send(settleOf(askFor(proxy, n, "/team")!, n - 1, 10));
    await settled(before);
    const backup = before.store.crash();
    // After the backup: two requests that are settled and acknowledged, one that still runs, and
    // one whose acknowledgement never arrives.
    for (let n = 5; n <= 6; n++) proxy.send(settleOf(askFor(proxy, n, "/team")!, n - 1, 10));
    const late = askFor(proxy, 7, "/team")!;
    const unacknowledged = settleOf(askFor(proxy, 8, "/team")!, 6, 10);
    proxy.send(unacknowledged);
    await settled(before);
    t.same(used(before), [8, 60]);

    const store = await restored(backup, before.store, 2000);
    const after = startDaemon(rules, { store, upMs: 3000 });
    t.same(used(after), [4, 30], "what the backup knew");
    const again = after.proxy("p", [running, late]);
    t.match(again.received[0], { kind: "welcome", settledSeq: 3 });
    t.same(used(after), [5, 30], "what runs since the backup is counted again");
    again.send(unacknowledged);
    t.same(used(after), [6, 40], "and what is sent again");
    again.send(unacknowledged);
    again.send(settleOf(late, 7, 10));
    again.send(settleOf(running, 8, 10));
    await settled(after);
    t.same(used(after), [6, 60], "each of them once");
    t.match(again.received.at(-1), { kind: "settled", seq: 8 }, "no number is refused");

    const next = startDaemon(rules, { store: after.store.crash(), upMs: 4000 });
    next.proxy("p");
    t.same(used(next), [6, 60], "and over another crash");
  },
);

t.test(
  "numbers go on above those of the store that was replaced, whatever boots there were between",
  async (t) => {
    const first = startDaemon(rules, { upMs: 1000 });
    first.proxy("p").send(settleOf(askFor(first.proxy("p"), 1, "/team")!, 1, 10));
    await settled(first);
    const backup = first.store.crash();
    // Ten days of restarts later, on a machine that has just booted.
    let { store } = first;
    for (const upMs of [dayUpMs, 5 * dayUpMs, 10 * dayUpMs])
      ({ store } = started(store.crash(), upMs));
    const last = started(store.crash(), 10 * dayUpMs + 1);
    const running = askFor(last.proxy("q"), 1, "/team")!;
    await settled(last);
    const after = started(await restored(backup, last.store, 60_000, "next boot"), 61_000);
    t.ok(after.state.epochs.startLsn > running.lsn);
    after.proxy("q", [running]);
    t.same(used(after), [2, 10], "the request that runs is counted");
  },
);

t.test(
  "a store of another machine, or one that can't be read, leaves the backup's own numbers",
  async (t) => {
    const first = startDaemon(rules, { upMs: 1000 });
    const proxy = first.proxy("p");
    proxy.send(settleOf(askFor(proxy, 1, "/team")!, 1, 10));
    await settled(first);
    const store = await restored(first.store, null, 500, "another machine");
    const after = started(store, 700);
    t.ok(after.state.epochs.startLsn > first.state.writer.lsn);
    const other = after.proxy("q");
    other.send(settleOf(askFor(other, 1, "/team")!, 1, 10));
    await settled(after);
    t.same(used(after), [2, 20]);
  },
);
