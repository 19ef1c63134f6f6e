/**
 * Exact amounts of a bill, in pico-dollars of any size and sign. Amounts are read from decimal
 * texts. A rate is stored as an amount and a quantity, and divided as late as possible. Pure.
 */
import { formatUsd, usdDecimals } from "../text/number-text.js";

/** 10^-12 US dollars, as in `shared/domain/money.ts`, without its bounds. */
export type Pico = bigint;

interface Amount {
  readonly pico: Pico;
  /** The places after the point, without zeros at the end. */
  readonly decimals: number;
}

/** An amount for a quantity, not divided yet. */
export interface Rate {
  readonly amount: Pico;
  readonly quantity: bigint;
}

const picoPlaces = 12;

/**
 * The amount in a decimal text; null if it isn't one. `unitPlaces`: 2 for an amount in cents. A
 * number is read as JSON writes it.
 */
export function readAmount(value: unknown, unitPlaces = 0): Amount | null {
  if (typeof value !== "string" && typeof value !== "number") return null;
  const text = String(value).trim();
  const parts = /^([+-]?)(\d{0,40})(?:\.(\d{0,40}))?(?:e([+-]?\d{1,2}))?$/i.exec(text);
  if (parts === null) return null;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = parts;
  if (whole + fraction === "") return null;
  const places = fraction.replace(/0+$/, "").length - Number(exponent) + unitPlaces;
  const shift = picoPlaces - unitPlaces - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  const pico =
    shift >= 0 ? digits * 10n ** BigInt(shift) : divideRounded(digits, 10n ** BigInt(-shift));
  return { pico: sign === "-" ? -pico : pico, decimals: Math.max(0, places) };
}

/** Rounded half away from zero. */
export function divideRounded(dividend: bigint, divisor: bigint): bigint {
  const isNegative = dividend < 0n !== divisor < 0n;
  const [a, b] = [absolute(dividend), absolute(divisor)];
  const quotient = (a + b / 2n) / b;
  return isNegative ? -quotient : quotient;
}

export function absolute(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** What a quantity costs at a rate. */
export function worthOf(quantity: bigint, { amount, quantity: per }: Rate): Pico {
  return divideRounded(quantity * amount, per);
}

/** US dollars as an exact decimal: `-0.0000015`. */
export function exactUsd(pico: Pico): string {
  const digits = String(absolute(pico)).padStart(picoPlaces + 1, "0");
  const fraction = digits.slice(-picoPlaces).replace(/0+$/, "");
  const text = digits.slice(0, -picoPlaces) + (fraction === "" ? "" : `.${fraction}`);
  return pico < 0n ? `-${text}` : text;
}

/** US dollars for people: `-$1,234.50`; `decimals` as for `formatUsd`. */
export function shownUsd(pico: Pico, decimals: number): string {
  const text = formatUsd(Number(exactUsd(absolute(pico))), decimals);
  return pico < 0n ? `-${text}` : text;
}

/** The decimals of a column of amounts. */
export function decimalsFor(amounts: readonly Pico[]): number {
  return usdDecimals(
    amounts.reduce((most, amount) => Math.max(most, Math.abs(Number(amount) / 1e12)), 0),
  );
}

/**
 * A rate in US dollars per `unit`, with as few decimals as the rounding of the bill allows, at most
 * nine; `tolerance` is how far the amount may be off.
 */
export function plainRate(rate: Rate, unit: bigint, tolerance: Pico): string {
  const { amount, quantity } = rate;
  const exact = divideRounded(amount * unit, quantity);
  const placesMax = unit === 1n ? 9 : 6;
  for (let places = 0; places < placesMax; places++) {
    const step = 10n ** BigInt(picoPlaces - places);
    const rounded = divideRounded(exact, step) * step;
    if (absolute(divideRounded(rounded * quantity, unit) - amount) <= tolerance)
      return exactUsd(rounded);
  }
  const step = 10n ** BigInt(picoPlaces - placesMax);
  return exactUsd(divideRounded(exact, step) * step);
}
