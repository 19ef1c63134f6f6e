import t from "tap";
import { type Change, type Store, StoreBrokenError } from "../../../limiterd/store/store.js";
import {
  BatchSettles,
  batchFromStored,
  batchToStored,
  CommitQueue,
  createStuckCommit,
  stuckCommitMs,
  tryWriteSlices,
  Writer,
  writeSlices,
} from "../../../limiterd/store/writer.js";
import {
  changesWaitingMax,
  journalBatchMax,
  journalCountedMax,
  journalEntriesMax,
  windowsPerSlice,
} from "../../../shared/bounds.js";
import { createMemoryStore } from "../../support/memory-store.js";

/** What the open batch has counted. */
const nothing = (): { size: number; isPaused: boolean; take(): readonly unknown[] } => ({
  size: 0,
  isPaused: false,
  take: () => [],
});

interface Disk {
  readonly store: Store;
  readonly written: (readonly Change[])[];
  fail: boolean;
}

function disk(): Disk {
  const written: (readonly Change[])[] = [];
  const self: Disk = {
    written,
    fail: false,
    store: {
      file: "memory",
      entries: () => [],
      get: () => undefined,
      range: () => [],
      lastKeys: () => [],
      keys: () => [],
      commit(changes) {
        if (self.fail) return Promise.reject(new Error("no space"));
        written.push(changes);
        return Promise.resolve();
      },
      isInPlace: () => true,
      sizeBytes: () => 0,
      usedBytes: () => 0,
      holdPages: () => () => {},
      close: () => Promise.resolve(),
    },
  };
  return self;
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

t.test("settles of one delay share a commit, and are durable after it", async (t) => {
  const { store, written } = disk();
  const timers: (() => void)[] = [];
  const durable: number[] = [];
  const writer = new Writer(
    {
      store,
      counted: nothing(),
      schedule: (_, run) => void timers.push(run),
      onStoreState: () => {},
    },
    { firstLsn: 10, journaled: [], retryMs: 1000, contributors: [] },
  );
  const [onDurable, ofOther] = [1, 2].map(() => (seq: number) => void durable.push(seq));
  for (const seq of [1, 2, 3]) writer.journal("p", seq, onDurable!);
  writer.journal("q", 7, ofOther!);
  t.equal(timers.length, 1, "one timer for all three");
  t.same(durable, []);
  timers.shift()!();
  await settled();
  t.equal(written.length, 1);
  t.equal(written[0]![0]!.key, 10, "the batch is keyed by its lsn");
  t.same(durable, [3, 7], "the last one of each proxy");
  t.equal(writer.lsn, 11);
});

t.test("a failed commit is tried again and holds back what follows it", async (t) => {
  const self = disk();
  const timers: (() => void)[] = [];
  const states: (string | null)[] = [];
  const writer = new Writer(
    {
      store: self.store,
      counted: nothing(),
      schedule: (_, run) => void timers.push(run),
      onStoreState: (error) => void states.push(error?.message ?? null),
    },
    { firstLsn: 1, journaled: [], retryMs: 1000, contributors: [] },
  );
  self.fail = true;
  let first = false;
  void writer.write([{ table: "rules", key: "a", value: [1] }]).then(() => (first = true));
  await settled();
  const second = writer.write([{ table: "rules", key: "b", value: [2] }]);
  await settled();
  t.same(self.written, [], "nothing passes the failed one");
  t.equal(writer.failing?.message, "no space");
  self.fail = false;
  timers.shift()!();
  await second;
  t.ok(first);
  t.same(
    self.written.flat().map((change) => change.key),
    ["a", "b"],
  );
  t.same(states, ["no space", null]);
});

t.test(
  "a caller that waits for a change learns immediately that the store fails, and the change is written later",
  async (t) => {
    const self = disk();
    const timers: (() => void)[] = [];
    const writer = new Writer(
      {
        store: self.store,
        counted: nothing(),
        schedule: (_, run) => void timers.push(run),
        onStoreState: () => {},
      },
      { firstLsn: 1, journaled: [], retryMs: 1000, contributors: [] },
    );
    const change = (key: string): readonly Change[] => [{ table: "rules", key, value: [1] }];
    t.equal(await writer.tryWrite(change("a")), null);
    self.fail = true;
    t.match(await writer.tryWrite(change("b")), { message: "no space" }, "the commit that fails");
    t.match(await writer.tryWrite(change("c")), { message: "no space" }, "what waits behind it");
    self.fail = false;
    timers.shift()!();
    await settled();
    t.equal(await writer.tryWrite(change("d")), null);
    t.same(
      self.written.flat().map(({ key }) => key),
      ["a", "b", "c", "d"],
    );
  },
);

t.test(
  "the journal is removed up to what is covered, batches of an earlier life included",
  async (t) => {
    const self = disk();
    const timers: (() => void)[] = [];
    const writer = new Writer(
      {
        store: self.store,
        counted: nothing(),
        schedule: (_, run) => void timers.push(run),
        onStoreState: () => {},
      },
      { firstLsn: 100, journaled: [7, 8], retryMs: 1000, contributors: [] },
    );
    writer.journal("p", 1, () => {});
    const covered = writer.closeBatch();
    writer.journal("p", 2, () => {});
    t.same(
      writer.removeJournal(covered).map((change) => change.key),
      [7, 8, 100],
    );
    t.ok(writer.journalBytes === 0, "the open batch isn't counted yet");
  },
);

t.test("what is written after the close is dropped: the store may be closed by then", async (t) => {
  const self = disk();
  const writer = new Writer(
    { store: self.store, counted: nothing(), schedule: () => {}, onStoreState: () => {} },
    { firstLsn: 1, journaled: [], retryMs: 1000, contributors: [] },
  );
  const before = writer.write([{ table: "rules", key: "a", value: [1] }]);
  await Promise.all([before, writer.close()]);
  let results = false;
  void writer.write([{ table: "rules", key: "b", value: [2] }]).then(() => (results = true));
  await settled();
  t.same(
    self.written.flat().map((change) => change.key),
    ["a"],
  );
  t.notOk(results);
  t.notOk(
    writer.journal("p", 1, () => {}),
    "nor is a settle taken",
  );
});

t.test("what is committed doesn't count against the bound of what waits", async (t) => {
  const self = disk();
  const writer = new Writer(
    {
      store: self.store,
      counted: { ...nothing(), size: journalCountedMax },
      schedule: () => {},
      onStoreState: () => {},
    },
    { firstLsn: 1, journaled: [], retryMs: 1000, contributors: [] },
  );
  for (let waited = 0; waited <= journalEntriesMax; waited += journalCountedMax) {
    writer.journal("p", 1, () => {});
    await writer.write([]);
  }
  self.fail = true;
  void writer.write([{ table: "rules", key: "a", value: [1] }]);
  await settled();
  t.ok(writer.failing);
  t.ok(writer.journal("p", 2, () => {}));
});

t.test("a failed commit immediately pauses counts beyond the bound", async (t) => {
  const log = { ...nothing(), size: journalCountedMax };
  let ends: (error?: Error) => void = () => {};
  const commit = (): Promise<void> =>
    new Promise((resolve, reject) => {
      ends = (error) => (error === undefined ? resolve() : reject(error));
    });
  const timers: (() => void)[] = [];
  const writer = new Writer(
    {
      store: { ...disk().store, commit },
      counted: log,
      schedule: (ms, run) => void (ms === 1000 && timers.push(run)),
      onStoreState: () => {},
    },
    { firstLsn: 1, journaled: [], retryMs: 1000, contributors: [] },
  );
  void writer.write([{ table: "rules", key: "a", value: [1] }]);
  for (let waiting = 0; waiting < journalEntriesMax; waiting += journalCountedMax) {
    t.equal(log.isPaused, false);
    writer.noteCounted();
  }
  t.equal(log.isPaused, false, "the store works as far as is known");
  ends(new Error("no space"));
  await settled();
  t.equal(log.isPaused, true);
  timers[0]!();
  ends();
  await settled();
  t.equal(log.isPaused, false);
});

t.test("what waits for a store that fails is full at its bound, else never", async (t) => {
  const { self, writer, tick } = await failing();
  for (let n = 0; n < changesWaitingMax - 1; n++) void writer.write([]);
  t.equal(writer.isFull, false);
  void writer.write([]);
  t.equal(writer.isFull, true);
  self.fail = false;
  await tick();
  t.equal(writer.isFull, false);
  const working = new Writer(
    {
      store: { ...disk().store, commit: () => new Promise(() => {}) },
      counted: nothing(),
      schedule: () => {},
      onStoreState: () => {},
    },
    { firstLsn: 1, journaled: [], retryMs: 1000, contributors: [] },
  );
  for (let n = 0; n <= changesWaitingMax; n++) void working.write([]);
  t.equal(working.isFull, false, "a store that is slow takes it all");
});

t.test("a commit of something else leaves a batch open that isn't due yet", async (t) => {
  const self = disk();
  const { timers, writer } = counting(self);
  writer.journal("p", 1, () => {});
  await writer.write([{ table: "rules", key: "a", value: [1] }]);
  t.equal(writer.lsn, 1);
  t.same(
    self.written.flat().map(({ table }) => table),
    ["rules"],
  );
  timers[0]!.run();
  await settled();
  t.equal(self.written.length, 2);
  writer.journal("p", 2, () => {});
  await writer.write([{ table: "rules", key: "b", value: [1] }]);
  t.equal(self.written.length, 3, "nor is the next one due");
});

t.test("a caller that has nothing to write hears whether the store works", async (t) => {
  const { self, writer, tick } = await failing();
  t.match(await writer.tryWrite([]), { message: "no space" });
  self.fail = false;
  await tick();
  t.equal(await writer.tryWrite([]), null);
});

t.test("after the close nothing is counted, tried or scheduled", async (t) => {
  const self = disk();
  const { log, timers, writer } = counting(self);
  writer.journal("p", 1, () => {});
  log.size = 2;
  const closed = writer.close();
  await closed;
  t.same(
    self.written.flat().map(({ value }) => value),
    [
      [
        ["p", 1],
        ["half", "half"],
      ],
    ],
    "what was open is committed",
  );
  for (const { run } of timers.splice(0)) run();
  log.size = 5000;
  writer.noteCounted();
  let results = false;
  void writer.tryWrite([{ table: "rules", key: "a", value: [1] }]).then(() => (results = true));
  t.notOk(writer.journal("p", 2, () => {}));
  await settled();
  t.same(timers, []);
  t.notOk(results);
  t.equal(writer.unjournaled, 0);
  t.equal(self.written.length, 1);
});

t.test("the journal's bytes are those of its settles and of what it counts", async (t) => {
  const { log, writer } = counting(disk());
  writer.journal("p", 1, () => {});
  writer.journal("q", 1, () => {});
  writer.journal("p", 2, () => {});
  log.size = 3;
  writer.closeBatch();
  t.equal(writer.journalBytes, (2 + 3) * 48);
});

interface Failing {
  readonly self: Disk;
  readonly writer: Writer;
  /** Lets what was scheduled run, once. */
  tick(): Promise<void>;
}

/** A writer whose store fails from the first commit on. */
async function failing(): Promise<Failing> {
  const self = disk();
  const timers: (() => void)[] = [];
  const writer = new Writer(
    {
      store: self.store,
      counted: nothing(),
      schedule: (_, run) => void timers.push(run),
      onStoreState: () => {},
    },
    { firstLsn: 1, journaled: [], retryMs: 1000, contributors: [] },
  );
  self.fail = true;
  void writer.write([{ table: "rules", key: "a", value: [1] }]);
  await settled();
  return {
    self,
    writer,
    async tick() {
      for (const run of timers.splice(0)) run();
      await settled();
    },
  };
}

t.test(
  "while the store fails, settles wait up to the bound; those beyond it are counted as not journaled",
  async (t) => {
    const { self, writer, tick } = await failing();
    let durable = 0;
    const journal = (seq: number): boolean => writer.journal(`p${seq}`, seq, () => durable++);
    for (let seq = 1; seq <= journalEntriesMax; seq++)
      if (!journal(seq)) throw new Error(`the settle ${seq} isn't taken`);
    t.equal(writer.unjournaled, 0);
    t.equal(journal(0), false);
    t.equal(journal(0), false);
    t.equal(writer.unjournaled, 2);
    await tick();
    t.equal(journal(0), false, "a retry that fails makes no room");
    t.equal(durable, 0);
    self.fail = false;
    while (durable < journalEntriesMax) await tick();
    t.equal(journal(0), true);
    t.equal(writer.unjournaled, 3);
    const batches = self.written.flat().filter(({ table }) => table === "journal");
    const settles = batches.map(({ value }) => (value![0] as unknown[]).length / 2);
    t.equal(
      settles.reduce((sum, of) => sum + of, 0),
      journalEntriesMax,
    );
    t.equal(Math.max(...settles), journalBatchMax);
    self.fail = true;
    await tick();
    for (let i = 1; i < journalEntriesMax; i++) if (!journal(i)) throw new Error(`not even ${i}`);
    t.equal(journal(0), false, "the bound is the same when it fails again");
  },
);

t.test("a store that works takes any number of settles", async (t) => {
  const { store } = disk();
  const writer = new Writer(
    { store, counted: nothing(), schedule: () => {}, onStoreState: () => {} },
    { firstLsn: 1, journaled: [], retryMs: 1000, contributors: [] },
  );
  for (let seq = 0; seq <= journalEntriesMax; seq++)
    if (!writer.journal("p", seq, () => {})) throw new Error(`the settle ${seq} isn't taken`);
  t.equal(writer.unjournaled, 0);
});

t.test("callers that wait for a failing store learn of the failure once", async (t) => {
  const { writer, tick } = await failing();
  const results: unknown[] = [];
  const wait = (key: string): void =>
    void writer
      .tryWrite([{ table: "rules", key, value: [1] }])
      .then((outcome) => results.push(outcome?.message ?? null));
  wait("b");
  await tick();
  await tick();
  t.same(results, ["no space"]);
  wait("c");
  await settled();
  t.same(results, ["no space", "no space"]);
});

t.test("a batch that is committed while the next gathers keeps its own settles", async (t) => {
  const { store, written } = disk();
  const timers: { readonly ms: number; readonly run: () => void }[] = [];
  const calls: string[] = [];
  const writer = new Writer(
    {
      store,
      counted: nothing(),
      schedule: (ms, run) => void timers.push({ ms, run }),
      onStoreState: () => {},
    },
    {
      firstLsn: 5,
      journaled: [],
      retryMs: 1000,
      contributors: [
        {
          changes(lsn) {
            calls.push(`changes ${lsn}`);
            return [{ table: "usage", key: lsn, value: [] }];
          },
          committed: (lsn) => void calls.push(`committed ${lsn}`),
        },
      ],
    },
  );
  t.equal(writer.closeBatch(), 5, "an empty one uses a number up");
  t.same(calls, []);
  t.same(writer.removeJournal(5), []);
  const onDurable = (seq: number): void => void calls.push(`durable ${seq}`);
  for (let seq = 1; seq <= journalBatchMax + 1; seq++) writer.journal("p", seq, onDurable);
  t.same(calls, ["changes 6"], "a full one is closed");
  t.same(
    timers.map(({ ms }) => ms),
    [50, 50],
  );
  await settled();
  t.equal(written.length, 1, "and committed without waiting");
  timers[0]!.run();
  await settled();
  t.equal(written.length, 1, "the other one gathers on");
  timers[1]!.run();
  await settled();
  t.same(
    calls,
    [6, 7].flatMap((lsn) => [
      `changes ${lsn}`,
      `committed ${lsn}`,
      `durable ${journalBatchMax + lsn - 6}`,
    ]),
  );
  t.same(
    written.map((changes) => changes.map(({ table, key }) => `${table} ${key}`)),
    [
      ["journal 6", "usage 6"],
      ["journal 7", "usage 7"],
    ],
  );
  t.same(
    written.map(([journal]) => journal!.value),
    [
      [["p", journalBatchMax], []],
      [["p", journalBatchMax + 1], []],
    ],
    "the last settle of a proxy stands for those before it",
  );
  t.equal(writer.journalBytes, 2 * 48);
  t.equal(writer.removeJournal(6).length, 1);
  t.same(writer.removeJournal(6), [], "once");
  t.equal(writer.journalBytes, 48);
});

/** A writer with what the open batch counts. */
function counting(self: Disk) {
  const log = nothing();
  log.take = () => {
    const taken = Array.from({ length: log.size }, () => "half");
    log.size = 0;
    return taken;
  };
  const timers: { readonly ms: number; readonly run: () => void }[] = [];
  const writer = new Writer(
    {
      store: self.store,
      counted: log,
      schedule: (ms, run) => void timers.push({ ms, run }),
      onStoreState: () => {},
    },
    { firstLsn: 1, journaled: [], retryMs: 1000, contributors: [] },
  );
  return { log, timers, writer };
}

t.test(
  "what is counted without a settle waits for one to share its commit, at most 50 ms",
  async (t) => {
    const self = disk();
    const { log, timers, writer } = counting(self);
    writer.noteCounted();
    t.same(timers, [], "nothing was counted");
    log.size = 2;
    writer.noteCounted();
    writer.noteCounted();
    writer.journal("p", 1, () => {});
    writer.journal("p", 2, () => {});
    t.same(
      timers.map(({ ms }) => ms),
      [50],
    );
    timers[0]!.run();
    await settled();
    t.same(self.written.flat(), [
      {
        table: "journal",
        key: 1,
        value: [
          ["p", 2],
          ["half", "half"],
        ],
      },
    ]);
    log.size = 1;
    writer.noteCounted();
    timers[0]!.run();
    await settled();
    t.equal(self.written.length, 1, "a timer is about its own batch");
    timers[1]!.run();
    await settled();
    t.same(self.written.flat()[1], { table: "journal", key: 2, value: [[], ["half"]] });
    log.size = journalCountedMax;
    writer.noteCounted();
    t.equal(writer.lsn, 4, "a full batch is closed");
    await settled();
    t.equal(self.written.length, 3, "and committed without waiting");
  },
);

t.test("while the store fails, no more is taken down than may wait", async (t) => {
  const self = disk();
  const { log, timers, writer } = counting(self);
  self.fail = true;
  void writer.write([{ table: "rules", key: "a", value: [1] }]);
  await settled();
  for (let waiting = 0; waiting < journalEntriesMax; waiting += journalCountedMax) {
    t.notOk(log.isPaused);
    log.size = journalCountedMax;
    writer.noteCounted();
  }
  writer.noteCounted();
  t.ok(log.isPaused);
  t.equal(
    writer.journal("p", 1, () => {}),
    false,
  );
  self.fail = false;
  for (const { ms, run } of timers) if (ms === 1000) run();
  while (log.isPaused) await settled();
  t.equal(
    writer.journal("p", 1, () => {}),
    true,
  );
});

t.test("a batch comes back as it was written, and nothing else does", async (t) => {
  const batch = { settled: new Map([["p", 3]]), counted: ["r", "", 1, 1, 0] };
  t.same(batchFromStored(batchToStored(batch)), batch);
  const two = { settled: new Map([...batch.settled, ["q", 0]]), counted: [] };
  t.same(batchToStored(two), [["p", 3, "q", 0], []]);
  t.same(batchFromStored(batchToStored(two)), two);
  t.same(batchFromStored([[], []]), { settled: new Map(), counted: [] });
  for (const wrong of [[], [[]], [["p"], []], [["p", -1], []], [[3, "p"], []], [[], {}]])
    t.equal(batchFromStored(wrong), null, JSON.stringify(wrong));
});

t.test("each proxy's last settle is acknowledged once, and equals the journal's", async (t) => {
  const results: string[] = [];
  const tellerOf =
    (name: string) =>
    (seq: number): void =>
      void results.push(`${name} ${seq}`);
  const [p, q, newP] = [tellerOf("p"), tellerOf("q"), tellerOf("new p")];
  const settles = new BatchSettles();
  t.same([settles.size, settles.last()], [0, new Map()]);
  settles.add("p", 3, p);
  settles.add("q", 1, q);
  settles.add("p", 4, p);
  // The daemon had forgotten the other one, whose connection still stands.
  settles.add("p", 5, newP);
  t.equal(settles.size, 4);
  t.same(
    settles.last(),
    new Map([
      ["p", 5],
      ["q", 1],
    ]),
  );
  t.same(results, [], "nothing before the commit");
  settles.reportDurable();
  t.same(results, ["p 4", "q 1", "new p 5"]);
});

const change = (key: string): Change => ({ table: "rules", key, value: [1] });
const changes = (count: number): Change[] =>
  Array.from({ length: count }, (_, i) => change(`${i}`));

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
      measures: {
        timeCommit() {
          events.push("begins");
          return () => void events.push("ends");
        },
      },
      onCommit: () =>
        void events.push(`${queue.ended} ended, ${queue.isCommitting ? "more" : "idle"}`),
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
  t.equal(queue.isCommitting, false);
  queue.pump();
  t.equal(commits.length, 0, "of nothing there is no commit");
});

