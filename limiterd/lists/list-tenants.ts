/**
 * Tenants for GET /admin/tenants (docs/reference/admin-api.md): the paths below another path, each
 * with facts from its limits, budgets, keys and kept requests, and with its usage. Reading changes
 * nothing. It works in slices, because a template may have a million children. Not here: which
 * paths become rows (`tenant-rows.ts`).
 */
import type { RequestItem } from "../../shared/api/request-item.js";
import { type TenantList, tenantSorts } from "../../shared/api/tenant-item.js";
import type { ReportHosts } from "../../shared/api/usage-report.js";
import { asQuery, bad, type Checked, good, isAbsent, show } from "../../shared/checked.js";
import { budgetPeriodLabel, isPerSession } from "../../shared/domain/budget.js";
import { parseUserPath } from "../../shared/domain/limit-key.js";
import { sumUsd } from "../../shared/domain/money.js";
import { periodLabel, type RuleDefinition } from "../../shared/domain/rule.js";
import { childOnPath, childPath, isPathWithin, parentPath } from "../../shared/domain/user-path.js";
import { Turns } from "../../shared/long-lists.js";
import type { NamedValues } from "../../shared/spread-map.js";
import { formatMillis } from "../../shared/time.js";
import { accountForecast } from "../budgets/account-forecast.js";
import type { Account } from "../budgets/budget-account.js";
import type { BudgetBook } from "../budgets/budget-book.js";
import type { ChildCounters, Counter } from "../counters/counter.js";
import { viewerAt } from "../rules/limits-above.js";
import { countersOf, type RuleCounters } from "../rules/rule-book.js";
import type { DaemonState } from "../state.js";
import { eachRecordIn, hostsOfRecords, summarizeUsage } from "../usage/reports/summarize-usage.js";
import { NamedSums } from "../usage/reports/usage-groups.js";
import { shownTo } from "../usage/request-book.js";
import { addRollup, emptyRollup, type Rollup } from "../usage/rollup.js";
import {
  childNameIn,
  childrenPrefix,
  dayOfKey,
  keysUnder,
  totalPrefix,
} from "../usage/rollup-keys.js";
import { parseSummaryWindow, spanOf, type UsageWindow } from "../usage/usage-query.js";
import { eachStored, eachUnstored } from "../usage/usage-reader.js";
import { parseLimit } from "./list-query.js";
import { secondsToFirst, usedRatio } from "./list-rules.js";
import { peekedBook, usageRatio } from "./spend/budget-money.js";
import { type Row, type RowOptions, Rows, tenantItem, type WorstLimit } from "./tenant-rows.js";

interface TenantQuery extends RowOptions {
  readonly window: UsageWindow;
}

const searchCharsMax = 200;

/** `{start_date, end_date}` or `{start, end?}`, with `{under?, search?, sort?, flat?, limit?}`. */
export function parseTenantQuery(body: unknown, nowMs: number): Checked<TenantQuery> {
  const ends = ["start_date", "end_date", "start", "end"];
  const fieldNames = ["under", "search", "sort", "flat", "limit", ...ends];
  const fields = asQuery(body, fieldNames);
  if (!fields.ok) return fields;
  const { search, sort, flat, limit } = fields.value;
  const path = parseUserPath(fields.value["under"] ?? "/", "under");
  if (!path.ok) return path;
  if (!isAbsent(search) && (typeof search !== "string" || search.length > searchCharsMax))
    return bad(`search must be a text of up to ${searchCharsMax} characters`, "search");
  const chosen = tenantSorts.find((candidate) => candidate === (sort ?? "used"));
  if (chosen === undefined)
    return bad(`sort must be one of ${tenantSorts.join(", ")}, not ${show(sort)}`, "sort");
  if (!isAbsent(flat) && String(flat) !== "true" && String(flat) !== "false")
    return bad(`flat must be true or false, not ${show(flat)}`, "flat");
  const size = parseLimit(limit);
  if (!size.ok) return size;
  const window = parseSummaryWindow({ ...fields.value, user_path: path.value }, nowMs);
  if (!window.ok) return window;
  const text = isAbsent(search) ? "" : search.toLowerCase();
  return good({
    window: window.value,
    under: path.value,
    search: text,
    sort: chosen,
    isFlat: text !== "" || String(flat) === "true",
    limit: size.value,
  });
}

