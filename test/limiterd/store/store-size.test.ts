import t from "tap";
import { createStoreSize } from "../../../limiterd/store/store-size.js";

const cap = 1000;

/** What is said of a store that has these sizes, one after the other. */
function said(sizes: readonly (number | null)[], bytesMax: number | null = cap): unknown[] {
  const heard: unknown[] = [];
  let used: number | null = 0;
  const isFull = createStoreSize({
    store: { usedBytes: () => used },
    bytesMax,
    onFill: (fill, bytes) => heard.push([fill, bytes]),
  });
  for (const size of sizes) {
    used = size;
    if (isFull()) heard.push(size);
  }
  return heard;
}

t.test(
  "a store is full above its cap; 80 % and the cap are told once, until much has gone",
  async (t) => {
    t.same(said([0, 799, 800, 900, 1000]), [["near", 800]]);
    t.same(said([900, 1001, 990, 1001, 850, 1002]), [
      ["near", 900],
      ["over", 1001],
      1001,
      1001,
      1002,
    ]);
    t.same(said([1001, 700, 900]), [["over", 1001], 1001], "it goes up and down at the cap");
    t.same(said([1001, 699, 850, 1001]), [
      ["over", 1001],
      1001,
      ["near", 850],
      ["over", 1001],
      1001,
    ]);
  },
);

t.test("without a cap, or where the size isn't known, no store is full", async (t) => {
  t.same(said([2 ** 50], null), []);
  t.same(said([null, null]), []);
});
