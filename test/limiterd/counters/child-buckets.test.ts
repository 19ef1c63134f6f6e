import t from "tap";
import { Buckets, smallestBuckets } from "../../../limiterd/counters/child-buckets.js";

/** Beyond two blocks of buckets. */
const most = 2 * 16_384 + 100;

/** Where linear hashing puts a hash: by as many bits as there are buckets for. */
function bucketOf(hash: number, count: number): number {
  const bits = Math.ceil(Math.log2(count));
  const bucket = hash & (2 ** bits - 1);
  return bucket < count ? bucket : bucket & (2 ** (bits - 1) - 1);
}

const hashes = Array.from({ length: 40 }, (_, i) => (i * 0x9e3779b1) | 0);
const sample = (count: number): boolean =>
  count < 200 || count % 997 === 0 || (count & (count - 1)) === 0;

t.test("buckets come and go one at a time, and each keeps what it holds", async (t) => {
  const buckets = new Buckets();
  t.equal(buckets.count, smallestBuckets);
  for (let i = 0; i < smallestBuckets; i++) t.equal(buckets.first(i), -1);
  const wrong: string[] = [];
  const check = (what: string): void => {
    const { count } = buckets;
    if (!sample(count)) return;
    for (const hash of hashes)
      if (buckets.of(hash) !== bucketOf(hash, count)) wrong.push(`${what} ${count}: ${hash}`);
  };
  for (let i = 0; i < smallestBuckets; i++) buckets.setFirst(i, 7 * i);
  while (buckets.count < most) {
    const bucket = buckets.count;
    const parent = buckets.add();
    if (parent !== bucketOf(bucket, bucket)) wrong.push(`${bucket} is split off ${parent}`);
    if (buckets.first(bucket) !== -1) wrong.push(`${bucket} isn't empty`);
    buckets.setFirst(bucket, 7 * bucket);
    check("add");
  }
  for (let i = 0; i < most; i++) if (buckets.first(i) !== 7 * i) wrong.push(`${i} is lost`);
  while (buckets.count > smallestBuckets) {
    const bucket = buckets.count - 1;
    if (buckets.removeLast() !== 7 * bucket) wrong.push(`${bucket} holds something else`);
    check("remove");
  }
  t.same(wrong, []);
  for (let i = 0; i < smallestBuckets; i++) t.equal(buckets.first(i), 7 * i);
});

t.test("a bucket that comes again is empty", async (t) => {
  const buckets = new Buckets();
  for (const count of [5, 16_384, 16_385, 16_386]) {
    while (buckets.count < count) buckets.add();
    buckets.setFirst(count - 1, 3);
    t.equal(buckets.removeLast(), 3);
    buckets.add();
    t.equal(buckets.first(count - 1), -1, `${count}`);
  }
});
