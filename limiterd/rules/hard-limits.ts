/**
 * Hard caps (`docs/hard-caps.md`): what a request may use of them, and what it holds while it runs.
 * A cap counts what was used and what running requests hold. A request holds the most that its
 * prompt can be, and the output that it is allowed so far; its settle replaces that by what it
 * used. Pure.
 */

import { outputChunkTokensMax, outputChunkTokensMin } from "../../shared/bounds.js";
import { waitSecondsMax } from "../../shared/config/kinds/list-kinds.js";
import { isLenient } from "../../shared/domain/on-exhausted.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { TokenWeights } from "../../shared/domain/token-weights.js";
import type { Metered, Rates } from "../../shared/wire/message-to-daemon.js";
import type { Account, Budget } from "../budgets/budget-account.js";
import { type Counter, capsOf, countsOf, isOff, type Rule, shareOf } from "../counters/counter.js";
import { Held } from "../counters/held.js";
import { type ClaimNeeds, rollWindow, slidingTokens } from "../counters/window.js";
import { roomOfShare, type SharedCounter, sharerOf } from "./judge-share.js";
import type { LearnedPrompts } from "./learned-prompts.js";

/** What a request may use at each of its targets. */
export interface Demands extends Metered {
  /** The tokens that its prompt probably has, for each target. */
  readonly likelyPrompts: readonly number[];
}

/** What a request may use at one target. */
export interface Demand extends Omit<Metered, "rates"> {
  /** The tokens that its prompt probably has: what counts of it if it is alone on a cap. */
  readonly likelyPrompt: number;
  /** Null if the target has no price. */
  readonly rates: Rates | null;
}

/** `targets`: those that the message names. */
export function demandsOf(
  metered: Metered,
  targets: readonly Target[],
  learned: LearnedPrompts,
): Demands {
  const likelyPrompts = targets.map((target) => learned.likely(target, metered.promptTokens));
  return { ...metered, likelyPrompts };
}

export function demandAt({ rates, likelyPrompts, ...metered }: Demands, target: number): Demand {
  const { promptTokens } = metered;
  const likelyPrompt = likelyPrompts[target] ?? promptTokens;
  return { ...metered, likelyPrompt, rates: rates[target] ?? null };
}

/**
 * A request is refused if less output than this is left for it; on a small cap see `usefulDivisor`.
 */
const usefulOutputMax = 64;
/** On a small cap, one part in 256 of it is enough output for a request. */
const usefulDivisor = 256;
/**
 * A stream holds more output than it is granted, for what its provider sends while the stream waits
 * or is cancelled: one part in 8 of its own maximum, but no more than the least chunk, 8 tokens.
 */
const inTransitDivisor = 8;
/** On a small cap, it holds at most one part in 1024 of the cap. */
const inTransitCapDivisor = 1024;
/** The output that a stream may use at first. */
const firstOutput = 256;
/** A draw adds at most one part in 50 of what is left. */
const chunkDivisor = 50;
/** The output that a request wants if it isn't streamed and names no maximum. */
const unstreamedOutputWanted = 32_768;
/**
 * A request that isn't streamed can't draw: its output is granted at once. A request that is alone
 * on a cap gets up to half of what is left, so that one more fits beside it.
 */
const unstreamedAloneDivisor = 2;
/** A request beside others gets up to one part in 32 of what is left, so that many fit. */
const unstreamedSharedDivisor = 32;
/** Either gets at least this much output if that much is left. */
const unstreamedOutputMin = 4096;

/**
 * What one token of a prompt or an output counts as, in thousandths of a token or in pico-dollars.
 */
interface Weights {
  readonly prompt: number;
  readonly output: number;
  /** How many of these make one unit of the cap: 1000 for tokens, 1 for pico-dollars. */
  readonly parts: 1 | 1000;
}

const freeWeights: Weights = { prompt: 0, output: 0, parts: 1 };

/** A hard cap that counts a request, with the weights and the room that apply to it. */
export interface HardLimit {
  readonly held: Held;
  readonly child: string;
  readonly weights: Weights;
  readonly cap: number;
  /** The cap less what was used; below 0 if more was. */
  readonly left: number;
  /** The part of `left` that this host may use; all of it, unless hosts share the cap. */
  readonly claimed: number;
  /** The rule's counter or the budget's account. */
  readonly source: Counter | Account;
  /**
   * Present if this is a child's share of a cap: the limit of the whole cap, and the child's name.
   */
  readonly share?: { readonly within: HardLimit; readonly name: string };
}

