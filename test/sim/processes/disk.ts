/**
 * The store port on a disk that is slow, fails, and outlives the daemon: a commit is there
 * completely or not at all, whether or not it was reported as failed, and one that is running at a
 * crash may be either. Values are kept as bytes, so that nothing in memory is shared with them.
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

/** What is written now and then, in slices. */
const snapshotted: readonly Table[] = ["windows", "rollups", "spends", "marks"];

export class Disk {
  /** Until then every commit fails. */
  brokenUntilMs = 0;
  /**
   * The next commit, or the next of a snapshot, is the last of its daemon, which dies while or soon
   * after it is written.
   */
  deadly: "no" | "any" | "snapshot" = "no";
  /** Called with what a commit has put on the disk. */
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

  /** In order; all of them, without a range. */
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

/** A change with its value as bytes: what is changed in memory after the commit isn't in it. */
type SealedChange = Change & { readonly bytes: Buffer | null };

class OpenDisk implements Store {
  readonly file = "disk";
  readonly #disk: Disk;
  readonly #owner: Process;
  /** Puts what the running commit writes on the disk. */
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
    // What a dead process has begun never happens.
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
    const slow = random.chance(this.#disk.faults.slow);
    if (slow) world.count("commit slow");
    const tookMs = slow ? random.skewed(20, 1000) : random.between(0.1, 3);
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
    const strikes =
      deadly === "any" ||
      (deadly === "snapshot" && changes.some(({ table }) => snapshotted.includes(table)));
    if (!strikes) return;
    this.#disk.deadly = "no";
    world.after(world.random.between(0, 6), null, () => world.kill(this.#owner));
  }

  #finish(resolve: () => void, reject: (error: Error) => void): void {
    const { world, brokenUntilMs, faults } = this.#disk;
    if (this.#running === null) return;
    const broken = world.nowMs < brokenUntilMs;
    const fails = broken || world.random.chance(faults.fail);
    const applied = !fails || (!broken && world.random.chance(0.5));
    if (fails) world.count(applied ? "commit failed and is there" : "commit failed");
    if (applied) this.#running();
    this.#running = null;
    world.after(0, this.#owner, () => (fails ? reject(new Error("the disk fails")) : resolve()));
  }

  #crash(): void {
    if (this.#running === null) return;
    const { world } = this.#disk;
    const applied = world.random.chance(0.5);
    world.count(applied ? "commit there at a crash" : "commit gone at a crash");
    if (applied) this.#running();
    this.#running = null;
  }
}