t.test("changes are committed with the last job that waits, if one does", async (t) => {
  const { queue, commits } = held();
  const done: string[] = [];
  queue.addToLast([change("alone")], () => done.push("alone"));
  queue.pump();
  queue.add([change("batch")], () => done.push("batch"));
  queue.addToLast(changes(2 * windowsPerSlice), () => done.push("sums"));
  t.equal(queue.length, 1);
  commits[0]!.ends();
  await settled();
  t.same(done, ["alone"]);
  t.equal(commits[1]!.changes.length, 1 + 2 * windowsPerSlice);
  t.match(commits[1]!.changes[0], change("batch"), "in their order");
  commits[1]!.ends();
  await settled();
  t.same(done, ["alone", "batch", "sums"]);
});

t.test(
  "each attempt is timed and reported; a failed one is repeated until it succeeds",
  async (t) => {
    const { queue, commits, events, timers } = held();
    queue.add([change("a")], () => events.push("done"));
    queue.pump();
    commits[0]!.fails(new Error("no space"));
    await settled();
    t.equal(queue.failing?.message, "no space");
    t.equal(queue.isCommitting, true, "it is to be tried again");
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
  },
);

t.test("a store that is broken is never tried again", async (t) => {
  const { queue, commits, events, timers } = held();
  const results: unknown[] = [];
  queue.tryWrite([change("a")], (failing) => results.push(failing));
  const broken = new StoreBrokenError("lost");
  commits[0]!.fails(broken);
  await settled();
  t.same(results, [broken]);
  t.same(timers, []);
  t.equal(queue.isCommitting, true);
  t.equal(events.at(-1), "state lost");
  queue.tryWrite([change("b")], (failing) => results.push(failing));
  t.same(results, [broken, broken], "what comes after it learns of it at once");
  t.equal(commits.length, 1);
});

