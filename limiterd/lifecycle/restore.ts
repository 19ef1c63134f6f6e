/**
 * Restores rules and proxies from the store, replays the journal onto the windows written before
 * it, and applies the configuration's rules (docs/reference/configuration.md). Windows are loaded
 * lazily, and so are rules on user paths if the configuration's rules haven't changed since the
 * last start; `load-unread.ts` loads the rest.
 */
import { isCount } from "../../shared/checked.js";
import type { ModelNamings } from "../../shared/config/model-name.js";
import type { RuleDefinition } from "../../shared/domain/rule.js";
import type { HashKey } from "../counters/child-name.js";
import { type BatchCount, countedFromStored } from "../counters/counted-log.js";
import { type Counter, keepChild } from "../counters/counter.js";
import { UnreadWindows } from "../counters/unread-windows.js";
import { rollWindow, type StoredWindow, windowFromStored } from "../counters/window.js";
import { type JwtDenials, restoreDenials } from "../keys/jwt-denials.js";
import type { KeyRing } from "../keys/key-ring.js";
import { restoreKeys } from "../keys/stored-key.js";
import { Proxies, proxyFromStored, verdictsFromStored } from "../peer.js";
import { RuleBook } from "../rules/rule-book.js";
import {
  type RulesNote,
  resetKey,
  rulesKey,
  rulesNoteChange,
  rulesNoteFromStored,
} from "../rules/stored-rule.js";
import {
  type Epochs,
  epochChange,
  epochFromStored,
  epochStartKey,
  type HostUptime,
  type LostNumbers,
  lostChange,
  lostFromStored,
  lostKey,
  nextEpochLsn,
  nextLost,
  type StoredEpoch,
  writtenKey,
} from "../store/epochs.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";
import { batchFromStored } from "../store/writer.js";
import { applyConfiguredRules, restoreRules } from "./restore-rules.js";

interface RestoredState {
  readonly book: RuleBook;
  readonly proxies: Proxies;
  readonly keys: KeyRing;
  readonly denials: JwtDenials;
  /** Proxies that were connected when the last daemon ended. */
  readonly expectedProxies: Set<string>;
  readonly epochs: Epochs;
  /** The configuration whose rules the store has, as in `RulesNote`. */
  readonly configured: string;
  /** The batches of the journal that were applied, ascending. */
  readonly journaled: readonly number[];
  /** Commit these changes first: this epoch's number, and the changes of the configuration. */
  readonly changes: readonly Change[];
}

interface RestoreOptions {
  /** The digest of the text of the configured rules. */
  readonly digest?: string;
  /** The secret key of the hash of children; only a daemon that serves requests needs one. */
  readonly hashKey?: HashKey;
  /** The configured providers. */
  readonly providers?: ModelNamings;
  readonly nowMs: number;
  readonly uptime: HostUptime;
}

/** `configured` null leaves the stored rules as they are: limits are disabled, not deleted. */
export function restore(
  store: Store,
  configured: readonly RuleDefinition[] | null,
  { digest = "", hashKey, providers, nowMs, uptime }: RestoreOptions,
): RestoredState {
  const book = new RuleBook(hashKey, providers);
  const stored = restoreEpochs(store);
  const { note } = stored;
  const isApplied = note !== null && (configured === null || note.configured === digest);
  const areKeysIds = restoreRules(store, book, {
    note: isApplied ? note : null,
    nowMs,
    resetLsn: stored.resetLsn,
  });
  let lastLsn = Math.max(stored.lastLsn, book.ruleSet.sinceLsn);
  book.unread = new UnreadWindows((key) => storedWindow(store, key));
  const { proxies, expectedProxies } = restoreProxies(store);
  const journaled = replayJournal(store, book, proxies, nowMs);
  const writtenLsn = Math.max(stored.writtenLsn, journaled.at(-1) ?? 0);
  lastLsn = Math.max(lastLsn, writtenLsn);
  const startLsn = nextEpochLsn(lastLsn, stored.last, uptime);
  const lost = nextLost(stored.lost, stored.last, { writtenLsn, startLsn });
  const changes = [
    epochChange(startLsn, uptime),
    lostChange(lost),
    ...(configured === null || isApplied
      ? []
      : applyConfiguredRules(book, configured, { nowMs, lsn: startLsn - 1 })),
  ];
  const applied = configured === null ? (note?.configured ?? "") : digest;
  // Without a digest, the next start reads and compares all rules.
  const storedDigest = areKeysIds ? applied : "";
  changes.push(rulesNoteChange(book.ruleSet, { startLsn, configured: storedDigest }));
  // Sorted now, while no request waits: sorting 100,000 rules would delay the first list.
  if (book.ruleSet.isRead) book.sorted();
  return {
    book,
    proxies,
    keys: restoreKeys(store),
    denials: restoreDenials(store),
    expectedProxies,
    epochs: { startLsn, lost },
    configured: storedDigest,
    journaled,
    changes,
  };
}

