/**
 * Changes of windows outside an admission: a settle charges tokens to them. It counts a request
 * only if a crash has lost its count or there was no admission: requests are counted at the
 * admission, or at the reroute for the target that took over. Nothing is judged here. Not here:
 * slots (`slots.ts`).
 */

import { unreachable } from "../../shared/assert.js";
import { tokensPerResponseMax } from "../../shared/bounds.js";
import { isCount } from "../../shared/checked.js";
import { isPicoUsd } from "../../shared/domain/money.js";
import type { Target } from "../../shared/domain/target-name.js";
import { type TokenWeights, weighTokens } from "../../shared/domain/token-weights.js";
import { areCalls, type ToolCalls } from "../../shared/usage/tool-calls.js";
import type { Execution } from "../../shared/wire/execution.js";
import { isUnnumbered, uncountedLsn, unlimitedLsn } from "../../shared/wire/lsn.js";
import type { Lease, Settle } from "../../shared/wire/message-to-daemon.js";
import { type Counter, isOff, keepChild, type Rule, shareOf } from "../counters/counter.js";
import { rollWindow } from "../counters/window.js";
import type { HeldLease, KnownProxy, RecountedAttempt, RecountedLease } from "../peer.js";
import { type Epochs, isLost } from "../store/epochs.js";
import { weightedAmount, weightsOfRule } from "./hard-limits.js";
import {
  allCountersOf,
  isSameTarget,
  pathCountersOf,
  type RuleBook,
  targetCountersOf,
} from "./rule-book.js";

/** The fields of a record of which measures are made. */
export type RecordedUse = Pick<
  Execution,
  | "inputTokens"
  | "outputTokens"
  | "cachedInputTokens"
  | "cacheWriteInputTokens"
  | "totalCost"
  | "details"
  | "toolCalls"
>;

/** The details of what a response used, beside its number of tokens. */
export interface Use {
  /** If null or invalid, the tokens count both as input and as output, and have no cost. */
  readonly recorded: RecordedUse | null;
  /** For rules without weights of their own; null: each token counts as one. */
  readonly tokenWeights: TokenWeights | null;
  /**
   * Whether this is the most that may have been used, so that each token has the highest weight.
   */
  readonly isUpperBound?: boolean;
  /** Whether windows take this back instead of counting it. */
  readonly isWithdrawn?: boolean;
}

interface Charge {
  readonly atMs: number;
  /** −1 takes back what was counted. */
  readonly requests: number;
  /** Before any weights apply. */
  readonly tokens: number;
  readonly use?: Use;
  /** What was already charged for the same request: windows count only what exceeds it. */
  readonly charged?: Charged | undefined;
  /**
   * The batch of the journal that counted these requests before, if any. Then the counters that
   * hosts share already include them.
   */
  readonly lsn?: number;
  /** Without it, every counter is charged. */
  readonly appliesTo?: (counter: Counter) => boolean;
}

/** What was charged before. */
export interface Charged {
  readonly tokens: number;
  readonly use: Use;
}

/** Adds a charge to the window of its time, on each counter that it applies to. */
export function charge(
  book: Pick<RuleBook, "count">,
  counters: readonly Counter[],
  { atMs, requests, tokens: unweighted, use, charged, lsn, appliesTo }: Charge,
  nowMs: number,
): void {
  for (const counter of counters) {
    const { rule, window } = counter;
    const { periodMs, sharing } = rule;
    if (appliesTo !== undefined && !appliesTo(counter)) continue;
    // Gauges count no tokens, but children that share one take turns by what they use.
    if (periodMs === 0 && sharing === null) continue;
    if (isOff(rule, atMs)) continue;
    const amount = amountCounted(rule, unweighted, use);
    const tokens =
      charged === undefined
        ? amount
        : Math.max(0, amount - amountCounted(rule, charged.tokens, charged.use));
    if (requests === 0 && tokens === 0) continue;
    if (sharing !== null) {
      if (requests !== 0) sharing.addRequests(counter.child, requests);
      sharing.addUse(counter.child, tokens);
    }
    if (periodMs === 0) continue;
    // A child that isn't kept has no counts to take back.
    if (requests >= 0) keepChild(counter);
    rollWindow(window, periodMs, nowMs);
    // After a clock step back, a time ahead of the clock belongs to the current half.
    const chargedAtMs = atMs >= nowMs ? Math.max(atMs, window.startMs) : atMs;
    book.count(counter, chargedAtMs, requests, tokens);
    const share = shareOf(counter);
    if (share === null) continue;
    if (tokens > 0) share.charged(tokens);
    if (requests > 0 && lsn === undefined) share.counted(window);
    if (requests < 0 && lsn !== undefined) share.withdrawn(lsn);
  }
}

