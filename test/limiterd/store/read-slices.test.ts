import t from "tap";
import { readSlices } from "../../../limiterd/store/read-slices.js";
import { createMemoryStore } from "../../support/memory-store.js";

t.test(
  "every entry is handed out once, whatever the slices and what comes meanwhile",
  async (t) => {
    const keys = ["", "\u0000", "a", "a\u0000", "a\nb", "a\u{1f600}", "é"];
    for (let perSlice = 1; perSlice <= keys.length + 1; perSlice++) {
      const store = createMemoryStore();
      await store.commit(keys.map((key) => ({ table: "windows", key, value: [key] })));
      const read: unknown[] = [];
      let turns = 0;
      const next = async (): Promise<boolean> => {
        turns++;
        if (turns === 2) await store.commit([{ table: "windows", key: "", value: ["late"] }]);
        return true;
      };
      const done = await readSlices(store, "windows", { perSlice, next }, ({ key }) => {
        read.push(key);
      });
      t.equal(done, true);
      t.same(read.sort(), [...keys].sort());
      t.equal(turns, Math.floor(keys.length / perSlice) + 1);
    }
    const none = { perSlice: 5, next: async () => false };
    t.equal(await readSlices(createMemoryStore(), "windows", none, () => {}), false);
  },
);
