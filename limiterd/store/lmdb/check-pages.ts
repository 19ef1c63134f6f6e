/**
 * Reads the pages of a store's file in LMDB's layout, without LMDB. LMDB maps its file and trusts
 * it: a wrong number ends the process or makes entries disappear. This check compares each number
 * with those that it must agree with: a page with its place and its parent, a table's head with its
 * pages and entries, keys with their order, free pages with used ones. It doesn't interpret
 * entries: `onEntry` gets each.
 *
 * The layout is that of the version of `lmdb` in `package.json`, with 64 bits, the low byte first.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { hostBoot } from "./host-boot.js";
import { lmdbMagic } from "./store-file.js";

/** Why a file isn't a whole store. */
export class DamagedPagesError extends Error {
  override name = "DamagedPagesError";
}

interface CheckOptions {
  /** The names that its tables may have. */
  readonly tables: ReadonlySet<string>;
  /** Called with each entry of each table; the bytes are valid within the call. */
  onEntry?(table: string, key: Buffer, value: Buffer): void;
  /** Tables whose leaf pages, which hold the entries, aren't read. */
  readonly skipped?: ReadonlySet<string>;
}

/** Throws `DamagedPagesError`, or the operating system's error. */
export function checkPages(file: string, options: CheckOptions): void {
  const descriptor = openSync(file, "r");
  try {
    new PageCheck(descriptor, options).check();
  } finally {
    closeSync(descriptor);
  }
}

/** The head of one of LMDB's trees. */
interface Tree {
  /** In the free tree the size of a page, in others 0. */
  readonly pad: number;
  readonly flags: number;
  readonly depth: number;
  readonly branchPages: number;
  readonly leafPages: number;
  readonly overflowPages: number;
  readonly entries: number;
  /** Null: it is empty. */
  readonly root: number | null;
}

const treeBytes = 48;

/** The state of the file after a commit. */
interface Snapshot {
  readonly free: Tree;
  readonly main: Tree;
  readonly lastPage: number;
  /** The number of the commit. */
  readonly txn: number;
  /** See `bootOfLmdb`. */
  readonly boot: bigint;
  readonly isFlushed: boolean;
  /**
   * Whether the file is a copy that LMDB made and no commit has changed since: its pages have no
   * commit numbers.
   */
  readonly isCopy: boolean;
}

/** Where a page is in its tree. */
interface Place {
  readonly level: number;
  /** The number of the commit that wrote the page above. */
  readonly parentTxn: number;
  /** The lower bound of its keys, included. */
  readonly lowerKey: Buffer | null;
  /** The upper bound of its keys, excluded. */
  readonly upperKey: Buffer | null;
}

/** The check of one tree. */
interface Walk {
  readonly name: string;
  readonly tree: Tree;
  readonly isSkipped: boolean;
  compare(a: Buffer, b: Buffer): number;
  onNode(flags: number, key: Buffer, value: Buffer): void;
  /** The counts so far. */
  branchPages: number;
  leafPages: number;
  overflowPages: number;
  entries: number;
}

const headBytes = 24;
/** The offsets in the head of a page. An overflow page has its number of pages there. */
const pageAt = { number: 0, txn: 8, kind: 18, lower: 20, upper: 22, overflowPages: 20 } as const;
const pageKinds = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const;
const nodeHeadBytes = 8;
/** Where a long value is: its first page, its commit, its pages. */
const bigValueBytes = 24;
const nodeFlags = { big: 1, tree: 2 } as const;
/** Maximum depth of a tree: far more levels than any tree that fits on a disk. */
const depthMax = 32;

class PageCheck {
  readonly #descriptor: number;
  readonly #options: CheckOptions;
  readonly #pageBytes: number;
  readonly #snapshot: Snapshot;
  readonly #filePages: number;
  /** 1 for a page that has been found, used or free. */
  readonly #met: Uint8Array;
  /** Pages after the file's end that have been found: one commit has allocated and freed them. */
  readonly #metBehind = new Set<number>();
  #metCount = 0;
  /** A buffer for one page of each level of a tree. */
  readonly #pageBuffers: Buffer[] = [];

