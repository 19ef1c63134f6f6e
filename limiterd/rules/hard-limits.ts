/**
 * Hard caps (`docs/hard-caps.md`): what a request may use of them, and what it holds while it runs.
 * A cap counts what was used and what running requests hold. A request holds the most that its
 * prompt can be, and the output that it is allowed so far; its settle replaces that by what it
 * used. Pure.
 */

import { outputChunkTokensMax, outputChunkTokensMin } from "../../shared/bounds.js";
import { isLenient } from "../../shared/domain/on-exhausted.js";
import type { TokenWeights } from "../../shared/domain/token-weights.js";
import type { Metered, Rates } from "../../shared/wire/message-to-daemon.js";
import type { Account, Budget } from "../budgets/budget-account.js";
import { type Counter, capsOf, countsOf, isOff, type Rule, shareOf } from "../counters/counter.js";
import { Held } from "../counters/held.js";
import { type ClaimNeeds, rollWindow, slidingTokens } from "../counters/window.js";
import { roomOfShare, type SharedCounter, sharerOf } from "./judge-share.js";

/** What a request may use at one target. */
export interface Demand extends Omit<Metered, "rates"> {
  /** Null if the target has no price. */
  readonly rates: Rates | null;
}

export function demandAt({ rates, ...metered }: Metered, target: number): Demand {
  return { ...metered, rates: rates[target] ?? null };
}

/** The least output that is worth a request: with less left, it is refused. */
const usefulOutput = 64;
/** On a small cap, this fraction of it is enough output for a request: one in 128. */
const usefulDivisor = 128;
/**
 * A stream holds this part of the least output more than it is granted, 8 tokens: what its provider
 * sends while the stream waits or is cancelled.
 */
const onItsWayDivisor = usefulOutput / outputChunkTokensMin;
/** The output that a stream may use at first. */
const firstOutput = 256;
/** A draw adds at most this fraction of what is left: one in 50. */
const chunkDivisor = 50;
/** What a request that isn't streamed wants if it names no maximum of output. */
const unstreamedOutput = 32_768;
/** A request that isn't streamed may use one part in 2 of what is left if it is alone on a cap. */
const aloneDivisor = 2;
/** Beside others it may use one part in 32. */
const amongDivisor = 32;
/** It may use at least this much output, however small its part is, if that much is left. */
const unstreamedOutputMin = 4096;
/**
 * The bytes of a token of the prompt of a request that runs alone. It is a guess: a token may have
 * one byte, but that bound would refuse requests that fit.
 */
const bytesPerToken = 2;

/** What a token counts as: thousandths of a token, or pico-dollars. */
interface Weights {
  readonly prompt: number;
  readonly output: number;
  /** How many of them one unit of the cap is: 1000 for tokens, 1 for pico-dollars. */
  readonly parts: 1 | 1000;
}

const weightless: Weights = { prompt: 0, output: 0, parts: 1 };

/** A hard cap as one request meets it. */
export interface HardLimit {
  readonly held: Held;
  readonly child: string;
  readonly weights: Weights;
  readonly cap: number;
  /** The cap less what was used; below 0 if more was. */
  readonly left: number;
  /** The part of it that this host may use, if hosts share the cap. */
  readonly claimed: number;
  /** The rule's counter or the budget's account. */
  readonly source: Counter | Account;
  /** If it is a child's share of a cap: the limit of the whole cap, and the child's name. */
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
  return rates === null ? weightless : { prompt: rates.input, output: rates.output, parts: 1 };
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

/** The tokens of the prompt that count: a request alone on a cap isn't refused for a bound. */
function promptOf({ promptTokens }: Demand, heldByOthers: number): number {
  return heldByOthers === 0 ? Math.ceil(promptTokens / bytesPerToken) : promptTokens;
}

/** The least that must be left for a request; without a demand, anything. */
export function needOf(
  weights: Weights,
  cap: number,
  demand: Demand | undefined,
  held: number,
): number {
  if (demand === undefined) return 1;
  const output = leastOutput({ weights, cap }, demand);
  return Math.max(1, weightedAmount(weights, promptOf(demand, held), output));
}

/** The least output that is worth the request. */
function leastOutput(
  { weights, cap }: Pick<HardLimit, "weights" | "cap">,
  { outputMax }: Demand,
): number {
  const parts = Math.floor((cap * weights.parts) / Math.max(1, weights.output) / usefulDivisor);
  return Math.min(outputMax ?? usefulOutput, usefulOutput, Math.max(1, parts));
}

/** What a stream holds beyond what it is granted. */
function onItsWay(limit: HardLimit, demand: Demand): number {
  return demand.isStreamed ? Math.floor(leastOutput(limit, demand) / onItsWayDivisor) : 0;
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
    const limit = { held: heldOf(rule), child, weights, cap, left, claimed, source: counter };
    const next = counters[i + 1];
    return rule.tenants === null || next?.rule !== rule.tenants
      ? limit
      : [limit, limitOfShare(limit, { counter, childCounter: next }, nowMs)];
  });
}