/** What the window of a rule, or of a part of one, counts. Absent `use`: only tokens are known. */
function amountCounted(rule: Rule, tokens: number, use?: Use): number {
  const amount = amountUsed(rule, tokens, use);
  return use?.isWithdrawn === true ? 0 - amount : amount;
}

function amountUsed(rule: Rule, tokens: number, use?: Use): number {
  const { measure, definition } = rule;
  const weights = definition.tokenWeights ?? use?.tokenWeights ?? null;
  if (measure === null && weights === null) return tokens;
  const uncheckedUse = use?.recorded ?? null;
  const recorded = uncheckedUse !== null && isValid(uncheckedUse) ? uncheckedUse : null;
  if (measure === "cost") return recorded?.totalCost ?? 0;
  if (measure === "tool_calls") return toolCallsOf(rule, recorded);
  if (recorded === null) return tokens;
  if (use?.isUpperBound === true) return mostCounted(rule, recorded, use.tokenWeights);
  if (weights === null)
    return measure === "input_tokens" ? recorded.inputTokens : recorded.outputTokens;
  const part = measure === null ? "all" : measure === "input_tokens" ? "input" : "output";
  const { inputTokens, cachedInputTokens, cacheWriteInputTokens, outputTokens } = recorded;
  const reasoningTokens = recorded.details?.counts.reasoningTokens ?? 0;
  // A spread takes V8 a microsecond.
  return weighTokens(weights, part, {
    inputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    outputTokens,
    reasoningTokens,
  });
}

/** The amount as hard caps count it while a request holds it. */
function mostCounted(
  rule: Rule,
  { inputTokens, outputTokens }: RecordedUse,
  tokenWeights: TokenWeights | null,
): number {
  return weightedAmount(
    weightsOfRule(rule, { rates: null }, tokenWeights),
    inputTokens,
    outputTokens,
  );
}

/** The calls of the rule's tools. */
function toolCallsOf(
  { tools }: Pick<Rule, "tools">,
  recorded: Pick<RecordedUse, "toolCalls"> | null,
): number {
  const calls = recorded?.toolCalls;
  return calls === undefined || tools === null ? 0 : tools.callsIn(calls);
}

/** A settle with an invalid record counts nevertheless (`shared/wire/execution.ts`). */
function isValid(recorded: RecordedUse): boolean {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens } = recorded;
  const { totalCost } = recorded;
  return (
    isTokens(inputTokens) &&
    isTokens(outputTokens) &&
    isCount(cachedInputTokens) &&
    isCount(cacheWriteInputTokens) &&
    cachedInputTokens + cacheWriteInputTokens <= inputTokens &&
    (totalCost === null || isPicoUsd(totalCost)) &&
    (recorded.toolCalls === undefined || areCalls(recorded.toolCalls))
  );
}

function isTokens(value: number): boolean {
  return isCount(value) && value <= tokensPerResponseMax;
}

/** The rules, and which log sequence numbers were lost. */
export interface Ledger {
  readonly book: RuleBook;
  readonly epochs: Epochs;
}

/**
 * Whether no window counts this request, because it had no admission (`lsn` 0) or a crash lost its
 * count. `recounted`: what was counted again for its lease since the crash.
 */
export function isRequestForgotten(
  epochs: Epochs,
  lsn: number,
  recounted?: RecountedLease,
): boolean {
  return lsn === 0 || (isLost(epochs, lsn) && recounted?.path !== true);
}

