/**
 * The store port on a disk that is slow, fails, and outlives the daemon. A commit is on the disk
 * completely or not at all, even if it was reported as failed or was running at a crash. Values are
 * kept as bytes, so that they share nothing with memory.
 */
import type { Change, Entry, KeyRange, Store, Table } from "../../../limiterd/store/store.js";
import { decodeValue, encodeValue } from "../../../shared/wire/codec.js";
import type { Process, World } from "../world.js";

export interface DiskFaults {
  /** Probability that a commit takes up to a second. */
  readonly slow: number;
  /** Probability that a commit fails; half of these are on the disk nevertheless. */
  readonly fail: number;
}

/** The tables that snapshots write, in slices. */
const snapshotted: readonly Table[] = ["windows", "rollups", "spends", "marks"];

export class Disk {
  /** Until then every commit fails. */
  brokenUntilMs = 0;
  /**
   * Which commit is the last of its daemon: the next one, or the next of a snapshot. The daemon
   * dies while it is written or soon after.
   */
  deadly: "no" | "any" | "snapshot" = "no";
  /** Called with the changes that have reached the disk. */
  onApplied: (changes: readonly Change[]) => void = () => {};
  readonly world: World;
  readonly faults: DiskFaults;
  readonly #tables = new Map<Table, Map<string | number, Buffer>>();

  constructor(world: World, faults: DiskFaults) {
    this.world = world;
    this.faults = faults;
  }

  get(table: Table, key: string | number): unknown[] | undefined {
    const bytes = this.#table(table).get(key);
    return bytes === undefined ? undefined : (decodeValue(bytes) as unknown[]);
  }

  entries(table: Table): Entry[] {
    return this.keys(table).map((key) => this.entry(table, key));
  }

  entry(table: Table, key: string | number): Entry {
    return { key, value: this.get(table, key)! };
  }

  /** The keys of a range, or of the whole table, in order. */
  keys(table: Table, range?: KeyRange): (string | number)[] {
    return [...this.#table(table).keys()]
      .filter((key) => range === undefined || (key >= range.from && key < range.before))
      .sort((a, b) => (a < b ? -1 : 1))
      .slice(0, range?.limit);
  }

  apply(changes: readonly SealedChange[]): void {
    for (const { table, key, bytes } of changes) {
      if (bytes === null) this.#table(table).delete(key);
      else this.#table(table).set(key, bytes);
    }
    this.onApplied(changes);
  }

  /** The store of one epoch of the daemon. */
  open(owner: Process): Store {
    return new OpenDisk(this, owner);
  }

  #table(name: Table): Map<string | number, Buffer> {
    const known = this.#tables.get(name) ?? new Map<string | number, Buffer>();
    this.#tables.set(name, known);
    return known;
  }
}

/** A change with its value as bytes, so that later changes in memory don't reach it. */
type SealedChange = Change & { readonly bytes: Buffer | null };

class OpenDisk implements Store {
  readonly file = "disk";
  readonly #disk: Disk;
  readonly #owner: Process;
  /** Applies the running commit to the disk. */
  #running: (() => void) | null = null;

  constructor(disk: Disk, owner: Process) {
    this.#disk = disk;
    this.#owner = owner;
    owner.onDeath.push(() => this.#crash());
  }

  entries(table: Table): Entry[] {
    return this.#disk.entries(table);
  }

  get(table: Table, key: string | number): unknown[] | undefined {
    return this.#disk.get(table, key);
  }

  range(table: Table, range: KeyRange): Entry[] {
    return this.keys(table, range).map((key) => this.#disk.entry(table, key));
  }

  lastKeys(table: Table, range: KeyRange): (string | number)[] {
    const all = this.#disk.keys(table, { ...range, limit: Number.POSITIVE_INFINITY });
    return all.toReversed().slice(0, range.limit);
  }

  keys(table: Table, range: KeyRange): (string | number)[] {
    return this.#disk.keys(table, range);
  }

  commit(changes: readonly Change[]): Promise<void> {
    const { world } = this.#disk;
    // A dead process commits nothing.
    if (!this.#owner.alive) return new Promise(() => {});
    if (this.#running !== null)
      world.fail("two commits at once: what is on the disk is no prefix of what happened");
    const sealed = changes.map((change) => ({
      ...change,
      bytes: change.value === undefined ? null : encodeValue(change.value),
    }));
    this.#running = () => this.#disk.apply(sealed);
    this.#mayBeDeadly(changes);
    const { random } = world;
    const isSlow = random.chance(this.#disk.faults.slow);
    if (isSlow) world.count("commit slow");
    const tookMs = isSlow ? random.skewed(20, 1000) : random.between(0.1, 3);
    return new Promise((resolve, reject) => {
      world.after(tookMs, null, () => this.#finish(resolve, reject));
    });
  }

  isInPlace(): boolean {
    return true;
  }

  sizeBytes(): number {
    return 0;
  }

  usedBytes(): number {
    return 0;
  }

  holdPages(): () => void {
    return () => {};
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #mayBeDeadly(changes: readonly Change[]): void {
    const { world, deadly } = this.#disk;
    const isDeadly =
      deadly === "any" ||
      (deadly === "snapshot" && changes.some(({ table }) => snapshotted.includes(table)));
    if (!isDeadly) return;
    this.#disk.deadly = "no";
    world.after(world.random.between(0, 6), null, () => world.kill(this.#owner));
  }

  #finish(resolve: () => void, reject: (error: Error) => void): void {
    const { world, brokenUntilMs, faults } = this.#disk;
    if (this.#running === null) return;
    const isBroken = world.nowMs < brokenUntilMs;
    const fails = isBroken || world.random.chance(faults.fail);
    const isApplied = !fails || (!isBroken && world.random.chance(0.5));
    if (fails) world.count(isApplied ? "commit failed and is there" : "commit failed");
    if (isApplied) this.#running();
    this.#running = null;
    world.after(0, this.#owner, () => (fails ? reject(new Error("the disk fails")) : resolve()));
  }

  #crash(): void {
    if (this.#running === null) return;
    const { world } = this.#disk;
    const isApplied = world.random.chance(0.5);
    world.count(isApplied ? "commit there at a crash" : "commit gone at a crash");
    if (isApplied) this.#running();
    this.#running = null;
  }
}