/** The share of the request's child in a hard cap. */
function limitOfShare(within: HardLimit, shared: SharedCounter, nowMs: number): HardLimit {
  const { rule, child } = shared.childCounter;
  const held = heldOf(rule);
  const left = held.of(child) + Math.floor(roomOfShare(shared, within.cap, nowMs));
  const share = { within, name: sharerOf(shared) };
  return { ...within, held, child, left, claimed: left, share };
}

/** What other running requests hold of the whole cap. */
export function heldByOthers({ share, held, child }: HardLimit): number {
  return share === undefined ? held.of(child) : heldByOthers(share.within);
}

/** What is held of a rule or a budget. */
export function heldOf(limit: Rule | Budget): Held {
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
  /** Empty without a managed key. */
  readonly keyId: string;
  /** As in `Admit`. */
  readonly session?: string | undefined;
  readonly uses: readonly string[] | undefined;
  /** The tokens of output that it may use so far, those of all its attempts. */
  readonly output: number;
  /** What settles have charged of it, which it no longer holds. */
  readonly charged: Charged;
  /** The tokens of output that it holds beyond that (`onItsWay`). */
  readonly beyond: number;
  readonly holdings: readonly Holding[];
}

interface Charged {
  /** The output of earlier attempts. */
  readonly before: number;
  /** What the running attempt was charged: its prompt, and its output. */
  readonly prompt: number;
  readonly output: number;
}

export const nothingCharged: Charged = { before: 0, prompt: 0, output: 0 };

/** The demand without the prompt that was charged. */
function uncharged(demand: Demand, { prompt }: Charged): Demand {
  return prompt === 0
    ? demand
    : { ...demand, promptTokens: Math.max(0, demand.promptTokens - prompt) };
}

/** Gives back what a request holds. */
export function giveBack({ holdings }: LeaseHold): void {
  for (const { held, child, amount } of holdings) held.remove(child, amount);
}

/** The tokens that a request holds: its prompt, and the output that it may use. */
export function tokensHeld({ demand, charged, output, beyond }: Omit<LeaseHold, "holdings">): {
  readonly promptTokens: number;
  readonly output: number;
} {
  return {
    promptTokens: uncharged(demand, charged).promptTokens,
    output: Math.max(0, output - charged.before - charged.output) + beyond,
  };
}

/** Holds this much output and the prompt on every cap. */
export function holdOn(
  limits: readonly HardLimit[],
  hold: Omit<LeaseHold, "beyond" | "holdings">,
): LeaseHold {
  const { promptTokens, output } = tokensHeld({ ...hold, beyond: 0 });
  let beyond = 0;
  const holdings = limits.map((limit): Holding => {
    const { held, child, weights } = limit;
    beyond = Math.max(beyond, onItsWay(limit, hold.demand));
    const amount = weightedAmount(weights, promptTokens, output + onItsWay(limit, hold.demand));
    held.add(child, amount);
    return { held, child, amount };
  });
  return { ...hold, beyond, holdings };
}

