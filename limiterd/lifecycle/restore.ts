/**
 * Restores what the store holds: rules, windows, proxies, then the journal on top of the windows
 * that were written before it; and applies the configuration's rules
 * (docs/configuration.md).
 */

import type { ProviderTypes } from "../../shared/config/model-name.js";
import { type RuleDefinition, ruleId } from "../../shared/domain/rule.js";
import { append } from "../../shared/long-lists.js";
import type { HashKey } from "../counters/child-name.js";
import { splitWindowKey, windowFromStored } from "../counters/stored-window.js";
import { type JwtDenials, restoreDenials } from "../keys/jwt-denials.js";
import type { KeyRing } from "../keys/key-ring.js";
import { restoreKeys } from "../keys/stored-key.js";
import { createProxies, type Proxies, proxyFromStored } from "../proxies.js";
import { RuleBook } from "../rules/rule-book.js";
import { resetKey, ruleChange, ruleFromStored, ruleRemovals } from "../rules/stored-rule.js";
import {
  type Epochs,
  type LostNumbers,
  lostChange,
  lostFromStored,
  lostKey,
  nextLost,
  writtenKey,
} from "../store/epochs.js";
import { type Change, type Store, throwMalformed } from "../store/store.js";
import { replayJournal } from "./replay-journal.js";
import {
  epochChange,
  epochFromStored,
  epochStartKey,
  type HostUptime,
  nextEpochLsn,
  type StoredEpoch,
} from "./stored-epoch.js";

interface Restored {
  readonly book: RuleBook;
  readonly proxies: Proxies;
  readonly keys: KeyRing;
  readonly denials: JwtDenials;
  /** Proxies that were connected when the last daemon ended. */
  readonly expectedProxies: Set<string>;
  readonly epochs: Epochs;
  /** The batches of the journal that were applied, ascending. */
  readonly journaled: readonly number[];
  /**
   * Keys of windows that nothing counts any more; to be removed when there is time, for there may
   * be a million.
   */
  readonly staleWindows: readonly string[];
  /**
   * To be committed before anything else: this epoch's number, and what the configuration changes.
   */
  readonly changes: readonly Change[];
}

interface RestoreOptions {
  readonly hashKey: HashKey;
  /** The configured providers. */
  readonly providers: ProviderTypes;
  readonly nowMs: number;
  readonly uptime: HostUptime;
}

/** `configured` null leaves the stored rules as they are: limits are disabled, not deleted. */
export function restore(
  store: Store,
  configured: readonly RuleDefinition[] | null,
  { hashKey, providers, nowMs, uptime }: RestoreOptions,
): Restored {
  const book = new RuleBook(hashKey, providers);
  const stored = restoreEpochs(store);
  let { lastLsn } = stored;
  for (const { key, value } of store.entries("rules")) {
    const rule = ruleFromStored(value) ?? throwMalformed(store, "rules", key);
    book.restore({ ...rule, sinceLsn: Math.max(rule.sinceLsn, stored.resetLsn) }, nowMs);
    lastLsn = Math.max(lastLsn, rule.sinceLsn);
  }
  const staleWindows: string[] = [];
  let windowsLsn = 0;
  for (const { key, value } of store.entries("windows")) {
    const window = windowFromStored(value) ?? throwMalformed(store, "windows", key);
    windowsLsn = Math.max(windowsLsn, window.lsn);
    const { ruleId: id, child } = splitWindowKey(String(key));
    const rule = book.rules.get(id);
    // Its rule doesn't exist, has become or is no longer a template, or was created or reset
    // since.
    if (
      rule === undefined ||
      (rule.own !== null) !== (child === "") ||
      window.lsn <= rule.sinceLsn
    ) {
      staleWindows.push(String(key));
      continue;
    }
    if (rule.own === null) {
      rule.children.load(child, window, window.lsn);
      continue;
    }
    const { lsn, ...counts } = window;
    Object.assign(rule.own.window, counts);
    rule.own.restoredLsn = lsn;
  }
  // Only now can they be found: a million are put into their buckets faster together than one by
  // one.
  for (const rule of book.rules.values()) rule.children.loaded();
  const { proxies, expectedProxies } = restoreProxies(store);
  const journaled = replayJournal(store, book, proxies, nowMs);
  const writtenLsn = Math.max(stored.writtenLsn ?? windowsLsn, journaled.at(-1) ?? 0);
  lastLsn = Math.max(lastLsn, writtenLsn, windowsLsn);
  const startLsn = nextEpochLsn(lastLsn, stored.last, uptime);
  const lost = nextLost(stored.lost, stored.last, { writtenLsn, startLsn });
  const changes = [
    epochChange(startLsn, uptime),
    lostChange(lost),
    ...(configured === null ? [] : applyConfigured(book, configured, { nowMs, lsn: startLsn - 1 })),
  ];
  // Now, while no request waits: sorting 100,000 rules would delay the first list of them.
  book.sorted();
  return {
    book,
    proxies,
    keys: restoreKeys(store),
    denials: restoreDenials(store),
    expectedProxies,
    epochs: { startLsn, lost },
    journaled,
    staleWindows,
    changes,
  };
}

interface StoredEpochs {
  /** No number in the table is above it. */
  lastLsn: number;
  resetLsn: number;
  last: StoredEpoch | null;
  lost: readonly LostNumbers[];
  /** Null in a store to which no release has written it yet. */
  writtenLsn: number | null;
}

function restoreEpochs(store: Store): StoredEpochs {
  const stored: StoredEpochs = { lastLsn: 0, resetLsn: 0, last: null, lost: [], writtenLsn: null };
  for (const { key, value } of store.entries("epochs")) {
    if (key === lostKey) {
      stored.lost = lostFromStored(value) ?? throwMalformed(store, "epochs", key);
      continue;
    }
    const epoch = epochFromStored(value) ?? throwMalformed(store, "epochs", key);
    stored.lastLsn = Math.max(stored.lastLsn, epoch.lsn);
    if (key === resetKey) stored.resetLsn = epoch.lsn;
    if (key === epochStartKey) stored.last = epoch;
    if (key === writtenKey) stored.writtenLsn = epoch.lsn;
  }
  return stored;
}

function restoreProxies(store: Store): { proxies: Proxies; expectedProxies: Set<string> } {
  const proxies = createProxies();
  const expectedProxies = new Set<string>();
  for (const { key, value } of store.entries("proxies")) {
    const proxy = proxyFromStored(value) ?? throwMalformed(store, "proxies", key);
    proxies.restore(String(key), proxy);
    if (proxy.connected) expectedProxies.add(String(key));
  }
  return { proxies, expectedProxies };
}

/**
 * Config rules that are no longer declared are removed, declared ones are written as `config`, a
 * manual rule on the same key stays as it is.
 */
function applyConfigured(
  book: RuleBook,
  configured: readonly RuleDefinition[],
  at: { readonly nowMs: number; readonly lsn: number },
): Change[] {
  const changes: Change[] = [];
  const declared = new Set(configured.map(ruleId));
  for (const rule of [...book.rules.values()]) {
    if (rule.source !== "config" || declared.has(rule.id)) continue;
    book.delete(rule.definition);
    append(changes, ruleRemovals(rule.id));
  }
  for (const definition of configured) {
    const known = book.find(definition);
    if (known?.source === "manual") continue;
    if (
      known !== null &&
      JSON.stringify(known.definition) === JSON.stringify({ ...known.definition, ...definition })
    )
      continue;
    changes.push(ruleChange(book.put(definition, { source: "config", ...at })));
  }
  return changes;
}
