/**
 * Collects the rows of a list of tenants: which row a path belongs to, and which rows are kept if
 * not all fit in memory, because a template may have a million children. Pure. Not here: where the
 * facts of a row come from (`list-tenants.ts`).
 */
import type { TenantItem, TenantLimit, TenantSort } from "../../shared/api/tenant-item.js";
import { sumUsd } from "../../shared/domain/money.js";
import { childPath, isPathWithin } from "../../shared/domain/user-path.js";
import { formatSeconds } from "../../shared/time.js";
import type { Rollup } from "../usage/rollup.js";

/** Which paths have rows, and in which order. */
export interface RowOptions {
  /** The rows are below this path. */
  readonly under: string;
  /** Whether each path has its own row; else a row is a direct child with everything below it. */
  readonly isFlat: boolean;
  /** In lower case; empty: all. */
  readonly search: string;
  readonly sort: TenantSort;
  readonly limit: number;
}

/** What is known of a row before its usage is read. */
export interface Row {
  readonly path: string;
  hasChildren: boolean;
  spend: number;
  /** The limit or budget with the highest used ratio. */
  nearest: WorstLimit | null;
  /** The limit or budget that will be used up first. */
  runsOut: WorstLimit | null;
  keys: number;
  /**
   * The refusals among the last refusals, and among the kept details of requests. The greater
   * number is shown.
   */
  refused: number;
  refusedInDetail: number;
  failures: number;
  lastError: TenantItem["last_error"];
}

const noFacts = {
  nearest: null,
  runsOut: null,
  keys: 0,
  refused: 0,
  refusedInDetail: 0,
  failures: 0,
  lastError: null,
};

/** How much of a limit or budget is used, and when it will be used up. */
export interface WorstLimit extends Omit<TenantLimit, "exhausts_at"> {
  readonly exhaustsAtMs: number | null;
}

/** The most rows in memory: sorting them takes one or two milliseconds. */
const rowsMax = 2_000;

export class Rows {
  readonly #options: RowOptions;
  readonly #rows = new Map<string, Row>();
  #wasFull = false;
  #isClosed = false;
  /** The last row that was kept when the rows didn't fit. */
  #last: Row | null = null;

  constructor(options: RowOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#rows.size;
  }

  /**
   * Whether rows were dropped. A row that was dropped and then found again lacks its earlier facts.
   */
  get wasFull(): boolean {
    return this.#wasFull;
  }