/** Paths per turn of the event loop: few, because computing a ratio and a forecast takes time. */
const pathsPerTurn = 500;
/** The most names with usage that are looked up: each takes a query of the store. */
const usedNamesMax = 2_000;
/** Limits with shorter periods have no forecast: they are free again before anyone could act. */
const forecastSecondsMin = 3600;

/** Rejects with `StoreUnreadableError`. */
export function tenantsFor(
  state: DaemonState,
  query: TenantQuery,
  nowMs: number,
): Promise<TenantList> {
  const walked = state.book.childCount + accountCount(state);
  const key = JSON.stringify(query);
  return state.rankings.tenants.of({ key, walked }, () => listTenants(state, query, nowMs));
}

function accountCount({ budgets }: DaemonState): number {
  let count = 0;
  for (const { children } of budgets.budgets.values()) count += children.size;
  return count;
}

async function listTenants(
  state: DaemonState,
  query: TenantQuery,
  nowMs: number,
): Promise<TenantList> {
  const { window, limit, sort } = query;
  const rows = new Rows(query);
  if (sort === "spend") await addSpenders(state, rows, query, nowMs);
  await addFacts(state, rows, query, nowMs);
  // Paths that have only usage come last.
  if (!query.isFlat && (sort === "path" || rows.size <= limit))
    await addUsedNames(state, rows, window);
  if (rows.wasFull) {
    rows.keepFirst(limit + 1);
    await addFacts(state, rows, query, nowMs);
  }
  const tenants = rows.first(limit);
  const { sums, hosts } = await usageOfRows(state, tenants, window);
  return {
    under: window.userPath,
    start_date: window.fromDay,
    end_date: window.toDay,
    ...(window.span === undefined
      ? {}
      : { start: formatMillis(window.span.fromMs), end: formatMillis(window.span.beforeMs) }),
    tenants: tenants.map((row) => ({
      ...tenantItem(row, sums?.get(row.path) ?? null),
      has_children: row.hasChildren && !query.isFlat,
    })),
    more: rows.size > limit,
    ...(hosts === null ? {} : { hosts }),
    server_time: formatMillis(nowMs),
  };
}

async function addFacts(
  state: DaemonState,
  rows: Rows,
  { window }: TenantQuery,
  nowMs: number,
): Promise<void> {
  await addKeys(state, rows, nowMs);
  await addRequests(state, rows, spanOf(window));
  await addLimits(state, rows, nowMs);
}

async function addKeys(state: DaemonState, rows: Rows, nowMs: number): Promise<void> {
  const turns = new Turns(pathsPerTurn);
  // A copy: keys may be issued and deleted meanwhile.
  for (const { userPath, deactivatedAtMs, deletedAtMs, expiresAtMs } of [...state.keys.all()]) {
    if (turns.isOver()) await state.yieldToEventLoop();
    if (userPath === null || deletedAtMs !== null || deactivatedAtMs !== null) continue;
    if (expiresAtMs !== null && expiresAtMs <= nowMs) continue;
    const row = rows.of(userPath);
    if (row !== null) row.keys++;
  }
}

async function addRequests(
  state: DaemonState,
  rows: Rows,
  { fromMs, beforeMs }: ReturnType<typeof spanOf>,
): Promise<void> {
  const turns = new Turns(pathsPerTurn);
  for (const [, { userPath, atMs }] of state.refusals.newestFirst(null)) {
    if (turns.isOver()) await state.yieldToEventLoop();
    if (atMs < fromMs || atMs >= beforeMs) continue;
    const row = rows.of(userPath);
    if (row !== null) row.refused++;
  }
  for (const batch of state.requests.since(fromMs)) {
    for (const entry of batch) {
      const { atMs, report } = entry;
      if (atMs >= beforeMs || report.user_path === undefined || !isFailure(report.kind)) continue;
      const row = rows.of(report.user_path);
      if (row === null) continue;
      if (report.kind === "refused") {
        row.refusedInDetail++;
        continue;
      }
      row.failures++;
      if (row.lastError !== null) continue;
      // The error as its caller sees it.
      const { error_message, note } = shownTo(viewerAt(state, report.user_path), entry).report;
      row.lastError = {
        at: formatMillis(atMs),
        request_id: report.request_id,
        message: error_message ?? note ?? report.outcome,
      };
    }
    await state.yieldToEventLoop();
  }
}