/** As `isRequestForgotten`, for an attempt at a target. */
export function isAttemptForgotten(
  epochs: Epochs,
  { target, lsn }: RecountedAttempt,
  recounted?: RecountedLease,
): boolean {
  const isRecounted = recounted?.attempts.some(
    (attempt) => attempt.lsn === lsn && isSameTarget(attempt.target, target),
  );
  return lsn === 0 || (isLost(epochs, lsn) && isRecounted !== true);
}

/**
 * Counts the request of a lease that a proxy reports, and its attempt at a target, if a crash has
 * lost their counts. Counts each once, however often the lease is reported. Returns whether
 * anything was counted.
 */
export function recountLease(
  { book, epochs }: Ledger,
  { recounted }: Pick<KnownProxy, "recounted">,
  {
    lease,
    pathCounters,
    targetCounters,
  }: {
    readonly lease: Lease;
    readonly pathCounters: readonly Counter[];
    readonly targetCounters: readonly Counter[];
  },
  nowMs: number,
): boolean {
  const { lsn, target, targetLsn } = lease;
  const before = recounted.get(lease.lease) ?? { path: false, attempts: [] };
  // A request without an admission is counted by its settle.
  const isRequestLost = lsn !== 0 && isRequestForgotten(epochs, lsn, before);
  const attempt = target === null || targetLsn === 0 ? null : { target, lsn: targetLsn };
  const isAttemptLost = attempt !== null && isAttemptForgotten(epochs, attempt, before);
  if (!isRequestLost && !isAttemptLost) return false;
  recounted.set(lease.lease, {
    path: before.path || isRequestLost,
    attempts: isAttemptLost ? [...before.attempts, attempt] : before.attempts,
  });
  if (isRequestLost)
    countSince(book, pathCounters, { lsn, atMs: lease.admittedAtMs, requests: 1 }, nowMs);
  if (isAttemptLost)
    countSince(
      book,
      targetCounters,
      { lsn: targetLsn, atMs: lease.targetAtMs, requests: 1 },
      nowMs,
    );
  return true;
}

/** Counts a request, or takes it back, on the rules that existed at its log sequence number. */
export function countSince(
  book: RuleBook,
  counters: readonly Counter[],
  counted: { readonly lsn: number; readonly atMs: number; readonly requests: 1 | -1 },
  nowMs: number,
): void {
  const { lsn, atMs, requests } = counted;
  const appliesTo = ({ rule }: Counter): boolean => lsn > rule.sinceLsn;
  const counts = { atMs: Math.min(atMs, nowMs), requests, tokens: 0, lsn, appliesTo };
  charge(book, counters, counts, nowMs);
}

/** Counts a settle that arrives for the first time. */
export function countSettle(
  ledger: Ledger,
  arrived: ArrivedSettle,
  facts: SettleFacts,
  nowMs: number,
): void {
  const { proxy, message } = arrived;
  const { lease, part } = message;
  switch (part) {
    case "cached":
      return chargeToolCalls(ledger.book, arrived, facts, nowMs);
    case "final":
      return;
    case "progress":
      return chargeTokens(ledger.book, arrived, facts, nowMs);
    case "untried":
      return withdrawAttempt(ledger, arrived, facts, nowMs);
    case "attempt":
      return countLostAttempt(ledger, arrived, facts, nowMs);
    case "withdrawn":
      withdrawRequest(ledger, arrived, facts, nowMs);
      break;
    case "request":
      countLostAttempt(ledger, arrived, facts, nowMs);
      countLostRequest(ledger, arrived, facts, nowMs);
      chargeTokens(ledger.book, arrived, facts, nowMs);
      break;
    default:
      return unreachable(part);
  }
  proxy.recounted.delete(lease);
}

/** Charges the tokens to the target that used them and to the user path. */
function chargeTokens(
  book: RuleBook,
  { message: { userPath, target }, held, charged }: ArrivedSettle,
  facts: SettleFacts,
  nowMs: number,
): void {
  const { endedAtMs, tokens } = facts;
  // A request without tokens may have a cost.
  if (tokens === 0 && facts.recorded === null) return;
  const isAtTarget = held !== undefined && isSameTarget(held.target, target);
  const calls = facts.recorded?.toolCalls;
  // A provider may run tools that the request didn't name, such as those of a stored prompt.
  const isKnown = calls === undefined || carriesAll(held?.target, calls);
  const counters =
    (isKnown ? countersOfLease(isAtTarget ? held : undefined, book) : null) ??
    allCountersOf(
      book,
      { userPath, target: withTools(target, calls), refusedBy: held?.refusedBy },
      nowMs,
    );
  charge(book, counters, { atMs: endedAtMs, requests: 0, tokens, use: facts, charged }, nowMs);
}