export function isHardCap({
  definition,
  measure,
  wouldRefuse,
}: Pick<Rule, "definition" | "measure" | "wouldRefuse">): boolean {
  if (definition.hold === undefined || wouldRefuse !== null) return false;
  return measure !== "tool_calls" && definition.maxTokens !== null;
}

/** The weights of the dearest kinds of tokens. */
export function weightsOfRule(
  { definition, measure }: Pick<Rule, "definition" | "measure">,
  { rates }: Pick<Demand, "rates">,
  tokenWeights: TokenWeights | null,
): Weights {
  if (measure === "cost") return weightsOfCost(rates);
  const weights = definition.tokenWeights ?? tokenWeights ?? {};
  const { input = 1, cached = input, cache_write: written = input } = weights;
  const { output = 1, reasoning = output } = weights;
  return {
    prompt: measure === "output_tokens" ? 0 : Math.round(1000 * Math.max(input, cached, written)),
    output: measure === "input_tokens" ? 0 : Math.round(1000 * Math.max(output, reasoning)),
    parts: 1000,
  };
}

export function weightsOfCost(rates: Demand["rates"]): Weights {
  return rates === null ? freeWeights : { prompt: rates.input, output: rates.output, parts: 1 };
}

/** The amount that the tokens of a prompt and an output count as. */
export function weightedAmount(
  { prompt, output, parts }: Weights,
  promptTokens: number,
  out: number,
): number {
  const amount = Math.ceil((prompt * promptTokens + output * out) / parts);
  return Math.min(amount, Number.MAX_SAFE_INTEGER);
}

/** The amount that `output` more tokens count as. */
export function outputAmount({ weights }: HardLimit, output: number): number {
  return weightedAmount(weights, 0, output);
}

/**
 * The tokens that a prompt counts as: those that it probably has, not their bound, if no other
 * request holds anything of the cap. So what only one prompt has beyond them exceeds the cap.
 */
function countedPrompt({ promptTokens, likelyPrompt }: Demand, heldByOthers: number): number {
  return heldByOthers === 0 ? likelyPrompt : promptTokens;
}

/**
 * The least room in a cap with which a request is admitted: 1 if it has no demand. `held`: what
 * running requests hold.
 */
export function needOf(
  limit: Pick<HardLimit, "weights" | "cap">,
  demand: Demand | undefined,
  held: number,
): number {
  if (demand === undefined) return 1;
  const output = leastOutput(limit, demand);
  return Math.max(1, weightedAmount(limit.weights, countedPrompt(demand, held), output));
}

/**
 * The least `waitSeconds` of a request that needs more than the whole cap: longer than any request
 * waits for room, since others would wait behind it.
 */
export const neverFitsSeconds = waitSecondsMax + 1;

/** The output for which the whole cap has room. */
function outputOfCap({ weights, cap }: Pick<HardLimit, "weights" | "cap">): number {
  return (cap * weights.parts) / Math.max(1, weights.output);
}

/** The least output that is worth the request. */
function leastOutput(limit: Pick<HardLimit, "weights" | "cap">, { outputMax }: Demand): number {
  const part = Math.max(1, Math.floor(outputOfCap(limit) / usefulDivisor));
  return Math.min(outputMax ?? usefulOutputMax, usefulOutputMax, part);
}

/** The output that a stream holds beyond its grant; see `inTransitDivisor`. */
function inTransit(limit: HardLimit, { isStreamed, outputMax }: Demand): number {
  if (!isStreamed) return 0;
  const ofMax =
    outputMax === null ? outputChunkTokensMin : Math.floor(outputMax / inTransitDivisor);
  const ofCap = Math.floor(outputOfCap(limit) / inTransitCapDivisor);
  return Math.min(outputChunkTokensMin, ofMax, ofCap);
}