function isFailure(kind: RequestItem["kind"]): boolean {
  return kind === "failed" || kind === "refused";
}

/** Adds how much of the rules and budgets of user paths is used. */
async function addLimits(state: DaemonState, rows: Rows, nowMs: number): Promise<void> {
  const { settings, budgets, yieldToEventLoop } = state;
  const turns = new Turns(pathsPerTurn);
  if (settings.rateLimitsEnabled)
    for (const counted of limitsOf(state, rows, nowMs)) {
      const ratio = usedRatio(counted.counters, nowMs);
      if (rows.wants(counted.path, ratio)) rows.note(worstOfLimit(counted, ratio, nowMs));
      if (turns.isOver()) await yieldToEventLoop();
    }
  if (!settings.budgetsEnabled) return;
  const peeked = peekedBook(budgets);
  for (const account of accountsOf(state, rows)) {
    const ratio = usageRatio(peeked, account, nowMs);
    if (rows.wants(account.subject, ratio))
      rows.note(worstOfBudget(budgets, account, ratio, nowMs));
    if (turns.isOver()) await yieldToEventLoop();
  }
}

function worstOfLimit(
  { path, counters, period, seconds }: CountedPath,
  ratio: number,
  nowMs: number,
): WorstLimit {
  const inSeconds =
    seconds < forecastSecondsMin || ratio === 0
      ? null
      : ratio >= 1
        ? 0
        : secondsToFirst([counters.counter, ...counters.parts], nowMs);
  return {
    kind: "limit",
    subject: path,
    period_label: period,
    used_ratio: ratio,
    exhaustsAtMs: inSeconds === null ? null : nowMs + inSeconds * 1000,
  };
}

function worstOfBudget(
  book: BudgetBook,
  account: Account,
  ratio: number,
  nowMs: number,
): WorstLimit {
  const { periodSeconds, rolling } = account.budget.definition;
  return {
    kind: "budget",
    subject: account.subject,
    period_label: budgetPeriodLabel(periodSeconds, rolling),
    used_ratio: ratio,
    exhaustsAtMs:
      ratio === 0
        ? null
        : ratio >= 1
          ? nowMs
          : (accountForecast(book, account, nowMs)?.exhaustsAtMs ?? null),
  };
}

interface CountedPath {
  readonly path: string;
  readonly counters: RuleCounters;
  readonly period: string;
  readonly seconds: number;
}

function* limitsOf({ book }: DaemonState, rows: Rows, nowMs: number): Generator<CountedPath> {
  for (const rule of book.rules.values()) {
    const { scope, subject, periodSeconds, perChild, mode } = rule.definition;
    if (scope !== "user_path" || mode === "shadow" || !rows.reaches(subject)) continue;
    if (onlyFindsLoops(rule.definition)) continue;
    const period = { period: periodLabel(periodSeconds), seconds: periodSeconds };
    if (perChild) {
      if (book.unread !== null) continue;
      const names = rows.childrenOf(subject);
      for (const child of childrenOf(rule.children, names))
        yield { ...period, path: child.subject, counters: countersOf(child) };
      for (const name of book.uncountedChildren(rule, nowMs))
        if (names === null || names.includes(name))
          yield {
            ...period,
            path: childPath(subject, name),
            counters: book.copyOfChild(rule, name, nowMs),
          };
    } else {
      const { own } = book.fresh(rule);
      if (own !== null) yield { ...period, path: subject, counters: countersOf(own) };
    }
  }
}