  constructor(descriptor: number, options: CheckOptions) {
    this.#descriptor = descriptor;
    this.#options = options;
    const size = fstatSync(descriptor).size;
    const head = Buffer.alloc(headBytes + metaBytes);
    this.#readInto(head, 0);
    this.#pageBytes = head.readUInt32LE(headBytes + metaAt.free);
    must([4096, 8192, 16_384, 32_768, 65_536].includes(this.#pageBytes), "its head is damaged");
    must(size >= 2 * this.#pageBytes, "it was cut short");
    this.#snapshot = this.#pickSnapshot();
    this.#filePages = Math.floor(size / this.#pageBytes);
    this.#met = new Uint8Array(this.#filePages);
  }

  check(): void {
    const { main, free, lastPage, txn } = this.#snapshot;
    const trees = new Map<string, Tree>();
    this.#walk("its tables", main, compareBytes, (flags, key, value) => {
      must(key.at(-1) === 0, "the name of a table is damaged");
      const name = key.toString("latin1", 0, key.length - 1);
      must(flags === nodeFlags.tree && value.length === treeBytes, `the table ${name} is damaged`);
      must(this.#options.tables.has(name), `its table ${name} is none of a store's`);
      trees.set(name, readTree(value, 0));
    });
    for (const [name, tree] of trees) {
      must(tree.flags === 0 && tree.pad === 0, `the table ${name} is damaged`);
      this.#walk(name, tree, compareBytes, (flags, key, value) => {
        must(flags === 0, `an entry of ${name} is damaged`);
        this.#options.onEntry?.(name, key, value);
      });
    }
    this.#walk("its free pages", free, compareNumbers, (flags, key, value) => {
      // The key is the commit that freed the pages.
      const freed = key.length === 8 ? readCount(key, 0) : 0;
      must(flags === 0 && freed > 0 && freed <= txn, "the list of its free pages is damaged");
      for (const { first, pages } of freePages(value)) this.#meet(first, pages);
    });
    const isAllRead = ![...trees.keys()].some((name) => this.#isSkipped(name));
    // The first two pages are the head.
    must(
      !isAllRead || this.#metCount === lastPage - 1,
      "some of its pages are neither used nor free",
    );
  }

  #isSkipped(name: string): boolean {
    return this.#options.skipped?.has(name) === true;
  }

  /** Picks the same snapshot as LMDB when it opens the file. */
  #pickSnapshot(): Snapshot {
    const even = this.#readSnapshot(0);
    const odd = this.#readSnapshot(this.#pageBytes);
    const [older, latest] = even.txn > odd.txn ? [odd, even] : [even, odd];
    const flushed = this.#readSnapshot(this.#pageBytes / 2);
    // The flushed snapshot is a copy of one of the two, or of an earlier one.
    must(flushed.txn <= latest.txn, "the numbers of its last commits are damaged");
    for (const head of [even, odd])
      must(head.txn !== flushed.txn || isSame(head, flushed), "its heads contradict each other");
    if (latest.isFlushed || latest.boot === bootOfLmdb()) {
      // LMDB writes the two alternately; a copy begins with only one.
      const isCopy = older.txn === 0 && older.main.root === null;
      must(
        isCopy || (latest.txn - older.txn === 1 && even.txn % 2 === 0),
        "the numbers of its last commits are damaged",
      );
      return { ...latest, isCopy };
    }
    // The host has booted since, so only the flushed snapshot counts.
    return flushed.txn > 0 ? flushed : older;
  }

  #readSnapshot(at: number): Snapshot {
    const bytes = Buffer.alloc(headBytes + metaBytes);
    must(this.#readInto(bytes, at) === bytes.length, "it was cut short");
    const meta = bytes.subarray(headBytes);
    const free = readTree(meta, metaAt.free);
    const main = readTree(meta, metaAt.main);
    const txn = readCount(meta, metaAt.txn);
    // The copy of the flushed snapshot is within the first page, without a head, and may be
    // missing.
    const isCopy = at % this.#pageBytes !== 0;
    must(
      isCopy ||
        (bytes.readUInt16LE(pageAt.kind) === pageKinds.meta &&
          meta.readUInt32LE(0) === lmdbMagic &&
          meta.readUInt32LE(4) === lmdbDataVersion),
      "its head is damaged",
    );
    must(
      (isCopy && txn === 0) ||
        (free.pad === this.#pageBytes &&
          (free.flags & ~freeFlagsMask) === 0 &&
          (free.flags & freeFlags.integerKeys) !== 0 &&
          main.flags === 0 &&
          main.pad === 0),
      "its head is damaged",
    );
    return {
      free,
      main,
      lastPage: readCount(meta, metaAt.lastPage),
      txn,
      boot: meta.readBigUInt64LE(metaAt.boot),
      isFlushed: (free.flags & freeFlags.unflushed) === 0,
      isCopy: false,
    };
  }

  #walk(name: string, tree: Tree, compare: Walk["compare"], onNode: Walk["onNode"]): void {
    const isSkipped = this.#isSkipped(name);
    const walk: Walk = {
      name,
      tree,
      isSkipped,
      compare,
      onNode,
      branchPages: 0,
      leafPages: 0,
      overflowPages: 0,
      entries: 0,
    };
    must(
      (tree.root === null) === (tree.depth === 0) && tree.depth <= depthMax,
      `the head of ${name} is damaged`,
    );
    const { txn } = this.#snapshot;
    if (tree.root !== null)
      this.#visit(walk, tree.root, { level: 1, parentTxn: txn, lowerKey: null, upperKey: null });
    must(
      walk.branchPages === tree.branchPages && walk.leafPages === tree.leafPages,
      `the head of ${name} is damaged`,
    );
    if (isSkipped && tree.depth > 1) return;
    must(walk.overflowPages === tree.overflowPages, `the head of ${name} is damaged`);
    must(
      walk.entries === tree.entries,
      `${name} should have ${tree.entries} entries, and ${walk.entries} are there`,
    );
  }

  #visit(walk: Walk, pageNumber: number, place: Place): void {
    const isLeaf = place.level === walk.tree.depth;
    this.#meet(pageNumber, 1);
    if (isLeaf) walk.leafPages++;
    else walk.branchPages++;
    if (isLeaf && walk.isSkipped && place.level > 1) return;
    this.#pageBuffers[place.level] ??= Buffer.allocUnsafe(this.#pageBytes);
    const page = this.#pageBuffers[place.level]!;
    const txn = this.#readHead(page, pageNumber, isLeaf ? pageKinds.leaf : pageKinds.branch);
    // Each commit writes the root page of the main tree, so its number must be that of the latest
    // commit.
    const { main, isCopy } = this.#snapshot;
    const isLatest = walk.tree === main && place.level === 1 && !isCopy;
    must(isLatest ? txn === place.parentTxn : txn <= place.parentTxn, damagedPage(pageNumber));
    const nodes = readNodes(page, isLeaf);
    if (nodes === null) return fail(damagedPage(pageNumber));
    let lowerKey = place.lowerKey;
    for (const [index, node] of nodes.entries()) {
      const { key } = node;
      // The first node of a branch has no key of its own.
      if (isLeaf || index > 0) {
        const isAbove =
          lowerKey === null || walk.compare(key, lowerKey) > (isLeaf && index === 0 ? -1 : 0);
        const isBelow = place.upperKey === null || walk.compare(key, place.upperKey) < 0;
        must(
          isAbove && isBelow,
          `the entries of ${walk.name} are out of order in page ${pageNumber}`,
        );
        lowerKey = key;
      }
      if (isLeaf) {
        walk.entries++;
        walk.onNode(node.flags & ~nodeFlags.big, key, this.#valueOf(walk, node, txn));
      } else {
        const upperKey = nodes[index + 1]?.key ?? place.upperKey;
        this.#visit(walk, node.page, {
          level: place.level + 1,
          parentTxn: txn,
          lowerKey,
          upperKey,
        });
      }
    }
  }

  /** The value of a node; a long one has pages of its own. */
  #valueOf(walk: Walk, { flags, value, valueBytes }: PageNode, leafTxn: number): Buffer {
    if ((flags & nodeFlags.big) === 0) return value;
    const pageNumber = readCount(value, 0);
    const txn = readCount(value, 8);
    const pages = readCount(value, 16);
    must(pages * this.#pageBytes >= headBytes + valueBytes, damagedPage(pageNumber));
    this.#meet(pageNumber, pages);
    walk.overflowPages += pages;
    const bytes = Buffer.allocUnsafe(headBytes + valueBytes);
    // In LMDB's copies the page keeps the old commit's number; the node has a new one.
    this.#readHead(bytes, pageNumber, pageKinds.overflow);
    must(
      txn <= leafTxn && bytes.readUInt32LE(pageAt.overflowPages) === pages,
      damagedPage(pageNumber),
    );
    return bytes.subarray(headBytes);
  }

  /** Notes that pages are used or free; fails if a page appears twice. */
  #meet(first: number, pages: number): void {
    must(Number.isSafeInteger(first + pages), `there is no page ${first}`);
    for (let pageNumber = first; pageNumber < first + pages; pageNumber++) {
      must(
        pageNumber > 1 && pageNumber <= this.#snapshot.lastPage,
        `there is no page ${pageNumber}`,
      );
      const isBehind = pageNumber >= this.#filePages;
      must(
        isBehind ? !this.#metBehind.has(pageNumber) : this.#met[pageNumber] === 0,
        `page ${pageNumber} is used twice`,
      );
      if (isBehind) this.#metBehind.add(pageNumber);
      else this.#met[pageNumber] = 1;
      this.#metCount++;
    }
  }

  /** Reads a page and returns the number of the commit that wrote it. */
  #readHead(page: Buffer, pageNumber: number, kind: number): number {
    must(this.#readInto(page, pageNumber * this.#pageBytes) === page.length, "it was cut short");
    must(
      readCount(page, pageAt.number) === pageNumber && page.readUInt16LE(pageAt.kind) === kind,
      damagedPage(pageNumber),
    );
    return readCount(page, pageAt.txn);
  }

  #readInto(bytes: Buffer, at: number): number {
    return readSync(this.#descriptor, bytes, 0, bytes.length, at);
  }
}

