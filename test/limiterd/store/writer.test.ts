import t from "tap";
import type { JournalEntry } from "../../../limiterd/store/journal-entry.js";
import type { Change, Store } from "../../../limiterd/store/store.js";
import { Writer } from "../../../limiterd/store/writer.js";

function entry(seq: number): JournalEntry {
  return {
    proxyId: "p",
    seq,
    part: "request",
    userPath: "/",
    lsn: 1,
    requestAtMs: 0,
    target: { provider: "a", model: "b" },
    targetLsn: 1,
    targetAtMs: 0,
    endedAtMs: 0,
    tokens: 1,
  };
}

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
      keys: () => [],
      commit(changes) {
        if (self.fail) return Promise.reject(new Error("no space"));
        written.push(changes);
        return Promise.resolve();
      },
      isInPlace: () => true,
      sizeBytes: () => 0,
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
    { store, schedule: (_, run) => void timers.push(run), onStoreState: () => {} },
    { firstLsn: 10, journaled: [], commitDelayMs: 10, retryMs: 1000, contributors: [] },
  );
  for (const seq of [1, 2, 3]) writer.journal(entry(seq), () => durable.push(seq));
  t.equal(timers.length, 1, "one timer for all three");
  t.same(durable, []);
  timers.shift()!();
  await settled();
  t.equal(written.length, 1);
  t.equal(written[0]![0]!.key, 10, "the batch is keyed by its lsn");
  t.same(durable, [1, 2, 3]);
  t.equal(writer.lsn, 11);
});

t.test("a failed commit is tried again and holds back what follows it", async (t) => {
  const self = disk();
  const timers: (() => void)[] = [];
  const states: (string | null)[] = [];
  const writer = new Writer(
    {
      store: self.store,
      schedule: (_, run) => void timers.push(run),
      onStoreState: (error) => void states.push(error?.message ?? null),
    },
    { firstLsn: 1, journaled: [], commitDelayMs: 10, retryMs: 1000, contributors: [] },
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
  "a caller that waits for a change learns at once that the store fails, and the change is written later",
  async (t) => {
    const self = disk();
    const timers: (() => void)[] = [];
    const writer = new Writer(
      { store: self.store, schedule: (_, run) => void timers.push(run), onStoreState: () => {} },
      { firstLsn: 1, journaled: [], commitDelayMs: 10, retryMs: 1000, contributors: [] },
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
      { store: self.store, schedule: (_, run) => void timers.push(run), onStoreState: () => {} },
      { firstLsn: 100, journaled: [7, 8], commitDelayMs: 10, retryMs: 1000, contributors: [] },
    );
    writer.journal(entry(1), () => {});
    const covered = writer.closeBatch();
    writer.journal(entry(2), () => {});
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
    { store: self.store, schedule: () => {}, onStoreState: () => {} },
    { firstLsn: 1, journaled: [], commitDelayMs: 10, retryMs: 1000, contributors: [] },
  );
  const before = writer.write([{ table: "rules", key: "a", value: [1] }]);
  await Promise.all([before, writer.close()]);
  let told = false;
  void writer.write([{ table: "rules", key: "b", value: [2] }]).then(() => (told = true));
  await settled();
  t.same(
    self.written.flat().map((change) => change.key),
    ["a"],
  );
  t.notOk(told);
});