/**
 * Charges only the tool calls of a request that rules don't count, such as a web search that Sluice
 * makes itself.
 */
function chargeToolCalls(
  book: RuleBook,
  { message: { userPath, record } }: ArrivedSettle,
  facts: SettleFacts,
  nowMs: number,
): void {
  const calls = facts.recorded?.toolCalls;
  if (record === null || calls === undefined) return;
  const { provider, model } = record;
  const target = { provider, model, tools: Object.keys(calls) };
  const counters = targetCountersOf(book, { userPath, target }, nowMs).filter(
    ({ rule }) => rule.measure === "tool_calls",
  );
  charge(book, counters, { atMs: facts.endedAtMs, requests: 0, tokens: 0, use: facts }, nowMs);
}

/** Whether a request's target names all tools that were called. */
function carriesAll(target: Target | null | undefined, calls: ToolCalls): boolean {
  const tools = target?.tools;
  if (tools === undefined) return false;
  for (const name in calls) if (!tools.includes(name)) return false;
  return true;
}

/** The target with the tools that the request carries, and those that the provider called. */
export function withTools(target: Target | null, calls: ToolCalls | undefined): Target | null {
  if (target === null || calls === undefined) return target;
  return { ...target, tools: [...(target.tools ?? []), ...Object.keys(calls)] };
}

/** Takes back an attempt at a target to which no request was sent. */
function withdrawAttempt(
  { book, epochs }: Ledger,
  { message: { target, userPath }, held }: ArrivedSettle,
  { targetLsn, targetAtMs }: SettleFacts,
  nowMs: number,
): void {
  // If a crash has lost the count, it wasn't counted again either: no hello names such an attempt.
  if (isLost(epochs, targetLsn)) return;
  countSince(
    book,
    targetCountersOf(book, { userPath, target, refusedBy: held?.refusedBy }, nowMs),
    { lsn: targetLsn, atMs: targetAtMs, requests: -1 },
    nowMs,
  );
}

/** Takes back a request that wasn't sent to any target. */
function withdrawRequest(
  { book, epochs }: Ledger,
  { proxy, message: { lease, userPath, target }, held }: ArrivedSettle,
  { lsn, requestAtMs }: SettleFacts,
  nowMs: number,
): void {
  if (isRequestForgotten(epochs, lsn, proxy.recounted.get(lease))) return;
  const counters =
    countersOfLease(held, book) ??
    allCountersOf(book, { userPath, target, refusedBy: held?.refusedBy }, nowMs);
  countSince(book, counters, { lsn, atMs: requestAtMs, requests: -1 }, nowMs);
}

/**
 * Counts the attempt at a target if no window does: a crash has lost its count, or there was no
 * admission.
 */
function countLostAttempt(
  { book, epochs }: Ledger,
  { proxy, message: { lease, target, userPath }, held }: ArrivedSettle,
  { targetLsn: lsn, targetAtMs: atMs }: SettleFacts,
  nowMs: number,
): void {
  if (target === null) return;
  if (isAttemptForgotten(epochs, { target, lsn }, proxy.recounted.get(lease)))
    countUncounted(
      book,
      targetCountersOf(book, { userPath, target, refusedBy: held?.refusedBy }, nowMs),
      { lsn, atMs },
      nowMs,
    );
}

/** As `countLostAttempt`, for the request at its user path. */
function countLostRequest(
  { book, epochs }: Ledger,
  { proxy, message: { lease, userPath }, held }: ArrivedSettle,
  { lsn, requestAtMs: atMs }: SettleFacts,
  nowMs: number,
): void {
  if (isRequestForgotten(epochs, lsn, proxy.recounted.get(lease)))
    countUncounted(
      book,
      pathCountersOf(book, { userPath, target: null, refusedBy: held?.refusedBy }, nowMs),
      { lsn, atMs },
      nowMs,
    );
}

