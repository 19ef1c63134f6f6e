import t from "tap";
import type { Store } from "../../../limiterd/store/store.js";
import { emptyRollup, rollupToStored } from "../../../limiterd/usage/rollup.js";
import { RollupCache } from "../../../limiterd/usage/rollup-cache.js";
import { rollupCellsMax } from "../../../shared/bounds.js";
import { createMemoryStore } from "../../support/memory-store.js";

async function storeWith(entries: Readonly<Record<string, readonly unknown[]>>): Promise<Store> {
  const store = createMemoryStore();
  await store.commit(
    Object.entries(entries).map(([key, value]) => ({ table: "rollups", key, value })),
  );
  return store;
}

t.test("a sum is read once, with the record up to which it holds all", async (t) => {
  const store = await storeWith({ a: rollupToStored({ ...emptyRollup(), requests: 3 }, 17) });
  const cells = new RollupCache(store, (error) => t.fail(error.message));
  t.equal(cells.held("a"), undefined);
  t.equal(cells.find("a")?.requests, 3);
  t.equal(cells.held("a"), undefined, "finding it doesn't keep it");
  t.match(cells.get("a"), { stored: true, restoredKey: 17, sum: { requests: 3 } });
  t.equal(cells.get("a"), cells.known("a"));
  t.match(cells.get("b"), { stored: false, restoredKey: 0, sum: { requests: 0 } });
  cells.discard(cells.get("b")!);
  t.equal(cells.held("b"), undefined);
});

t.test("a damaged sum is reported once and gives no cell", async (t) => {
  const reported: string[] = [];
  const cells = new RollupCache(await storeWith({ a: ["?"] }), ({ name }) => reported.push(name));
  t.equal(cells.get("a"), null);
  t.equal(cells.get("a"), null);
  t.same(reported, ["StoreUnreadableError"]);
  t.throws(() => cells.find("a"), { name: "StoreUnreadableError" });
});

t.test("what wasn't needed between two makings of room is forgotten", async (t) => {
  const cells = new RollupCache(createMemoryStore(), (error) => t.fail(error.message));
  const fill = (from: string): void => {
    for (let i = 0; i < rollupCellsMax; i++) cells.get(`${from}${i}`);
  };
  t.notOk(cells.forget(), "there is room");
  cells.get("needed");
  cells.get("unneeded");
  fill("x");
  t.ok(cells.forget());
  t.ok(cells.held("needed"), "the previous generation is still held");
  cells.known("needed");
  fill("y");
  t.ok(cells.forget());
  t.ok(cells.held("needed"));
  t.equal(cells.held("unneeded"), undefined);
});

t.test("room is made at the bound, and what isn't there takes none", async (t) => {
  const cells = new RollupCache(createMemoryStore(), (error) => t.fail(error.message));
  for (let i = 0; i < rollupCellsMax; i++) cells.known(`nobody${i}`);
  t.equal(cells.forget(), false);
  for (let i = 1; i < rollupCellsMax; i++) cells.get(`x${i}`);
  t.equal(cells.forget(), false, "one less");
  cells.get("x1");
  t.equal(cells.forget(), false, "the same again");
  cells.get("x0");
  t.equal(cells.forget(), true);
  t.equal(cells.forget(), false);
});

t.test("what is no damage isn't taken for it", async (t) => {
  const store = createMemoryStore();
  const bug = new TypeError("a bug");
  store.get = () => {
    throw bug;
  };
  t.throws(() => new RollupCache(store, (error) => t.fail(error.message)).get("a"), bug);
});