/** A node of a page: an entry in a leaf, a reference to the page below in a branch. */
interface PageNode {
  readonly flags: number;
  readonly key: Buffer;
  /** For a long value, its place. */
  readonly value: Buffer;
  readonly valueBytes: number;
  readonly page: number;
}

/** Null if the nodes don't fill the page as its head says. */
function readNodes(page: Buffer, isLeaf: boolean): readonly PageNode[] | null {
  // Offsets in a page start at the end of its head.
  const body = page.subarray(headBytes);
  const lower = page.readUInt16LE(pageAt.lower);
  const upper = page.readUInt16LE(pageAt.upper);
  if (lower % 2 !== 0 || lower > upper || upper > body.length) return null;
  const nodes: PageNode[] = [];
  let left = body.length - upper;
  for (let pointer = 0; pointer < lower; pointer += 2) {
    const at = body.readUInt16LE(pointer);
    if (at < upper || at % 2 !== 0 || at + nodeHeadBytes > body.length) return null;
    const low = body.readUInt32LE(at);
    const flags = body.readUInt16LE(at + 4);
    const keyEnd = at + nodeHeadBytes + body.readUInt16LE(at + 6);
    const valueBytes = isLeaf ? low : 0;
    const end = keyEnd + (isLeaf && (flags & nodeFlags.big) !== 0 ? bigValueBytes : valueBytes);
    if (end > body.length) return null;
    nodes.push({
      flags,
      key: body.subarray(at + nodeHeadBytes, keyEnd),
      value: body.subarray(keyEnd, end),
      valueBytes,
      page: low + flags * 2 ** 32,
    });
    left -= end - at + ((end - at) % 2);
  }
  return left === 0 && nodes.length >= (isLeaf ? 1 : 2) ? nodes : null;
}

