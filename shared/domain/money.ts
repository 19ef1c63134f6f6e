/**
 * Money as integers, so that sums are exact: pico-dollars (10^-12 USD).
 *
 * A price of $0.000001 per million tokens is one pico-dollar per token, so every price with up to
 * six decimals is an integer per token and a cost is an integer product: nothing is rounded on the
 * way, and the order of additions can't matter. Nano-dollars would not do: $0.0375 per million is
 * 37.5 of them, and half a nano-dollar lost a million times is 500 micro-dollars.
 *
 * One response's cost is a safe integer (at most `costPicoUsdMax`). A sum outgrows that at $9,007,
 * so it has two limbs: whole micro-dollars, and the pico-dollars below one. It stops at nine
 * billion dollars.
 */
import { assert } from "../assert.js";
import { costPicoUsdMax } from "../bounds.js";
import { isCount } from "../checked.js";

/** Pico-dollars: a safe integer from 0 to `costPicoUsdMax`. */
export type PicoUsd = number;

/** The source of a cost: the provider's answer, a price of the operator, or the price list. */
export const costSources = ["reported", "operator", "list"] as const;
export type CostSource = (typeof costSources)[number];

/**
 * An exact sum. Both limbs are safe integers from 0; `picoUsd` is below a million. A plain object,
 * which the store keeps unchanged.
 */
export interface MoneySum {
  microUsd: number;
  picoUsd: number;
}

const picoPerMicro = 1_000_000;
const picoPerUsd = 1_000_000_000_000;
const microPerUsd = 1_000_000;
/**
 * The maximum of a sum. Only absurd figures of a provider reach nine billion dollars; they must not
 * end the daemon, now or at each replay.
 */
const sumMicroUsdMax = Number.MAX_SAFE_INTEGER;

export function isPicoUsd(value: unknown): value is PicoUsd {
  return isCount(value) && value <= costPicoUsdMax;
}

export function emptySum(): MoneySum {
  return { microUsd: 0, picoUsd: 0 };
}

/** Whether a value is a cost; a negative one occurs in a record that reverses an estimate. */
export function isSignedPicoUsd(value: unknown): value is PicoUsd {
  return typeof value === "number" && isPicoUsd(Math.abs(value));
}

/** One cost as a sum; for a negative cost `microUsd` is negative. */
export function sumOfCost(cost: PicoUsd): MoneySum {
  assert(isSignedPicoUsd(cost), "a cost is an integer of pico-dollars in its bounds");
  const microUsd = Math.floor(cost / picoPerMicro);
  return { microUsd, picoUsd: cost - microUsd * picoPerMicro };
}

/**
 * Adds one cost in place, because a record is added to many sums. A negative cost reduces the sum
 * to 0 at most.
 */
export function addCost(sum: MoneySum, cost: PicoUsd): void {
  assert(isSignedPicoUsd(cost), "a cost is an integer of pico-dollars in its bounds");
  const microUsd = Math.floor(cost / picoPerMicro);
  addLimbs(sum, microUsd, cost - microUsd * picoPerMicro);
}

/**
 * Adds another sum in place; a negative one reduces the sum to 0 at most. Returns whether the sum
 * has now reached its maximum.
 */
export function addSum(sum: MoneySum, other: Readonly<MoneySum>): boolean {
  return addLimbs(sum, other.microUsd, other.picoUsd);
}

/** The sum minus a part of it, as a new sum; 0 if the part is larger. */
export function differenceOf(sum: MoneySum, part: MoneySum): MoneySum {
  const borrow = sum.picoUsd < part.picoUsd ? 1 : 0;
  const microUsd = sum.microUsd - part.microUsd - borrow;
  return microUsd < 0
    ? emptySum()
    : { microUsd, picoUsd: sum.picoUsd - part.picoUsd + borrow * picoPerMicro };
}

function addLimbs(sum: MoneySum, microUsd: number, picoUsd: number): boolean {
  // Most sums of a record get nothing added.
  if (microUsd === 0 && picoUsd === 0) return false;
  const before = sum.microUsd;
  const pico = sum.picoUsd + picoUsd;
  const carry = pico >= picoPerMicro ? 1 : 0;
  sum.picoUsd = pico - carry * picoPerMicro;
  sum.microUsd += microUsd + carry;
  if (sum.microUsd < 0) {
    sum.microUsd = 0;
    sum.picoUsd = 0;
  }
  if (sum.microUsd < sumMicroUsdMax) return false;
  sum.microUsd = sumMicroUsdMax;
  sum.picoUsd = 0;
  return before < sumMicroUsdMax;
}

/** Whether a sum is at its maximum: the true total may be larger. */
export function isSaturated({ microUsd }: MoneySum): boolean {
  return microUsd >= sumMicroUsdMax;
}

/** Negative, 0 or positive, for sorting and for `spent >= amount` without floating point. */
export function compareSums(a: MoneySum, b: MoneySum): number {
  return a.microUsd - b.microUsd || a.picoUsd - b.picoUsd;
}

/**
 * US dollars for JSON, rounded half up to the micro-dollar, here and nowhere before. Up to a
 * billion dollars the number prints with at most six decimals.
 */
export function sumUsd({ microUsd, picoUsd }: MoneySum): number {
  return (microUsd + (picoUsd * 2 >= picoPerMicro ? 1 : 0)) / microPerUsd;
}

/**
 * One cost in US dollars, as exact as a number can be. For a single record, never for adding up.
 */
export function costUsd(cost: PicoUsd): number {
  return cost / picoPerUsd;
}

/**
 * One cost in US dollars, exact: a plain decimal without an exponent, `0.0000015`. For files that
 * machines read.
 */
export function usdText(cost: PicoUsd): string {
  if (cost < 0) return `-${usdText(-cost)}`;
  const fraction = String(cost % picoPerUsd)
    .padStart(12, "0")
    .replace(/0+$/, "");
  return `${Math.floor(cost / picoPerUsd)}${fraction === "" ? "" : `.${fraction}`}`;
}

/**
 * The cost for a number of US dollars, rounded half up to the pico-dollar; null for a value that
 * isn't an amount of money, or is more than a response can cost.
 */
export function picoFromUsd(usd: unknown): PicoUsd | null {
  if (typeof usd !== "number" || !(usd >= 0)) return null;
  const pico = Math.round(usd * picoPerUsd);
  return isPicoUsd(pico) ? pico : null;
}

/** As `picoFromUsd`, for a cost that may be negative. */
export function signedPicoFromUsd(usd: unknown): PicoUsd | null {
  if (typeof usd !== "number" || usd >= 0) return picoFromUsd(usd);
  const pico = picoFromUsd(-usd);
  return pico === null ? null : 0 - pico;
}

/**
 * An amount of US dollars up to the maximum of a sum, such as that of a budget, rounded half up to
 * the micro-dollar. Null for a value that isn't an amount of money.
 */
export function sumFromUsd(usd: unknown): MoneySum | null {
  if (typeof usd !== "number" || !(usd >= 0)) return null;
  const microUsd = Math.round(usd * microPerUsd);
  return isCount(microUsd) ? { microUsd, picoUsd: 0 } : null;
}

/**
 * An amount of US dollars for people who use it as a cap, rounded up: to cents; below a dollar to
 * more decimals.
 */
export function roundedUpUsd(usd: number): number {
  const parts = usd >= 1 ? 100 : usd >= 0.01 ? 1e3 : usd >= 0.0001 ? 1e5 : 1e8;
  return Math.ceil(Number((usd * parts).toPrecision(12))) / parts;
}