/** Such a rule caps nothing. */
function onlyFindsLoops({ loops, maxRequests, measureCaps }: RuleDefinition): boolean {
  return loops !== undefined && maxRequests === null && measureCaps === undefined;
}

function* accountsOf({ budgets }: DaemonState, rows: Rows): Generator<Account> {
  for (const budget of budgets.budgets.values()) {
    const { scope, subject } = budget.definition;
    if (scope !== "user_path" || !rows.reaches(subject)) continue;
    if (isPerSession(budget.definition)) continue;
    if (budget.own !== null) yield budget.own;
    else if (budget.loadSpend === null)
      yield* accountsIn(budget.children, rows.childrenOf(subject));
  }
}

/** `names`: those of the wanted children; null for all. */
function* childrenOf(children: ChildCounters, names: readonly string[] | null): Generator<Counter> {
  if (names === null) {
    const walk = children.walk();
    for (let place = walk.next(); place !== -1; place = walk.next()) yield children.copyAt(place);
  } else
    for (const name of names) {
      const child = children.copy(name);
      if (child !== undefined) yield child;
    }
}

function* accountsIn(
  children: NamedValues<Account>,
  names: readonly string[] | null,
): Generator<Account> {
  if (names === null) yield* children.values();
  else
    for (const name of names) {
      const account = children.get(name);
      if (account !== undefined) yield account;
    }
}

/**
 * Adds direct children that have usage; of the stored ones only the first `usedNamesMax` by name.
 */
async function addUsedNames(
  state: DaemonState,
  rows: Rows,
  { userPath }: UsageWindow,
): Promise<void> {
  if (!state.settings.usageEnabled) return;
  const prefix = childrenPrefix(userPath);
  await eachUnstored(state, state.usage.rollups, (key) => {
    if (key.startsWith(prefix)) rows.addNamed(childPath(userPath, childNameIn(key, prefix)));
  });
  const { from, before } = keysUnder(prefix);
  const turns = new Turns(100);
  let next = from;
  for (let count = 0; count < usedNamesMax; count++) {
    const [key] = state.store.keys("rollups", { from: next, before, limit: 1 });
    if (key === undefined) return;
    const name = childNameIn(String(key), prefix);
    rows.addNamed(childPath(userPath, name));
    next = keysUnder(`${prefix}${name}\n`).before;
    if (turns.isOver()) await state.yieldToEventLoop();
  }
}

/** The direct child of `parent` on the way to `path`; null if `path` isn't below `parent`. */
function childBelow(path: string, parent: string): string | null {
  const name = isPathWithin(path, parent) ? childOnPath(path, parent) : null;
  return name === null ? null : childPath(parent, name);
}

/** Adds the paths with the highest cost; in a flat list also those below each template. */
async function addSpenders(
  state: DaemonState,
  rows: Rows,
  { window, isFlat }: TenantQuery,
  nowMs: number,
): Promise<void> {
  if (!state.settings.usageEnabled) return;
  const parents = new Set([window.userPath]);
  if (isFlat) for (const path of templatesIn(state)) if (rows.reaches(path)) parents.add(path);
  const add = (path: string, cost: number): void => {
    // The sum of the rest has no path.
    const row = !path.startsWith("/") || (isFlat && parents.has(path)) ? null : rows.of(path);
    if (row !== null) row.spend = Math.max(row.spend, cost);
  };
  const first = [...parents].slice(0, templatesMax);
  if (window.span !== undefined) {
    const sums = first.map((parent) => [parent, new NamedSums()] as const);
    await eachRecordIn(state, window, ({ userPath }, sum) => {
      for (const [parent, named] of sums) {
        const child = childBelow(userPath, parent);
        if (child !== null) named.add(child, sum);
      }
    });
    for (const [, named] of sums)
      for (const [path, { totalCost }] of await named.groups(state)) add(path, sumUsd(totalCost));
    return;
  }
  for (const parent of first) {
    const { groups } = await summarizeUsage(
      state,
      { ...window, userPath: parent },
      { by: "path", step: null },
      nowMs,
    );
    // Leaves out the usage of the parent's own path.
    for (const { key, total_cost: cost } of groups) if (key !== parent) add(key, cost);
  }
}

