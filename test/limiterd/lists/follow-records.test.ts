import fc from "fast-check";
import t from "tap";
import { nextStoreId } from "../../../limiterd/usage/followers/store-ids.js";
import type { FollowedRecords } from "../../../shared/api/record-item.js";
import type { MemoryStore } from "../../support/memory-store.js";
import { exactly } from "../../support/patterns/exactly.js";
import { ask, refusal, startDaemon, type TestDaemon } from "../in-memory-daemon.js";
import { recordOn } from "../usage/usage-fixture.js";

/** One batch of records with these request ids, closed; `commit` puts it on the disk. */
function recordBatch(daemon: TestDaemon, ...ids: string[]): void {
  for (const requestId of ids)
    daemon.state.usage.add(recordOn("/a", { atMs: daemon.nowMs, requestId }), daemon.nowMs);
  daemon.state.writer.journal("p", 1, () => {});
}

const follow = async (daemon: TestDaemon, body: object = {}): Promise<FollowedRecords> =>
  (await ask(daemon, "usage.follow", body)) as unknown as FollowedRecords;
const idsOf = ({ records }: FollowedRecords): string[] => records.map(({ request_id: id }) => id);

/** All from a cursor on, and the cursor behind them. */
async function followAll(
  daemon: TestDaemon,
  after: string | null,
  limit = 1000,
): Promise<{ readonly ids: string[]; readonly next: string; readonly missed: number }> {
  const ids: string[] = [];
  let missed = 0;
  for (let cursor = after; ; ) {
    const page = await follow(daemon, { after: cursor, limit });
    ids.push(...idsOf(page));
    missed += page.missed_commits;
    cursor = page.next;
    if (!page.more) return { ids, next: cursor, missed };
  }
}

t.test("each record comes once, in order, whatever the pages, and then those that come", (t) =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 1, max: 7 }),
      async (sizes, limit) => {
        const daemon = startDaemon([]);
        const recorded: string[] = [];
        const followed: string[] = [];
        let cursor: string | null = null;
        for (const [batch, size] of sizes.entries()) {
          const ids = Array.from({ length: size }, (_, i) => `r${batch}-${i}`);
          recordBatch(daemon, ...ids);
          await daemon.commit();
          recorded.push(...ids);
          if (batch % 3 !== 0) continue;
          const read = await followAll(daemon, cursor, limit);
          followed.push(...read.ids);
          cursor = read.next;
        }
        const rest = await followAll(daemon, cursor, limit);
        followed.push(...rest.ids);
        t.same(followed, recorded);
        t.equal(rest.missed, 0);
      },
    ),
    { numRuns: 30 },
  ),
);

t.test("only what is on the disk is handed on: its place can't be another's", async (t) => {
  const daemon = startDaemon([]);
  recordBatch(daemon, "kept");
  await daemon.commit();
  const first = await follow(daemon);
  t.same(idsOf(first), ["kept"]);
  t.match(first, { more: false, lag_seconds: 0, missed_commits: 0, is_other_store: false });
  const stored = daemon.store.crash();
  recordBatch(daemon, "lost in a crash");
  const again = startDaemon([], { store: stored });
  recordBatch(again, "after it");
  await again.commit();
  t.same(idsOf(await follow(again, { after: first.next })), ["after it"]);
});