/** A list of free pages: its length, then pages, zeros, and runs (minus their length, a page). */
function* freePages(list: Buffer): Iterable<{ readonly first: number; readonly pages: number }> {
  const damaged = "the list of its free pages is damaged";
  must(list.length % 8 === 0 && list.length >= 8, damaged);
  const length = readCount(list, 0);
  must(8 * (length + 1) <= list.length, damaged);
  for (let n = 1; n <= length; n++) {
    const entry = list.readBigInt64LE(8 * n);
    if (entry > 0n) yield { first: readCount(list, 8 * n), pages: 1 };
    if (entry >= 0n) continue;
    must(++n <= length, damaged);
    yield { first: readCount(list, 8 * n), pages: Number(-entry) };
  }
}

/** The offsets of a snapshot's fields after the head of its page. */
const metaAt = { free: 24, main: 72, lastPage: 120, txn: 128, boot: 136 } as const;
const metaBytes = 144;
const lmdbDataVersion = 2;
/** The flags of the free tree; LMDB stores NOSUBDIR there. */
const freeFlags = { integerKeys: 8, unflushed: 0x1000, noSubdirectory: 0x4000 } as const;
const freeFlagsMask = freeFlags.integerKeys | freeFlags.unflushed | freeFlags.noSubdirectory;

function readTree(bytes: Buffer, at: number): Tree {
  const isEmpty = bytes.readBigInt64LE(at + 40) === -1n;
  return {
    pad: bytes.readUInt32LE(at),
    flags: bytes.readUInt16LE(at + 4),
    depth: bytes.readUInt16LE(at + 6),
    branchPages: readCount(bytes, at + 8),
    leafPages: readCount(bytes, at + 16),
    overflowPages: readCount(bytes, at + 24),
    entries: readCount(bytes, at + 32),
    root: isEmpty ? null : readCount(bytes, at + 40),
  };
}

function isSame(a: Snapshot, b: Snapshot): boolean {
  const pagesIn = ({ free, main, lastPage }: Snapshot): string =>
    JSON.stringify([{ ...free, flags: free.flags & ~freeFlags.unflushed }, main, lastPage]);
  return a.txn === 0 || pagesIn(a) === pagesIn(b);
}

/** A number of 64 bits. Numbers above 2^53 aren't exact, but exceed any count of a store. */
function readCount(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}

/** The part of the boot id that LMDB stores: the first group of digits. */
function bootOfLmdb(): bigint {
  return BigInt(`0x${hostBoot().split("-")[0]}`);
}

function compareBytes(a: Buffer, b: Buffer): number {
  return Buffer.compare(a, b);
}

function compareNumbers(a: Buffer, b: Buffer): number {
  return readCount(a, 0) - readCount(b, 0);
}

function damagedPage(pageNumber: number): string {
  return `its page ${pageNumber} is damaged`;
}

function must(isTrue: boolean, damage: string): asserts isTrue {
  if (!isTrue) fail(damage);
}

function fail(damage: string): never {
  throw new DamagedPagesError(damage);
}