t.test("each waiting caller is called back once, whatever follows", async (t) => {
  const { queue, commits, timers } = held();
  const results: unknown[] = [];
  const wait = (key: string): void =>
    queue.tryWrite([change(key)], (failing) => results.push(`${key} ${failing?.message}`));
  wait("a");
  wait("b");
  t.same(results, []);
  commits[0]!.fails(new Error("no space"));
  await settled();
  t.same(results.splice(0), ["a no space", "b no space"]);
  wait("c");
  t.same(results.splice(0), ["c no space"]);
  timers[0]!.run();
  commits[1]!.fails(new Error("no space"));
  await settled();
  timers[1]!.run();
  commits[2]!.ends();
  await settled();
  wait("d");
  commits[3]!.ends();
  await settled();
  t.same(results.splice(0), []);
  commits[4]!.ends();
  await settled();
  t.same(results, ["d undefined"]);
});

const journalChanges = (count: number): Change[] =>
  Array.from({ length: count }, (_, key) => ({ table: "journal", key, value: [key] }));

/** A writer, and the sizes of what was committed to its store. */
function writing() {
  const sizes: number[] = [];
  const keys: unknown[] = [];
  const memory = createMemoryStore();
  const store = {
    ...memory,
    broken: false,
    commit(some: readonly Change[]): Promise<void> {
      if (store.broken) return Promise.reject(new Error("no space"));
      sizes.push(some.length);
      keys.push(...some.map(({ key }) => key));
      return Promise.resolve();
    },
  };
  const writer = new Writer(
    {
      store,
      counted: { size: 0, isPaused: false, take: () => [] },
      schedule: () => {},
      onStoreState: () => {},
    },
    { firstLsn: 1, journaled: [], retryMs: 1000, contributors: [] },
  );
  return { store, writer, sizes, keys };
}

