import t from "tap";
import { StoreUnreadableError } from "../../../../limiterd/store/store.js";
import {
  identify,
  nextStoreId,
  storedStoreIds,
  storeIdAt,
} from "../../../../limiterd/usage/followers/store-ids.js";
import { createMemoryStore } from "../../../support/memory-store.js";

t.test("a store gets an id once, and another for what comes after a restore", async (t) => {
  const store = createMemoryStore();
  const { storeIds, changes } = identify(store, "a");
  t.same(storeIds, [{ id: "a", firstKey: 0 }]);
  await store.commit(changes);
  t.same(identify(store, "b"), { storeIds, changes: [] });
  await store.commit([nextStoreId(store, "c", 7)]);
  const ids = storedStoreIds(store);
  t.same(ids, [
    { id: "a", firstKey: 0 },
    { id: "c", firstKey: 8 },
  ]);
  t.same(
    [0, 1, 7, 8, 9].map((key) => storeIdAt(ids, key).id),
    ["a", "a", "a", "c", "c"],
  );
  for (let i = 0; i < 120; i++) await store.commit([nextStoreId(store, `r${i}`, 10 + i)]);
  t.equal(storedStoreIds(store).length, 100);
  await store.commit([{ table: "marks", key: "store_ids", value: ["a", "b"] }]);
  t.throws(() => storedStoreIds(store), StoreUnreadableError);
});
