/** A daemon's counters under an engine: what it is asked, and told again when it lost its data. */
import t from "tap";
import type { EngineConnection, EngineState } from "../../../../limiterd/cluster/engine/engine.js";
import { shareLimits } from "../../../../limiterd/lifecycle/cluster/share-limits.js";
import { createMemoryStore } from "../../../support/memory-store.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { askFor, pathRule, startDaemon, submit, type TestDaemon } from "../../in-memory-daemon.js";

interface Joined {
  readonly daemon: TestDaemon;
  /** The words of each call of a script. */
  readonly calls: readonly (readonly (string | number)[])[];
  engineIs(state: EngineState): void;
  settle(): Promise<void>;
  leave(): Promise<void>;
}

const rules = [
  pathRule("/a", 3600, { requests: 5 }),
  { ...pathRule("/t", 3600, { requests: 5 }), perChild: true },
];

/** The engine grants nothing, and says when: it is only asked. */
function join(store = createMemoryStore()): Joined {
  const daemon = startDaemon(rules, { store });
  const calls: (readonly (string | number)[])[] = [];
  const timers: (() => void)[] = [];
  let state: EngineState = { kind: "connected", epoch: "first", serversAway: [] };
  const watchers = new Set<(now: EngineState) => void>();
  const engine = {
    get state() {
      return state;
    },
    call: async (
      _script: unknown,
      keys: readonly string[],
      words: readonly (string | number)[],
    ) => {
      calls.push([keys[0]!, ...words]);
      return [0, daemon.nowMs, Math.floor(daemon.nowMs / 3_600_000), 1, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    },
    watch(changed: (now: EngineState) => void) {
      watchers.add(changed);
      return () => void watchers.delete(changed);
    },
  } as unknown as EngineConnection;
  const leave = shareLimits(daemon.state, {
    engine,
    clusterName: "test",
    failureMode: "closed",
    board: { identity: { id: "host", start: 3 }, alive: 2 } as Parameters<
      typeof shareLimits
    >[1]["board"],
    nowMs: () => daemon.nowMs,
    monoMs: () => daemon.nowMs,
    after: (_ms, run) => void timers.push(run),
    every: () => () => {},
    onRefused() {},
    onBroken: (error) => {
      throw error;
    },
  });
  return {
    daemon,
    calls,
    leave,
    engineIs(now) {
      state = now;
      for (const watcher of watchers) watcher(now);
    },
    async settle() {
      for (let i = 0; i < 5; i++) {
        for (const run of timers.splice(0)) run();
        await new Promise((resolve) => setImmediate(resolve));
      }
      await daemon.commit();
    },
  };
}

t.test("each counter is a key of its own, asked for under this host's id and start", async (t) => {
  const { daemon, calls, settle } = join();
  const peer = daemon.proxy("p");
  t.equal(askFor(peer, 1, "/a"), null, "it waits for the engine");
  await settle();
  t.equal(peer.received.at(-1)?.kind, "admitted");
  t.match(calls[0], exactly(["sluice:test:counter:user_path\n/a\n3600\n", "host", /^3 1 0 /]));
});

t.test("a submission is a request of its path", async (t) => {
  const { daemon, settle } = join();
  const peer = daemon.proxy("p");
  submit(peer, 1, "/t/x");
  await settle();
  t.equal(peer.received.at(-1)?.kind, "admitted");
});

t.test(
  "a new epoch of the engine gets all counts of this host, also of children without a share",
  async (t) => {
    const { daemon, calls, engineIs, settle } = join();
    const peer = daemon.proxy("p");
    askFor(peer, 1, "/a");
    askFor(peer, 2, "/t/x");
    await settle();
    const before = calls.length;
    for (const rule of daemon.state.book.sorted())
      rule.shares = daemon.state.shares!.sharesOf(rule);
    for (const rule of daemon.state.book.sorted())
      if (rule.counted !== null) rule.counted.share = null;
    engineIs({ kind: "connected", epoch: "second", serversAway: [] });
    await settle();
    const announced = new Set(calls.slice(before).map(([key]) => key));
    t.same([...announced].sort(), [
      "sluice:test:counter:user_path\n/a\n3600\n",
      "sluice:test:counter:user_path\n/t\n3600\nx",
    ]);
    t.ok(daemon.state.shares!.turn.settlingMs > 0, "and nothing is asked for until all hosts have");
  },
);

t.test("the epoch is remembered over a restart", async (t) => {
  const store = createMemoryStore();
  const first = join(store);
  await first.settle();
  t.same(store.get("cluster", "epoch"), ["first"]);
  const again = join(store);
  t.notOk(again.daemon.state.shares!.turn.settlingMs > 0);
});
