/**
 * One rule with its own counters that judges past requests. It uses the same functions as the
 * daemon's rules, so that a back-test can't differ from an admission. It writes nothing to the
 * store.
 */
import { assert } from "../../../shared/assert.js";
import type { ModelNamings } from "../../../shared/config/model-name.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { Breach } from "../../../shared/domain/verdict.js";
import type { HashKey } from "../../counters/child-name.js";
import type { Counter } from "../../counters/counter.js";
import { admit } from "../admit.js";
import { charge, type Use } from "../charge.js";
import { RuleBook } from "../rule-book.js";
import { freeSlots } from "../slots.js";

/** How names of children and models are resolved, as for the daemon's own rules. */
export interface RuleNames {
  readonly hashKey: HashKey;
  readonly providers: ModelNamings;
}

/** A request, as its record describes it. */
export interface PastRequest {
  readonly startMs: number;
  readonly endMs: number;
  readonly userPath: string;
  readonly target: Target;
  readonly tokens: number;
  readonly use?: Use;
  /**
   * `part`: a part of a request with a record of its own; it has tokens and isn't judged.
   * `submission`: for example a batch, which holds no slot and to which only the rules of its path
   * apply.
   */
  readonly kind: "request" | "submission" | "part";
}

interface ReplayedVerdict {
  /** Null: it is refused. */
  readonly counters: readonly Counter[] | null;
  /** Why it is refused, or why the rule is exhausted although it doesn't refuse; usually null. */
  readonly breach: Breach | null;
}

/** Children that are examined for each request, so that idle ones are removed. */
const sweptPerRequest = 4;

export class ReplayedRule {
  readonly #book: RuleBook;
  readonly #counting: Parameters<typeof admit>[0];

  readonly #tokensEnforced: boolean;

  /**
   * If `tokensEnforced` is false, it counts tokens and cost, but refuses nothing because of them.
   */
  constructor(
    definition: RuleDefinition,
    { hashKey, providers }: RuleNames,
    { nowMs, tokensEnforced }: { readonly nowMs: number; readonly tokensEnforced: boolean },
  ) {
    this.#tokensEnforced = tokensEnforced;
    const book = new RuleBook(hashKey, providers);
    book.put({ ...definition, mode: undefined }, { source: "manual", nowMs, lsn: 0 });
    this.#book = book;
    this.#counting = {
      matchPath: (path, atMs) => book.matchPath(path, atMs),
      matchTarget: (target, path, atMs) => book.matchTarget(target, path, atMs),
      shared: book.shared,
      // Counts don't go to the journal.
      count: (counter, atMs, requests, tokens) =>
        void book.addToWindow(counter, atMs, requests, tokens),
    };
  }

  /** Judges a request, and counts it from now on unless it is refused. */
  admit({ userPath, target, kind }: PastRequest, nowMs: number): ReplayedVerdict {
    const submission = kind === "submission";
    const verdict = admit(
      this.#counting,
      { userPath, targets: [target], submission },
      { nowMs, tokensEnforced: this.#tokensEnforced },
    );
    assert(verdict.kind !== "exceeded", "no budget is judged again");
    this.#book.forgetIdle(nowMs, sweptPerRequest);
    this.#book.reclaim();
    return verdict.kind === "admitted"
      ? { counters: verdict.counters, breach: verdict.exhausted[0] ?? null }
      : { counters: null, breach: verdict.breach };
  }

  /** Ends an admitted request: frees its slots and charges its tokens. */
  end(request: PastRequest, counters: readonly Counter[], nowMs: number): void {
    if (request.kind === "submission") return this.count(request, 0, nowMs);
    freeSlots(counters);
    const { endMs: atMs, tokens, use } = request;
    this.#charge(counters, { atMs, requests: 0, tokens, ...(use && { use }) }, nowMs);
    this.#book.reclaim();
  }

  /** Counts a request that isn't judged. */
  count(request: PastRequest, requests: number, nowMs: number): void {
    const { userPath, target, kind, startMs, endMs, tokens, use } = request;
    const counters = [
      ...(kind === "submission" ? [] : this.#book.matchTarget(target, userPath, nowMs)),
      ...this.#book.matchPath(userPath, nowMs),
    ];
    this.#charge(counters, { atMs: startMs, requests, tokens: 0 }, nowMs);
    this.#charge(counters, { atMs: endMs, requests: 0, tokens, ...(use && { use }) }, nowMs);
    this.#book.reclaim();
  }

  /** Whether the rule covers this target; for rules that count attempts at targets. */
  isOf(target: Target, userPath: string): boolean {
    return this.#book.copyTarget(target, userPath, 0).length > 0;
  }

  #charge(counters: readonly Counter[], amount: Parameters<typeof charge>[2], nowMs: number): void {
    charge(this.#counting, counters, amount, nowMs);
  }
}