  /** Whether paths below this one may be rows. */
  reaches(path: string): boolean {
    return isPathWithin(path, this.#options.under);
  }

  /** Whether a limit with this used ratio is wanted: its path has a row, or may get one for it. */
  wants(path: string, ratio: number): boolean {
    return this.#mayBeFirst(path, ratio) || this.#existing(path) !== null;
  }

  /**
   * The names of the direct children of a path whose limits are wanted; null if any child's may be.
   * After rows were dropped, the second walk over a million children needs only these few.
   */
  childrenOf(path: string): readonly string[] | null {
    const { under, isFlat } = this.#options;
    if (this.#takesMore) return null;
    if (!isFlat && path !== under) return this.#existing(path) === null ? [] : null;
    const start = childPath(path, "_").slice(0, -1);
    return [...this.#rows.keys()].flatMap((row) => {
      const name = row.startsWith(start) ? row.slice(start.length) : "";
      return name === "" || name.includes("/") ? [] : name;
    });
  }

  /**
   * The row that a path belongs to, made if needed. Null if the path isn't below the asked one or
   * isn't searched, or if no more rows are made.
   */
  of(path: string): Row | null {
    const own = this.#rowPathOf(path);
    if (own === null) return null;
    const row = this.#rows.get(own) ?? this.#added(own);
    if (row !== null && own !== path) row.hasChildren = true;
    return row;
  }

  /** Makes a row of a path of which nothing but its name is known, if it may be among the first. */
  addNamed(path: string): void {
    const own = this.#rowPathOf(path);
    if (own === null || this.#rows.has(own)) return;
    const compare = comparisons[this.#options.sort];
    if (
      this.#last !== null &&
      (compare(newRow(own), this.#last) || (own < this.#last.path ? -1 : 1)) > 0
    )
      return;
    this.of(path);
  }

  /** Notes a limit or budget. A path gets a row for it only if that may be among the first. */
  note(limit: WorstLimit): void {
    const { subject, used_ratio: ratio, exhaustsAtMs } = limit;
    const ends = exhaustsAtMs ?? Number.MAX_SAFE_INTEGER;
    const row = this.#mayBeFirst(subject, ratio, ends) ? this.of(subject) : this.#existing(subject);
    if (row === null) return;
    if (row.path !== subject) row.hasChildren = true;
    if (row.nearest === null || ratio > row.nearest.used_ratio) row.nearest = limit;
    if (exhaustsAtMs !== null && exhaustsAtMs < endMs(row)) row.runsOut = limit;
  }

  first(count: number): readonly Row[] {
    const compare = comparisons[this.#options.sort];
    return [...this.#rows.values()]
      .sort((a, b) => compare(a, b) || (a.path < b.path ? -1 : 1))
      .slice(0, count);
  }

  /** Keeps the first rows without their facts, which are to be found again. No row is added now. */
  keepFirst(count: number): void {
    this.#cut(count);
    this.#isClosed = true;
    for (const row of this.#rows.values()) Object.assign(row, noFacts);
  }

  /** Whether limits may still bring further rows. */
  get #takesMore(): boolean {
    return !this.#isClosed && (this.#last === null || bySubject.has(this.#options.sort));
  }

  /**
   * Of equally full paths only those are taken that come before the last row by name: a million
   * children may have sent one request each. `ends`: when the limit is used up, if that is known.
   */
  #mayBeFirst(path: string, ratio: number, ends?: number): boolean {
    if (!this.#takesMore) return false;
    const last = this.#last;
    if (last === null) return true;
    const { sort } = this.#options;
    if (sort === "path") return this.#isBefore(path, last);
    if (sort === "runs_out" && last.runsOut !== null)
      // It isn't calculated for an unused limit.
      return ends === undefined ? ratio > 0 : ends <= endMs(last);
    const least = last.nearest?.used_ratio ?? -1;
    return ratio > least || (ratio === least && (last.keys > 0 || this.#isBefore(path, last)));
  }

  #isBefore(path: string, { path: last }: Row): boolean {
    const rowPath = this.#rowPathOf(path);
    return rowPath !== null && rowPath < last;
  }

  #existing(path: string): Row | null {
    const rowPath = this.#rowPathOf(path);
    return rowPath === null ? null : (this.#rows.get(rowPath) ?? null);
  }

  #rowPathOf(path: string): string | null {
    const { under, isFlat, search } = this.#options;
    const start = under === "/" ? 1 : under.length + 1;
    if (path.length < start + 1 || !isPathWithin(path, under)) return null;
    const end = isFlat ? -1 : path.indexOf("/", start);
    const rowPath = end === -1 ? path : path.slice(0, end);
    return search === "" || rowPath.toLowerCase().includes(search) ? rowPath : null;
  }

  #added(path: string): Row | null {
    if (this.#isClosed) return null;
    if (this.#rows.size >= rowsMax) {
      this.#wasFull = true;
      this.#cut(this.#options.limit + 1);
    }
    const row = newRow(path);
    this.#rows.set(path, row);
    return row;
  }

  #cut(count: number): void {
    const rows = this.first(count);
    this.#last = rows.at(-1) ?? null;
    this.#rows.clear();
    for (const row of rows) this.#rows.set(row.path, row);
  }
}

function newRow(path: string): Row {
  return { path, hasChildren: false, spend: 0, ...noFacts };
}

/** The orders in which a path may come first because of its limits alone. */
const bySubject: ReadonlySet<TenantSort> = new Set(["used", "runs_out", "path"]);

const byRatio = (a: Row, b: Row): number =>
  (b.nearest?.used_ratio ?? -1) - (a.nearest?.used_ratio ?? -1);
const endMs = (row: Row): number => row.runsOut?.exhaustsAtMs ?? Number.MAX_SAFE_INTEGER;
const refusalsOf = (row: Row): number => Math.max(row.refused, row.refusedInDetail);
const errorAt = (row: Row): string => row.lastError?.at ?? "";

const comparisons: Readonly<Record<TenantSort, (a: Row, b: Row) => number>> = {
  used: (a, b) => byRatio(a, b) || b.keys - a.keys,
  runs_out: (a, b) => endMs(a) - endMs(b) || byRatio(a, b),
  spend: (a, b) => b.spend - a.spend || byRatio(a, b),
  refusals: (a, b) => refusalsOf(b) - refusalsOf(a) || byRatio(a, b),
  failures: (a, b) => b.failures - a.failures || byRatio(a, b),
  keys: (a, b) => b.keys - a.keys || byRatio(a, b),
  errors: (a, b) => (errorAt(a) === errorAt(b) ? byRatio(a, b) : errorAt(a) < errorAt(b) ? 1 : -1),
  path: () => 0,
};

/** A row as the API shows it. `sum`: its usage; null if usage isn't tracked. */
export function tenantItem(row: Row, sum: Rollup | null): Omit<TenantItem, "has_children"> {
  return {
    user_path: row.path,
    nearest: limitItem(row.nearest),
    runs_out: limitItem(row.runsOut),
    keys: row.keys,
    refusals: refusalsOf(row),
    failures: row.failures,
    last_error: row.lastError,
    usage:
      sum === null
        ? null
        : {
            requests: sum.requests,
            total_tokens: sum.inputTokens + sum.outputTokens,
            total_cost: sumUsd(sum.totalCost),
            unpriced_requests: sum.unpricedRequests,
          },
  };
}

function limitItem(worst: WorstLimit | null): TenantLimit | null {
  if (worst === null) return null;
  const { exhaustsAtMs, ...limit } = worst;
  return { ...limit, exhausts_at: exhaustsAtMs === null ? null : formatSeconds(exhaustsAtMs) };
}