/** The output for which so much of a cap has room, given that the request holds nothing of it. */
function roomOn(limit: HardLimit, left: number, demand: Demand): number {
  const { held, child, weights } = limit;
  const prompt = weights.prompt * promptOf(demand, heldByOthers(limit));
  const room = (left - held.of(child)) * weights.parts - prompt;
  if (weights.output === 0) return room >= 0 ? Number.POSITIVE_INFINITY : 0;
  return Math.max(0, Math.floor(room / weights.output) - onItsWay(limit, demand));
}

interface Allowed {
  /** The output that a request may use in all. */
  readonly output: number;
  /** The cap that leaves it no more. */
  readonly cap: HardLimit | null;
  /** The cap with the least room. */
  readonly tightest: HardLimit | null;
}

/**
 * The output that a request may use in all if it wants `wanted` in all. It must hold nothing of
 * these caps. What it was allowed isn't taken back.
 */
export function allow(
  limits: readonly HardLimit[],
  { demand, charged, output: before }: Pick<LeaseHold, "demand" | "charged" | "output">,
  wanted: number,
): Allowed {
  const { outputMax, isStreamed } = demand;
  const most = outputMax === null ? wanted : Math.min(wanted, charged.before + outputMax);
  let output = most;
  let least = Number.POSITIVE_INFINITY;
  let cap: HardLimit | null = null;
  const used = charged.before + charged.output;
  const rest = uncharged(demand, charged);
  for (const limit of limits) {
    const { left, claimed } = limit;
    const isAlone = heldByOthers(limit) === 0;
    const room = used + roomOn(limit, Math.min(left, claimed), rest);
    // What all hosts leave sets the size of a chunk, and so what a host claims for it: a fraction
    // of that claim would leave the most of it unused.
    const ofAll = claimed < left ? used + roomOn(limit, left, rest) : room;
    output = Math.min(
      output,
      room,
      isStreamed ? chunkTo(ofAll, before) : unstreamedTo(ofAll, isAlone),
    );
    if (room < least) {
      least = room;
      cap = limit;
    }
  }
  const isOver = output <= before && most > before;
  return { output: Math.max(before, output), cap: isOver ? cap : null, tightest: cap };
}

/** The limits without the claims of hosts: as if no cap were shared. */
export function unclaimedLimits(limits: readonly HardLimit[]): readonly HardLimit[] {
  return limits.map((limit) => ({ ...limit, claimed: limit.left }));
}

/** What a new request needs of a cap that hosts share, and what it wants. */
export function claimNeeds(limit: HardLimit, demand: Demand): ClaimNeeds {
  const { held: ofAll, child, weights, cap } = limit;
  const held = ofAll.of(child);
  const need = needOf(weights, cap, demand, held);
  const start = { demand, charged: nothingCharged, output: 0 };
  const { output } = allow(unclaimedLimits([limit]), start, wantedAtFirst(demand));
  const most = output + onItsWay(limit, demand);
  return { held, need, want: Math.max(need, weightedAmount(weights, demand.promptTokens, most)) };
}

/** The output of a stream after one more chunk. `before`: its output so far. */
function chunkTo(room: number, before: number): number {
  const part = Math.floor(Math.max(0, room - before) / chunkDivisor);
  return before + Math.min(outputChunkTokensMax, Math.max(outputChunkTokensMin, part));
}

/** The output of a request that isn't streamed. */
function unstreamedTo(room: number, isAlone: boolean): number {
  return Math.max(Math.floor(room / (isAlone ? aloneDivisor : amongDivisor)), unstreamedOutputMin);
}

/** The hold of a request whose attempt has failed: it keeps its own facts and holds nothing. */
export function withoutTarget(hold: LeaseHold | null): LeaseHold | null {
  if (hold === null) return null;
  const before = hold.charged.before + hold.charged.output;
  return {
    ...hold,
    output: before,
    charged: { ...nothingCharged, before },
    beyond: 0,
    holdings: [],
  };
}

/** What a request wants at first. */
export function wantedAtFirst({ isStreamed, outputMax }: Demand): number {
  return isStreamed ? firstOutput : (outputMax ?? unstreamedOutput);
}
