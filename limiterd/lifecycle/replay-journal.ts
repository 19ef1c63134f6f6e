/**
 * The journal, read again at a start: what its batches have counted is added to the windows that
 * were written before them, and each proxy's last settle is known again.
 */
import { type Counted, countedFromStored } from "../counters/counted-log.js";
import { type Counter, keepChild } from "../counters/counter.js";
import { rollWindow } from "../counters/window.js";
import type { Proxies } from "../proxies.js";
import type { RuleBook } from "../rules/rule-book.js";
import { batchFromStored } from "../store/journal-batch.js";
import { type Store, throwMalformed } from "../store/store.js";

/** Returns the numbers of the batches, ascending. */
export function replayJournal(
  store: Store,
  book: RuleBook,
  proxies: Proxies,
  nowMs: number,
): number[] {
  const batches: number[] = [];
  for (const { key, value } of store.entries("journal")) {
    const lsn = Number(key);
    batches.push(lsn);
    const batch = batchFromStored(value) ?? throwMalformed(store, "journal", key);
    for (const [proxyId, seq] of batch.settled) {
      const proxy = proxies.get(proxyId, nowMs);
      proxy.settledSeq = Math.max(proxy.settledSeq, seq);
      proxy.durableSeq = proxy.settledSeq;
      proxies.markDirty(proxy);
    }
    for (const counted of countedFromStored(batch.counted) ?? throwMalformed(store, "journal", key))
      countAgain(book, counted, lsn, nowMs);
    book.reclaim();
  }
  return batches;
}

/** Adds what a batch has counted to a window that doesn't hold it. */
function countAgain(book: RuleBook, counted: Counted, lsn: number, nowMs: number): void {
  const { period, requests, tokens } = counted;
  const counter = counterOf(book, counted, nowMs);
  if (counter === null || lsn <= Math.max(counter.restoredLsn, counter.rule.sinceLsn)) return;
  if (requests >= 0) keepChild(counter);
  const { periodMs } = counter.rule;
  rollWindow(counter.window, periodMs, nowMs);
  book.countAgain(counter, period * periodMs, requests, tokens);
}

/** Null when its rule doesn't exist any more, or has become or is no longer a template. */
function counterOf(book: RuleBook, { ruleId, child }: Counted, nowMs: number): Counter | null {
  const known = book.ruleSet.get(ruleId);
  if (known === undefined || (known.own !== null) !== (child === "")) return null;
  const rule = book.fresh(known);
  return rule.own ?? book.childOf(rule, child, nowMs);
}