/** The hard caps among these counters. Rolls their windows to now. */
export function hardRules(
  counters: readonly Counter[],
  demand: Demand,
  {
    nowMs,
    tokenWeights,
    uses,
  }: {
    readonly nowMs: number;
    readonly tokenWeights: TokenWeights | null;
    readonly uses: readonly string[] | undefined;
  },
): HardLimit[] {
  return counters.flatMap((counter, i) => {
    const { rule, child } = counter;
    if (!isHardCap(rule) || isOff(rule, nowMs) || isLenient(rule.definition, uses)) return [];
    const weights = weightsOfRule(rule, demand, tokenWeights);
    if (weights.prompt === 0 && weights.output === 0) return [];
    rollWindow(counter.window, rule.periodMs, nowMs);
    const { window, nowMs: atMs } = countsOf(counter, nowMs);
    const cap = capsOf(counter, nowMs).maxTokens!;
    const left = cap - slidingTokens(window, rule.periodMs, atMs);
    const claimed = shareOf(counter)?.leftOfClaim(counter.window, nowMs) ?? left;
    const limit = { held: heldOrNew(rule), child, weights, cap, left, claimed, source: counter };
    const next = counters[i + 1];
    return rule.tenants === null || next?.rule !== rule.tenants
      ? limit
      : [limit, limitOfShare(limit, { counter, childCounter: next }, nowMs)];
  });
}

/** The share of the request's child in a hard cap. */
function limitOfShare(within: HardLimit, shared: SharedCounter, nowMs: number): HardLimit {
  const { rule, child } = shared.childCounter;
  const held = heldOrNew(rule);
  const left = held.of(child) + Math.floor(roomOfShare(shared, within.cap, nowMs));
  const share = { within, name: sharerOf(shared) };
  return { ...within, held, child, left, claimed: left, share };
}

/** What other running requests hold of the whole cap. */
export function heldByOthers({ share, held, child }: HardLimit): number {
  return share === undefined ? held.of(child) : heldByOthers(share.within);
}

/** What requests hold of a rule or a budget; made if nothing was held before. */
export function heldOrNew(limit: Rule | Budget): Held {
  limit.held ??= new Held();
  return limit.held;
}

/** What one running request holds of one cap. */
interface Holding {
  readonly held: Held;
  readonly child: string;
  readonly amount: number;
}

/** What one running request holds. */
export interface LeaseHold {
  readonly demand: Demand;
  /** The bound of its prompt, before its provider has counted it; 0 if that is unknown. */
  readonly promptTokensMax: number;
  /** Empty without a managed key. */
  readonly keyId: string;
  /** As in `Admit`. */
  readonly session?: string | undefined;
  readonly uses: readonly string[] | undefined;
  /** The tokens of output that it may use so far, those of all its attempts. */
  readonly output: number;
  /** What settles have already charged: the request no longer holds it. */
  readonly charged: Charged;
  /** The output that it holds beyond `output`, for what is in transit; see `inTransitDivisor`. */
  readonly inTransit: number;
  readonly holdings: readonly Holding[];
}

interface Charged {
  /** The output of its earlier attempts. */
  readonly before: number;
  /** What was charged for the running attempt: tokens of its prompt, and of its output. */
  readonly prompt: number;
  readonly output: number;
}

export const nothingCharged: Charged = { before: 0, prompt: 0, output: 0 };

/** What a request was charged, once all that it held was charged, too. */
export function chargedAll(hold: Omit<LeaseHold, "holdings">): Charged {
  const { promptTokens, output } = tokensHeld(hold);
  const { before, ...charged } = hold.charged;
  return { before, prompt: charged.prompt + promptTokens, output: charged.output + output };
}

/** The demand less the part of the prompt that was charged. */
function withoutCharged(demand: Demand, { prompt }: Charged): Demand {
  if (prompt === 0) return demand;
  const less = (tokens: number): number => Math.max(0, tokens - prompt);
  const { promptTokens, likelyPrompt } = demand;
  return { ...demand, promptTokens: less(promptTokens), likelyPrompt: less(likelyPrompt) };
}

/** Gives back what a request holds. */
export function giveBack({ holdings }: LeaseHold): void {
  for (const { held, child, amount } of holdings) held.remove(child, amount);
}

/** The tokens that a request holds: its prompt, and the output that it may use. */
export function tokensHeld({
  demand,
  charged,
  output,
  inTransit: sent,
}: Omit<LeaseHold, "holdings">): {
  readonly promptTokens: number;
  readonly output: number;
} {
  return {
    promptTokens: withoutCharged(demand, charged).promptTokens,
    output: Math.max(0, output - charged.before - charged.output) + sent,
  };
}

/** Makes a request hold its prompt and output on every cap. */
export function holdOn(
  limits: readonly HardLimit[],
  hold: Omit<LeaseHold, "inTransit" | "holdings">,
): LeaseHold {
  const { promptTokens, output } = tokensHeld({ ...hold, inTransit: 0 });
  let most = 0;
  const holdings = limits.map((limit): Holding => {
    const { held, child, weights } = limit;
    most = Math.max(most, inTransit(limit, hold.demand));
    const amount = weightedAmount(weights, promptTokens, output + inTransit(limit, hold.demand));
    held.add(child, amount);
    return { held, child, amount };
  });
  return { ...hold, inTransit: most, holdings };
}

