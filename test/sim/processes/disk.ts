/**
 * The store port on a disk that is slow, fails, and outlives the daemon: a commit is there
 * completely or not at all, whether or not it was reported as failed, and one that is running at a
 * crash may be either. Values are kept as bytes, so that nothing in memory is shared with them.
 */
import type { Change, Entry, Store, Table } from "../../../limiterd/store/store.js";
import { decodeValue, encodeValue } from "../../../shared/wire/codec.js";
import type { Process, World } from "../world.js";

export interface DiskFaults {
  /** Probability that a commit takes up to a second. */
  readonly slow: number;
  /** Probability that a commit fails; half of these are on the disk nevertheless. */
  readonly fail: number;
}

export interface Disk {
  /** Until then every commit fails. */
  brokenUntilMs: number;
  /**
   * The next commit, or the next of a snapshot, is the last of its daemon, which dies while or soon
   * after it is written.
   */
  deadly: "no" | "any" | "snapshot";
  /** Called with what a commit has put on the disk. */
  onApplied: (changes: readonly Change[]) => void;
  entries(table: Table): Entry[];
  /** The store of one epoch of the daemon. */
  open(owner: Process): Store;
}

/** What is written now and then, in slices. */
const snapshotted: readonly Table[] = ["windows", "rollups", "spends", "marks"];

export function createDisk(world: World, faults: DiskFaults): Disk {
  const { random } = world;
  const tables = new Map<Table, Map<string | number, Buffer>>();

  function table(name: Table): Map<string | number, Buffer> {
    const known = tables.get(name) ?? new Map<string | number, Buffer>();
    tables.set(name, known);
    return known;
  }

  function keysOf(
    name: Table,
    { from, before }: { readonly from: string | number; readonly before: string | number },
  ): (string | number)[] {
    return [...table(name).keys()]
      .filter((key) => key >= from && key < before)
      .sort((a, b) => (a < b ? -1 : 1));
  }

  function entry(name: Table, key: string | number): Entry {
    return { key, value: decodeValue(table(name).get(key)!) as unknown[] };
  }

  function entries(name: Table): Entry[] {
    return [...table(name).keys()].sort((a, b) => (a < b ? -1 : 1)).map((key) => entry(name, key));
  }

  function apply(changes: readonly (Change & { readonly bytes: Buffer | null })[]): void {
    for (const { table: name, key, bytes } of changes) {
      if (bytes === null) table(name).delete(key);
      else table(name).set(key, bytes);
    }
    disk.onApplied(changes);
  }

  function open(owner: Process): Store {
    let running: (() => void) | null = null;
    owner.onDeath.push(() => {
      if (running === null) return;
      const applied = random.chance(0.5);
      world.count(applied ? "commit there at a crash" : "commit gone at a crash");
      if (applied) running();
      running = null;
    });
    return {
      file: "disk",
      entries,
      get: (name, key) => (table(name).has(key) ? entry(name, key).value : undefined),
      range: (name, range) =>
        keysOf(name, range)
          .slice(0, range.limit)
          .map((key) => entry(name, key)),
      keys: (name, range) => keysOf(name, range).slice(0, range.limit),
      commit(changes) {
        // What a dead process has begun never happens.
        if (!owner.alive) return new Promise(() => {});
        if (running !== null)
          world.fail("two commits at once: what is on the disk is no prefix of what happened");
        const sealed = changes.map((change) => ({
          ...change,
          bytes: change.value === undefined ? null : encodeValue(change.value),
        }));
        running = () => apply(sealed);
        if (
          disk.deadly === "any" ||
          (disk.deadly === "snapshot" &&
            changes.some(({ table: name }) => snapshotted.includes(name)))
        ) {
          disk.deadly = "no";
          world.after(random.between(0, 6), null, () => world.kill(owner));
        }
        const slow = random.chance(faults.slow);
        if (slow) world.count("commit slow");
        return new Promise((resolve, reject) => {
          world.after(slow ? random.skewed(20, 1000) : random.between(0.1, 3), null, () => {
            if (running === null) return;
            const broken = world.nowMs < disk.brokenUntilMs;
            const fails = broken || random.chance(faults.fail);
            const applied = !fails || (!broken && random.chance(0.5));
            if (fails) world.count(applied ? "commit failed and is there" : "commit failed");
            if (applied) running();
            running = null;
            world.after(0, owner, () => (fails ? reject(new Error("the disk fails")) : resolve()));
          });
        });
      },
      isInPlace: () => true,
      sizeBytes: () => 0,
      close: () => Promise.resolve(),
    };
  }

  const disk: Disk = { brokenUntilMs: 0, deadly: "no", onApplied: () => {}, entries, open };
  return disk;
}