const slicesOf = [
  [1, [1]],
  [windowsPerSlice, [windowsPerSlice]],
  [windowsPerSlice + 1, [windowsPerSlice, 1]],
  [2 * windowsPerSlice, [windowsPerSlice, windowsPerSlice]],
  [2 * windowsPerSlice + 3, [windowsPerSlice, windowsPerSlice, 3]],
] as const;

t.test("all changes are committed in their order, none twice, in slices", async (t) => {
  for (const [count, expected] of slicesOf) {
    const all = writing();
    await writeSlices(all.writer, journalChanges(count));
    t.same(all.sizes, expected);
    t.same(
      all.keys,
      journalChanges(count).map(({ key }) => key),
    );
    const tried = writing();
    t.equal(await tryWriteSlices(tried.writer, journalChanges(count)), null);
    t.same(tried.sizes, expected);
    t.same(tried.keys, all.keys);
  }
  const none = writing();
  await writeSlices(none.writer, []);
  t.same(none.sizes, []);
  t.equal(await tryWriteSlices(none.writer, []), null);
});

t.test("a caller that waits for slices learns that the store fails", async (t) => {
  for (const count of [0, 1, windowsPerSlice + 1]) {
    const { store, writer, sizes } = writing();
    store.broken = true;
    if (count === 0) t.match(await writer.tryWrite(journalChanges(1)), { message: "no space" });
    t.match(await tryWriteSlices(writer, journalChanges(count)), { message: "no space" });
    t.same(sizes, []);
  }
});