/** The output that fits into `left` of a cap. The request must hold nothing of the cap. */
function outputRoom(limit: HardLimit, left: number, demand: Demand): number {
  const { held, child, weights } = limit;
  const prompt = weights.prompt * countedPrompt(demand, heldByOthers(limit));
  const room = (left - held.of(child)) * weights.parts - prompt;
  if (weights.output === 0) return room >= 0 ? Number.POSITIVE_INFINITY : 0;
  return Math.max(0, Math.floor(room / weights.output) - inTransit(limit, demand));
}

interface Allowance {
  /** The output that a request may use in total. */
  readonly output: number;
  /** The cap that allows nothing more; null if the request gets more, or wants no more. */
  readonly cap: HardLimit | null;
  /** The cap with the least room. */
  readonly tightest: HardLimit | null;
}

/**
 * The output that a request may use in total if it wants `wanted` in total; never less than it was
 * allowed before. It must hold nothing of these caps.
 */
export function allowOutput(
  limits: readonly HardLimit[],
  { demand, charged, output: before }: Pick<LeaseHold, "demand" | "charged" | "output">,
  wanted: number,
): Allowance {
  const { outputMax, isStreamed } = demand;
  const most = outputMax === null ? wanted : Math.min(wanted, charged.before + outputMax);
  let output = most;
  let least = Number.POSITIVE_INFINITY;
  let cap: HardLimit | null = null;
  const used = charged.before + charged.output;
  const rest = withoutCharged(demand, charged);
  for (const limit of limits) {
    const { left, claimed } = limit;
    const isAlone = heldByOthers(limit) === 0;
    const room = used + outputRoom(limit, Math.min(left, claimed), rest);
    // The size of a chunk depends on what all hosts leave, not on what this host has claimed: hosts
    // claim whole chunks, so a fraction of the claim would leave most of it unused.
    const roomOfAll = claimed < left ? used + outputRoom(limit, left, rest) : room;
    output = Math.min(
      output,
      room,
      isStreamed ? streamOutput(roomOfAll, before) : unstreamedOutput(roomOfAll, isAlone),
    );
    if (room < least) {
      least = room;
      cap = limit;
    }
  }
  const isOver = output <= before && most > before;
  return { output: Math.max(before, output), cap: isOver ? cap : null, tightest: cap };
}

/** The limits as if this host might use all that is left. */
export function unclaimedLimits(limits: readonly HardLimit[]): readonly HardLimit[] {
  return limits.map((limit) => ({ ...limit, claimed: limit.left }));
}

/** What a new request needs and wants of a cap that hosts share. */
export function claimNeeds(limit: HardLimit, demand: Demand): ClaimNeeds {
  const { weights } = limit;
  const held = limit.held.of(limit.child);
  const need = needOf(limit, demand, held);
  const start = { demand, charged: nothingCharged, output: 0 };
  const { output } = allowOutput(unclaimedLimits([limit]), start, wantedAtFirst(demand));
  const most = output + inTransit(limit, demand);
  return { held, need, want: Math.max(need, weightedAmount(weights, demand.promptTokens, most)) };
}

/** The total output of a stream after one more chunk. `before`: its total so far. */
function streamOutput(room: number, before: number): number {
  const part = Math.floor(Math.max(0, room - before) / chunkDivisor);
  return before + Math.min(outputChunkTokensMax, Math.max(outputChunkTokensMin, part));
}

/** The output of a request that isn't streamed. */
function unstreamedOutput(room: number, isAlone: boolean): number {
  return Math.max(
    Math.floor(room / (isAlone ? unstreamedAloneDivisor : unstreamedSharedDivisor)),
    unstreamedOutputMin,
  );
}

/** The hold of a request after a failed attempt: its facts stay, but it holds nothing. */
export function withoutTarget(hold: LeaseHold | null): LeaseHold | null {
  if (hold === null) return null;
  const before = hold.charged.before + hold.charged.output;
  return {
    ...hold,
    output: before,
    charged: { ...nothingCharged, before },
    inTransit: 0,
    holdings: [],
  };
}

/** The output that a request wants at its admission. */
export function wantedAtFirst({ isStreamed, outputMax }: Demand): number {
  return isStreamed ? firstOutput : (outputMax ?? unstreamedOutputWanted);
}
