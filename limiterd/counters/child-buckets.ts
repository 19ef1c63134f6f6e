/**
 * The buckets of a table of children, each with its first record. Their number changes by one at a
 * time (linear hashing): the lowest bits of a hash select its bucket; if that bucket doesn't exist
 * yet, one bit less does.
 */

const blockShift = 14;
const blockBuckets = 1 << blockShift;
export const smallestBuckets = 4;

export class Buckets {
  count = smallestBuckets;
  /** In blocks, so that no large array is copied; −1 if a bucket is empty. */
  readonly #firsts: Int32Array[] = [new Int32Array(smallestBuckets).fill(-1)];
  /** All ones: the smallest such number that is at least the highest bucket's number. */
  #mask = smallestBuckets - 1;

  /** The bucket of a hash. */
  of(hash: number): number {
    const bucket = hash & this.#mask;
    return bucket < this.count ? bucket : bucket & (this.#mask >> 1);
  }

  /** The place of a bucket's first record, or −1. */
  first(bucket: number): number {
    return this.#firsts[bucket >> blockShift]![bucket & (blockBuckets - 1)]!;
  }

  setFirst(bucket: number, place: number): void {
    this.#firsts[bucket >> blockShift]![bucket & (blockBuckets - 1)] = place;
  }

  /** Adds an empty bucket. Returns the bucket from which some records now belong there. */
  add(): number {
    const bucket = this.count++;
    if (bucket > this.#mask) this.#mask = 2 * this.#mask + 1;
    const firsts = this.#firsts.at(-1)!;
    if (bucket === (this.#firsts.length - 1) * blockBuckets + firsts.length) {
      if (firsts.length === blockBuckets) this.#firsts.push(new Int32Array(blockBuckets));
      else {
        const larger = new Int32Array(2 * firsts.length);
        larger.set(firsts);
        this.#firsts[this.#firsts.length - 1] = larger;
      }
    }
    this.setFirst(bucket, -1);
    return bucket & (this.#mask >> 1);
  }

  /** Removes the last bucket. Returns the first of its records, which now belong elsewhere. */
  removeLast(): number {
    const bucket = --this.count;
    if (bucket === (this.#mask + 1) / 2) this.#mask >>= 1;
    const first = this.first(bucket);
    if (bucket > 0 && bucket % blockBuckets === 0) this.#firsts.pop();
    return first;
  }
}
