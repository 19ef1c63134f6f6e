import t from "tap";
import { CommitQueue } from "../../../limiterd/store/commit-queue.js";
import { type Change, StoreBrokenError } from "../../../limiterd/store/store.js";
import { windowsPerSlice } from "../../../shared/bounds.js";
import { createMemoryStore } from "../../support/memory-store.js";

const change = (key: string): Change => ({ table: "rules", key, value: [1] });
const changes = (count: number): Change[] =>
  Array.from({ length: count }, (_, i) => change(`${i}`));
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A queue whose commits end when the test says so; `events`: what it tells, in its order. */
function held() {
  const commits: {
    readonly changes: readonly Change[];
    readonly ends: () => void;
    readonly fails: (error: Error) => void;
  }[] = [];
  const events: string[] = [];
  const timers: { readonly ms: number; readonly run: () => void }[] = [];
  const store = {
    ...createMemoryStore(),
    commit: (some: readonly Change[]) =>
      new Promise<void>((ends, fails) => void commits.push({ changes: some, ends, fails })),
  };
  const queue = new CommitQueue(
    {
      store,
      schedule: (ms, run) => void timers.push({ ms, run }),
      onStoreState: (error) => void events.push(`state ${error?.message ?? "well"}`),
      timeCommit() {
        events.push("begins");
        return () => void events.push("ends");
      },
      onCommit: () =>
        void events.push(`${queue.ended} ended, ${queue.committing ? "more" : "idle"}`),
    },
    1000,
  );
  return { queue, commits, events, timers };
}

t.test("what waits is committed together, as much as fits into a slice", async (t) => {
  const { queue, commits } = held();
  const done: number[] = [];
  queue.add([change("first")], () => done.push(0));
  queue.pump();
  t.equal(queue.length, 0);
  const sizes = [windowsPerSlice - 1, 1, 1, windowsPerSlice + 7, windowsPerSlice, 1];
  for (const [i, size] of sizes.entries()) queue.add(changes(size), () => done.push(i + 1));
  t.equal(queue.length, sizes.length);
  queue.pump();
  t.equal(commits.length, 1, "one at a time");
  for (const [committed, durable] of [
    [1, [0]],
    [windowsPerSlice, [0, 1, 2]],
    [1, [0, 1, 2, 3]],
    [windowsPerSlice + 7, [0, 1, 2, 3, 4]],
    [windowsPerSlice, [0, 1, 2, 3, 4, 5]],
    [1, [0, 1, 2, 3, 4, 5, 6]],
  ] as const) {
    const commit = commits.shift()!;
    t.equal(commit.changes.length, committed);
    commit.ends();
    await settled();
    t.same(done, durable);
  }
  t.equal(commits.length, 0);
  t.equal(queue.length, 0);
  t.equal(queue.committing, false);
  queue.pump();
  t.equal(commits.length, 0, "of nothing there is no commit");
});

t.test("each attempt is timed and told; a failed one is the next, until it succeeds", async (t) => {
  const { queue, commits, events, timers } = held();
  queue.add([change("a")], () => events.push("done"));
  queue.pump();
  commits[0]!.fails(new Error("no space"));
  await settled();
  t.equal(queue.failing?.message, "no space");
  t.equal(queue.committing, true, "it is to be tried again");
  queue.add([change("b")], () => {});
  queue.pump();
  t.equal(commits.length, 1, "nothing passes it");
  t.same(
    timers.map(({ ms }) => ms),
    [1000],
  );
  timers[0]!.run();
  commits[1]!.fails(new Error("still none"));
  await settled();
  timers[1]!.run();
  commits[2]!.ends();
  await settled();
  t.equal(queue.failing, null);
  commits[3]!.ends();
  await settled();
  t.equal(queue.ended, 4);
  t.same(
    commits.map((commit) => commit.changes.map(({ key }) => key)),
    [["a"], ["a"], ["a"], ["b"]],
  );
  t.same(events, [
    "begins",
    "1 ended, more",
    "state no space",
    "begins",
    "2 ended, more",
    "state still none",
    "begins",
    "ends",
    "state well",
    "done",
    "3 ended, idle",
    "begins",
    "ends",
    "4 ended, idle",
  ]);
  t.equal(timers.length, 2);
});

t.test("a store that is broken is never tried again", async (t) => {
  const { queue, commits, events, timers } = held();
  const told: unknown[] = [];
  queue.tryWrite([change("a")], (failing) => told.push(failing));
  const broken = new StoreBrokenError("lost");
  commits[0]!.fails(broken);
  await settled();
  t.same(told, [broken]);
  t.same(timers, []);
  t.equal(queue.committing, true);
  t.equal(events.at(-1), "state lost");
  queue.tryWrite([change("b")], (failing) => told.push(failing));
  t.same(told, [broken, broken], "what comes after it learns of it at once");
  t.equal(commits.length, 1);
});

t.test("whoever waits is told once, however it goes on", async (t) => {
  const { queue, commits, timers } = held();
  const told: unknown[] = [];
  const wait = (key: string): void =>
    queue.tryWrite([change(key)], (failing) => told.push(`${key} ${failing?.message}`));
  wait("a");
  wait("b");
  t.same(told, []);
  commits[0]!.fails(new Error("no space"));
  await settled();
  t.same(told.splice(0), ["a no space", "b no space"]);
  wait("c");
  t.same(told.splice(0), ["c no space"]);
  timers[0]!.run();
  commits[1]!.fails(new Error("no space"));
  await settled();
  timers[1]!.run();
  commits[2]!.ends();
  await settled();
  wait("d");
  commits[3]!.ends();
  await settled();
  t.same(told.splice(0), []);
  commits[4]!.ends();
  await settled();
  t.same(told, ["d undefined"]);
});