/**
 * The counters that a lease was matched with, unless the rules have changed since. A submission
 * holds no slot, so its children's counters may have been checked in and are matched again.
 */
export function countersOfLease(
  heldLease: HeldLease | undefined,
  book: RuleBook,
): readonly Counter[] | null {
  return heldLease !== undefined && !heldLease.submission && heldLease.bookVersion === book.version
    ? heldLease.counters
    : null;
}

/**
 * Counts a request or attempt that no window counts. If it has no log sequence number (0), every
 * current rule counts it.
 */
function countUncounted(
  book: RuleBook,
  counters: readonly Counter[],
  { lsn, atMs }: { readonly lsn: number; readonly atMs: number },
  nowMs: number,
): void {
  if (lsn === 0) charge(book, counters, { atMs, requests: 1, tokens: 0 }, nowMs);
  else countSince(book, counters, { lsn, atMs, requests: 1 }, nowMs);
}

/** A settle, the proxy that sent it, and the lease that it ends, as it was before the settle. */
interface ArrivedSettle {
  readonly proxy: KnownProxy;
  readonly message: Settle;
  /** Undefined when the connection holds no such lease. */
  readonly held: HeldLease | undefined;
  /** As in `Charge`: the estimate that the settle replaces. */
  readonly charged?: Charged | undefined;
}

interface SettleFacts extends Use {
  /**
   * The admission's log sequence number; 0 if there was no admission, so that this settle counts
   * the request.
   */
  readonly lsn: number;
  readonly requestAtMs: number;
  /** As `lsn`, for the attempt at this target. */
  readonly targetLsn: number;
  readonly targetAtMs: number;
  readonly endedAtMs: number;
  /** Before any weights apply. */
  readonly tokens: number;
}

interface SettleFactsOptions {
  readonly settings: Pick<Use, "tokenWeights"> & {
    readonly rateLimitsEnabled: boolean;
    readonly usageEnabled: boolean;
  };
  readonly book: Pick<RuleBook, "sinceMs">;
}

/** The facts of a settle, in the daemon's time. While rate limits are off, no window counts it. */
export function settleFacts(
  { settings, book }: SettleFactsOptions,
  { message }: ArrivedSettle,
  nowMs: number,
): SettleFacts {
  const { rateLimitsEnabled, usageEnabled, tokenWeights } = settings;
  const isCharged = rateLimitsEnabled && usageEnabled;
  const startedAtMs = Math.max(0, nowMs - message.startedAgoMs);
  const targetStartedAtMs =
    message.targetStartedAgoMs === undefined
      ? startedAtMs
      : Math.max(0, nowMs - message.targetStartedAgoMs);
  // No rule counts a request that began before all rules. A request that began later was sent by a
  // proxy that didn't know the rules yet, so they count it. After a clock step to before the rules,
  // the two can't be distinguished, so the request is counted.
  const unlimited = startedAtMs < book.sinceMs && book.sinceMs <= nowMs ? uncountedLsn : 0;
  const requestLsn = message.lsn === unlimitedLsn ? unlimited : message.lsn;
  const targetLsn = message.targetLsn === unlimitedLsn ? unlimited : message.targetLsn;
  return {
    lsn: rateLimitsEnabled ? requestLsn : uncountedLsn,
    requestAtMs: isUnnumbered(message.lsn) ? startedAtMs : message.admittedAtMs,
    targetLsn: rateLimitsEnabled ? targetLsn : uncountedLsn,
    targetAtMs: isUnnumbered(message.targetLsn) ? targetStartedAtMs : message.targetAtMs,
    endedAtMs: Math.max(0, nowMs - message.endedAgoMs),
    // More tokens are a bug of the proxy. They are cut instead of refused, because the proxy would
    // send the settle again.
    tokens: isCharged ? Math.min(message.tokens, 2 * tokensPerResponseMax) : 0,
    recorded: isCharged ? message.record : null,
    tokenWeights,
  };
}