t.test(
  "the page says how old the next record is, and the status how far each follower is",
  async (t) => {
    const daemon = startDaemon([]);
    recordBatch(daemon, "one");
    recordBatch(daemon, "two");
    await daemon.commit();
    daemon.nowMs += 42_000;
    const page = await follow(daemon, { limit: 1, follower: "warehouse" });
    t.match(page, { more: true, lag_seconds: 42, store_id: "store-1", host: "test" });
    await follow(daemon, { after: page.next, follower: "warehouse" });
    await follow(daemon, { from: "now", follower: "late" });
    t.match(
      (await ask(daemon, "status", null))["followers"],
      exactly([
        { name: "late", lag_seconds: 0, finished: false },
        { name: "warehouse", lag_seconds: 42, finished: false },
      ]),
    );
    // One that ends because it has all isn't behind, however long it is away; one that dies is.
    const { next } = await follow(daemon, { after: page.next, follower: "warehouse" });
    await follow(daemon, { after: next, limit: 1, follower: "warehouse", finished: true });
    await follow(daemon, { after: page.next, follower: "late" });
    daemon.nowMs += 3_600_000;
    recordBatch(daemon, "three");
    await daemon.commit();
    daemon.nowMs += 60_000;
    t.match(
      (await ask(daemon, "status", null))["followers"],
      exactly([
        { name: "late", lag_seconds: 3_702, finished: false },
        { name: "warehouse", lag_seconds: 0, finished: true },
      ]),
    );
    await follow(daemon, { after: next, follower: "warehouse", finished: "false" });
    t.match(
      (await ask(daemon, "status", null))["followers"],
      exactly([{ name: "late" }, { name: "warehouse", lag_seconds: 60, finished: false }]),
    );
    t.match(await refusal(follow(daemon, { finished: "no" })), {
      message: 'finished must be true or false, not "no"',
    });
    for (let i = 0; i < 20; i++) await follow(daemon, { follower: `f${i}` });
    const { followers } = (await ask(daemon, "status", null)) as { followers: unknown[] };
    t.equal(followers.length, 16, "the longest silent ones are forgotten");
  },
);

t.test("from now on there is nothing, until a record comes", async (t) => {
  const daemon = startDaemon([]);
  recordBatch(daemon, "old");
  await daemon.commit();
  const page = await follow(daemon, { from: "now" });
  t.same(idsOf(page), []);
  recordBatch(daemon, "new");
  await daemon.commit();
  t.same(idsOf(await follow(daemon, { after: page.next })), ["new"]);
  t.same(daemon.state.followers.all(), [], "who gives no name isn't listed");
});

t.test("records removed before they were read are reported, and the others follow", async (t) => {
  const daemon = startDaemon([]);
  for (let i = 0; i < 6; i++) {
    recordBatch(daemon, `r${i}`, `s${i}`);
    await daemon.commit();
  }
  t.equal((await follow(daemon, { limit: 2 })).next, "store-1/2.0", "behind the whole batch");
  const { next } = await follow(daemon, { limit: 3 });
  for (const key of [1, 2, 3, 4])
    await daemon.store.commit([{ table: "usage", key, value: undefined }]);
  const read = await followAll(daemon, next);
  t.same(read.ids, ["r4", "s4", "r5", "s5"]);
  t.equal(read.missed, 3, "the rest of the second, the third and the fourth");
  for (const key of [5, 6]) await daemon.store.commit([{ table: "usage", key, value: undefined }]);
  t.same(await followAll(daemon, next), { ids: [], next: read.next, missed: 5 });
});

/** As a restore puts a backup in the place of a store. */
async function restored(backup: MemoryStore, id: string, lastKey: number): Promise<TestDaemon> {
  const store = backup.crash();
  await store.commit([nextStoreId(store, id, lastKey)]);
  return startDaemon([], { store });
}

t.test("a follower goes on over a backup that is put back", async (t) => {
  const daemon = startDaemon([]);
  recordBatch(daemon, "first");
  await daemon.commit();
  recordBatch(daemon, "second");
  await daemon.commit();
  const early = (await follow(daemon, { limit: 1 })).next;
  const backup = daemon.store.crash();
  recordBatch(daemon, "after the backup");
  await daemon.commit();
  const late = (await followAll(daemon, early)).next;
  const back = await restored(backup, "store-2", 2);
  recordBatch(back, "new");
  await back.commit();
  t.same((await followAll(back, early)).ids, ["second", "new"]);
  t.same((await followAll(back, late)).ids, ["new"], "the same place, of another id");
  t.match(await follow(back, { after: late }), { is_other_store: false, store_id: "store-2" });
  const pages = [await follow(back), await follow(back, { after: "store-2/3.0" })];
  t.match(
    pages,
    exactly([
      { store_id: "store-1", store_ids: ["store-2", "store-1"], more: true, next: "store-2/3.0" },
      { store_id: "store-2", more: false, is_other_store: false },
    ]),
  );
});