t.test("changes that are added to the open batch are committed with its settles", async (t) => {
  const { store, written } = disk();
  const timers: (() => void)[] = [];
  const writer = new Writer(
    {
      store,
      counted: nothing(),
      schedule: (_, run) => void timers.push(run),
      onStoreState: () => {},
    },
    { firstLsn: 1, journaled: [], retryMs: 1000, contributors: [] },
  );
  writer.addToBatch([{ table: "objects", key: "a", value: [1] }]);
  t.equal(timers.length, 0, "they wait for a settle");
  writer.journal("p", 1, () => {});
  writer.addToBatch([{ table: "objects", key: "b", value: undefined }]);
  timers[0]!();
  await settled();
  writer.journal("p", 2, () => {});
  writer.closeBatch();
  await writer.write([]);
  t.same(
    written.map((changes) => changes.map(({ table, key }) => [table, key])),
    [
      [
        ["journal", 1],
        ["objects", "a"],
        ["objects", "b"],
      ],
      [["journal", 2]],
    ],
  );
});

t.test("a commit is stuck when it has neither been written nor failed for too long", async (t) => {
  let nowMs = 0;
  const commits = { isCommitting: false, ended: 0 };
  const stuck = createStuckCommit(commits, () => nowMs);
  nowMs = stuckCommitMs * 2;
  t.equal(stuck(), null, "none runs");
  commits.isCommitting = true;
  nowMs += stuckCommitMs - 1;
  t.equal(stuck(), null);
  nowMs += 1;
  t.equal(stuck(), "a write to the store hasn't ended for 120 s");
  commits.ended++;
  t.equal(stuck(), null, "it has failed, and is tried again");
  nowMs += stuckCommitMs;
  t.equal(stuck(), "a write to the store hasn't ended for 120 s");
  commits.isCommitting = false;
  t.equal(stuck(), null);
});