/** The most templates whose children are compared by cost: each takes its own summary. */
const templatesMax = 20;

function templatesIn({ book, budgets }: DaemonState): ReadonlySet<string> {
  const paths = new Set<string>();
  for (const { definition } of [...budgets.budgets.values(), ...book.rules.values()])
    if (definition.perChild && definition.scope === "user_path") paths.add(definition.subject);
  return paths;
}

interface RowSums {
  /** By path; null if usage isn't tracked. */
  readonly sums: ReadonlyMap<string, Rollup> | null;
  /** The hosts of which these are the sums; null if hosts don't share their usage. */
  readonly hosts: ReportHosts | null;
}

/**
 * The usage of the rows, of all hosts that share their usage. Also notes which rows have children.
 */
async function usageOfRows(
  state: DaemonState,
  rows: readonly Row[],
  window: UsageWindow,
): Promise<RowSums> {
  if (!state.settings.usageEnabled) return { sums: null, hosts: null };
  const { otherHosts } = state.usage;
  await noteChildren(state, rows);
  if (window.span !== undefined)
    return {
      sums: await sumsOfRecords(state, rows, window),
      hosts: otherHosts === null ? null : hostsOfRecords,
    };
  if (otherHosts === null) return { sums: await sumsOfHost(state, rows, window), hosts: null };
  const { fromDay, toDay } = window;
  const { answer, hosts } = await otherHosts.withOtherHosts(async (open) => {
    const sums = await sumsOfHost(state, rows, window);
    for (const [userPath, total] of sums)
      await open?.read({ kind: "totals", userPath, fromDay, toDay }, (_, sum) =>
        addRollup(total, sum),
      );
    return sums;
  });
  return { sums: answer, hosts };
}

async function sumsOfHost(
  state: DaemonState,
  rows: readonly Row[],
  { fromDay, toDay }: UsageWindow,
): Promise<ReadonlyMap<string, Rollup>> {
  const sums = new Map(rows.map(({ path }) => [path, emptyRollup()]));
  const byPrefix = new Map(rows.map((row) => [totalPrefix(row.path), row]));
  const view = state.usage.rollups.open();
  try {
    const unstored = new Set<string>();
    await eachUnstored(state, view, (key, sum) => {
      if (!key.startsWith("t")) return;
      const day = dayOfKey(key);
      const row = byPrefix.get(key.slice(0, key.length - day.length));
      if (row === undefined || day < fromDay || day > toDay) return;
      unstored.add(key);
      addRollup(sums.get(row.path)!, sum);
    });
    for (const [prefix, { path }] of byPrefix)
      await eachStored(state, { prefix, days: { fromDay, toDay }, view }, (key, sum) => {
        if (!unstored.has(key)) addRollup(sums.get(path)!, sum);
      });
  } finally {
    view.close();
  }
  return sums;
}

/** The usage of the rows in a range with times, from this host's records. */
async function sumsOfRecords(
  state: DaemonState,
  rows: readonly Row[],
  window: UsageWindow,
): Promise<ReadonlyMap<string, Rollup>> {
  const sums = new Map(rows.map(({ path }) => [path, emptyRollup()]));
  await eachRecordIn(state, window, ({ userPath }, sum) => {
    for (let path = userPath; path !== "/"; path = parentPath(path)) {
      const total = sums.get(path);
      if (total !== undefined) addRollup(total, sum);
    }
  });
  return sums;
}

/** Notes which rows have usage below them, at any time. */
async function noteChildren(state: DaemonState, rows: readonly Row[]): Promise<void> {
  const parents = new Map(rows.map((row) => [childrenPrefix(row.path), row]));
  await eachUnstored(state, state.usage.rollups, (key) => {
    const parent = parents.get(key.slice(0, key.indexOf("\n", 2) + 1));
    if (parent !== undefined) parent.hasChildren = true;
  });
  for (const [prefix, row] of parents) {
    const [key] = state.store.keys("rollups", { ...keysUnder(prefix), limit: 1 });
    if (key !== undefined) row.hasChildren = true;
  }
}