t.test("a cursor in the middle of a replaced batch begins with what is there now", async (t) => {
  const daemon = startDaemon([]);
  recordBatch(daemon, "first");
  await daemon.commit();
  const backup = daemon.store.crash();
  recordBatch(daemon, "handed on", "not yet");
  await daemon.commit();
  const { next } = await follow(daemon, { limit: 2 });
  t.equal(next, "store-1/2.1");
  const back = await restored(backup, "store-2", 1);
  recordBatch(back, "new", "newer");
  await back.commit();
  t.same((await followAll(back, next)).ids, ["new", "newer"]);
});

t.test(
  "another store's cursor starts at the beginning; one beyond the end is refused",
  async (t) => {
    const daemon = startDaemon([]);
    recordBatch(daemon, "one");
    await daemon.commit();
    const page = await follow(daemon, { after: "elsewhere/17.3" });
    t.match(page, { is_other_store: true, missed_commits: 0 });
    t.same(idsOf(page), ["one"]);
    for (const after of ["store-1/3.0", "store-1/2.1"])
      t.match(await refusal(follow(daemon, { after })), {
        status: 409,
        message: /replaced by an older one/,
      });
    t.match(await follow(daemon, { after: "store-1/2.0" }), {
      records: { length: 0 },
      store_id: "store-1",
    });
  },
);

t.test("a wrong question is refused with its field", async (t) => {
  const daemon = startDaemon([]);
  for (const [body, param] of [
    [{ after: "1.0" }, "after"],
    [{ after: 7 }, "after"],
    [{ from: "yesterday" }, "from"],
    [{ limit: 0 }, "limit"],
    [{ limit: 1001 }, "limit"],
    [{ follower: "a b" }, "follower"],
    [{ user_path: "/a" }, "user_path"],
  ] as const)
    t.match(await refusal(follow(daemon, body)), { status: 400, param }, JSON.stringify(body));
  const off = startDaemon([], { usageEnabled: false });
  t.match(await refusal(follow(off)), { code: "feature_unavailable" });
});

t.test("what isn't on the disk yet isn't handed on, however many batches wait", async (t) => {
  const daemon = startDaemon([]);
  recordBatch(daemon, "written");
  await daemon.commit();
  daemon.store.broken = true;
  for (const id of ["lost", "lost too"]) recordBatch(daemon, id);
  await daemon.commit();
  const page = await follow(daemon);
  t.match(page, exactly({ records: [{ request_id: "written" }], more: false }));
  t.equal(page.next, "store-1/2.0", "they come once they are there");
  t.equal((await follow(daemon, { from: "now" })).next, "store-1/2.0");
});

t.test("a follower is listed also where the store is damaged", async (t) => {
  const daemon = startDaemon([]);
  recordBatch(daemon, "one");
  await daemon.commit();
  await follow(daemon, { follower: "f", limit: 1 });
  await daemon.store.commit([{ table: "usage", key: 1, value: ["damaged"] }]);
  t.match(
    (await ask(daemon, "status", null))["followers"],
    exactly([{ name: "f", lag_seconds: null }]),
  );
});

t.test("verdicts have their turn while a page of many small entries is read", async (t) => {
  const daemon = startDaemon([]);
  let turns = 0;
  Object.assign(daemon.state, { yieldToEventLoop: async () => void turns++ });
  for (let i = 0; i < 410; i++) {
    recordBatch(daemon, `r${i}`);
    await daemon.commit();
  }
  t.equal(idsOf(await follow(daemon)).length, 410);
  t.equal(turns, 2, "an entry counts as some records");
});
