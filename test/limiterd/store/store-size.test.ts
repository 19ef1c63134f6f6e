import t from "tap";
import { createStoreSize } from "../../../limiterd/store/store-size.js";

const cap = 1000;

/** What is said of a store that has these sizes, one after the other. */
function said(sizes: readonly (number | null)[], bytesMax: number | null = cap): unknown[] {
  return saidOf(
    sizes.map((usage) => ({ usage, windows: 0 })),
    bytesMax,
  ).map((each) => (Array.isArray(each) ? each.slice(0, 2) : each));
}

interface Sizes {
  readonly usage: number | null;
  readonly windows: number;
}

function saidOf(sizes: readonly Sizes[], bytesMax: number | null = cap): unknown[] {
  const heard: unknown[] = [];
  let now: Sizes = { usage: 0, windows: 0 };
  const isFull = createStoreSize({
    store: {
      usedBytes(table) {
        if (table !== undefined) return table in now ? now[table as keyof Sizes] : 0;
        return now.usage === null ? null : now.usage + now.windows;
      },
    },
    bytesMax,
    onFill: (...said) => heard.push(said),
  });
  for (const size of sizes) {
    now = size;
    if (isFull()) heard.push((size.usage ?? 0) + size.windows);
  }
  return heard;
}

t.test(
  "a store is full above its cap; 80% and the cap are logged once, until much has been removed",
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

t.test("no record is removed for other data, and the log names what fills the store", async (t) => {
  t.same(
    saidOf([
      { usage: 300, windows: 600 },
      { usage: 300, windows: 800 },
      { usage: 300, windows: 1000 },
      { usage: 300, windows: 1001 },
      { usage: 200, windows: 1900 },
    ]),
    [
      ["near", 900, ["windows 67%", "usage 33%", "rules 0%"]],
      ["over", 1100, ["windows 73%", "usage 27%", "rules 0%"]],
      1100,
      1300,
      ["others", 1301, ["windows 77%", "usage 23%", "rules 0%"]],
    ],
  );
});

t.test("without a cap, or where the size isn't known, no store is full", async (t) => {
  t.same(said([2 ** 50], null), []);
  t.same(said([null, null]), []);
});