function storedWindow(store: Store, key: string): StoredWindow | null {
  const value = store.get("windows", key);
  if (value === undefined) return null;
  return windowFromStored(value) ?? throwMalformed(store, "windows", key);
}

interface StoredEpochs {
  /** No number in the table is above it. */
  lastLsn: number;
  resetLsn: number;
  last: StoredEpoch | null;
  lost: readonly LostNumbers[];
  /** Every batch up to this number is on the disk; 0 in a new store. */
  writtenLsn: number;
  /** Null unless the last epoch wrote it. */
  note: RulesNote | null;
}

function restoreEpochs(store: Store): StoredEpochs {
  const stored: StoredEpochs = {
    lastLsn: 0,
    resetLsn: 0,
    last: null,
    lost: [],
    writtenLsn: 0,
    note: null,
  };
  for (const { key, value } of store.entries("epochs")) {
    if (key === lostKey) {
      stored.lost = lostFromStored(value) ?? throwMalformed(store, "epochs", key);
      continue;
    }
    if (key === rulesKey) {
      stored.note = rulesNoteFromStored(value) ?? throwMalformed(store, "epochs", key);
      // The note may be from a rule that was deleted since.
      stored.lastLsn = Math.max(stored.lastLsn, stored.note.sinceLsn);
      continue;
    }
    const [lsn] = value;
    if (!isCount(lsn)) throwMalformed(store, "epochs", key);
    stored.lastLsn = Math.max(stored.lastLsn, lsn);
    if (key === resetKey) stored.resetLsn = lsn;
    if (key === writtenKey) stored.writtenLsn = lsn;
    if (key === epochStartKey)
      stored.last = epochFromStored(value) ?? throwMalformed(store, "epochs", key);
  }
  // Another release, which doesn't write the note, has run since and may have changed the rules.
  if (stored.note?.startLsn !== stored.last?.lsn) stored.note = null;
  return stored;
}

function restoreProxies(store: Store): { proxies: Proxies; expectedProxies: Set<string> } {
  const proxies = new Proxies();
  const expectedProxies = new Set<string>();
  for (const { key, value } of store.entries("proxies")) {
    const proxy = proxyFromStored(value) ?? throwMalformed(store, "proxies", key);
    proxies.restore(String(key), proxy);
    if (proxy.connected) expectedProxies.add(String(key));
  }
  for (const { key, value } of store.entries("unread")) {
    const verdicts = verdictsFromStored(value) ?? throwMalformed(store, "unread", key);
    const unread = proxies.all.get(String(key))?.unread;
    for (const verdict of verdicts) unread?.add(verdict);
  }
  return { proxies, expectedProxies };
}

/** Returns the numbers of the batches, ascending. */
function replayJournal(store: Store, book: RuleBook, proxies: Proxies, nowMs: number): number[] {
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

/** Adds a batch's counts to a window that doesn't include them. */
function countAgain(book: RuleBook, counted: BatchCount, lsn: number, nowMs: number): void {
  const { period, requests, tokens } = counted;
  const counter = counterOf(book, counted, nowMs);
  if (counter === null || lsn <= Math.max(counter.restoredLsn, counter.rule.sinceLsn)) return;
  if (requests >= 0) keepChild(counter);
  const { periodMs } = counter.rule;
  rollWindow(counter.window, periodMs, nowMs);
  book.addToWindow(counter, period * periodMs, requests, tokens);
}

/** Null if the rule doesn't exist any more, or has become or stopped being a template. */
function counterOf(book: RuleBook, { ruleId, child }: BatchCount, nowMs: number): Counter | null {
  const loadedRule = book.ruleSet.find(ruleId);
  if (loadedRule === undefined || (loadedRule.own !== null) !== (child === "")) return null;
  const rule = book.fresh(loadedRule);
  return rule.own ?? book.childOf(rule, child, nowMs);
}
