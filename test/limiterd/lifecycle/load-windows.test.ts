import t from "tap";
import { windowKey } from "../../../limiterd/counters/stored-window.js";
import { loadWindows } from "../../../limiterd/lifecycle/load-windows.js";
import { StoreUnreadableError } from "../../../limiterd/store/store.js";
import { ruleId } from "../../../shared/domain/rule.js";
import { askFor, pathRule, startDaemon, type TestDaemon } from "../in-memory-daemon.js";

const template = { ...pathRule("/users", 60, { requests: 9 }), perChild: true };

/** After a restart, with the windows of five children and one of a rule that is gone. */
async function restarted(): Promise<TestDaemon> {
  const before = startDaemon([template, pathRule("/gone", 60, { requests: 9 })]);
  const peer = before.proxy("p");
  for (let i = 0; i < 5; i++) askFor(peer, i + 2, `/users/${i}`);
  askFor(peer, 9, "/gone");
  await before.snapshot();
  const store = before.store.crash();
  await store.commit([{ table: "rules", key: "user_path\n/gone\n60", value: undefined }]);
  return startDaemon([template], { store, loads: false });
}

t.test("all windows are taken into memory, some in a turn, and the stale ones told", async (t) => {
  const daemon = await restarted();
  const { book } = daemon.state;
  const seen: number[] = [];
  (daemon.state as { yieldToEventLoop: () => Promise<void> }).yieldToEventLoop = async () => {
    seen.push(book.childCount);
    // Requests go on meanwhile.
    if (seen.length === 2) askFor(daemon.proxy("p"), 2, "/users/4");
  };
  t.same(await loadWindows(daemon.state, 2), [windowKey("user_path\n/gone\n60", "")]);
  t.same(seen, [0, 1, 4, 5]);
  t.equal(book.unread, null);
  t.equal(book.find(template)!.children.copy("4")!.window.currentRequests, 2);
});

t.test("a daemon that stops reads no further, and doesn't take the rest for nothing", async (t) => {
  const daemon = await restarted();
  daemon.state.stopping = true;
  t.same(await loadWindows(daemon.state, 2), []);
  t.not(daemon.state.book.unread, null);
});

t.test("a damaged window is an error, met by need or in its turn", async (t) => {
  const daemon = await restarted();
  const key = windowKey(ruleId(template), "3");
  await daemon.store.commit([{ table: "windows", key, value: ["damaged"] }]);
  t.throws(() => askFor(daemon.proxy("p"), 2, "/users/3"), StoreUnreadableError);
  await t.rejects(loadWindows(daemon.state, 500), StoreUnreadableError);
});
