/** The kinds of values that are numbers, and how a number is read from a text. */
import { isObject } from "../../checked.js";
import { sharesOfText } from "../../domain/child-shares.js";
import {
  parseTokenWeights,
  type TokenWeights,
  tokenKinds,
  tokenWeightMax,
  weightsOfText,
} from "../../domain/token-weights.js";
import type { AdaptiveConcurrency } from "../../domain/upstream-limits.js";
import { always, type JsonSchema, type ValueKind } from "./value-kind.js";

/**
 * A number, or a decimal number in a text, as in environment variables and `${NAME}`. Undefined for
 * any other value.
 */
export function numberOf(raw: unknown): number | undefined {
  if (typeof raw === "number") return raw;
  if (typeof raw === "string" && /^\s*-?\d{1,20}(?:\.\d{1,20})?\s*$/.test(raw)) return Number(raw);
  return undefined;
}

/**
 * As `numberOf`, but allows an exponent, as YAML and JSON do: for amounts, which needn't be
 * integers.
 */
export function amountOf(raw: unknown): number | undefined {
  const number = numberOf(raw);
  if (number !== undefined || typeof raw !== "string") return number;
  return /^\s*-?\d+(?:\.\d+)?(?:e[+-]?\d+)?\s*$/i.test(raw) ? Number(raw) : undefined;
}

/** A number in a range, or a text that holds one. */
export function numberSchema(
  type: "integer" | "number",
  { min, max }: { readonly min: number; readonly max: number },
): JsonSchema {
  const pattern = type === "integer" ? "^\\s*-?\\d+\\s*$" : "^\\s*-?\\d+(?:\\.\\d+)?\\s*$";
  return { type: [type, "string"], minimum: min, maximum: max, pattern: `${pattern}|\\$\\{` };
}

export function integer(
  range: { readonly min: number; readonly max: number },
  unit?: "bytes" | "milliseconds" | "days",
): ValueKind<number> {
  return {
    label: "integer",
    range: `${range.min} to ${range.max}`,
    ...(unit === undefined ? {} : { unit }),
    expected: `must be an integer from ${range.min} to ${range.max}`,
    quotable: always,
    parse: (raw) => {
      const value = numberOf(raw);
      return value !== undefined &&
        Number.isSafeInteger(value) &&
        value >= range.min &&
        value <= range.max
        ? value
        : undefined;
    },
    schema: numberSchema("integer", range),
  };
}

/**
 * Seconds, with or without decimals, stored as milliseconds. `zero` allows 0 besides the range from
 * `min` to `max`.
 */
export function seconds(range: {
  readonly min: number;
  readonly max: number;
  readonly allowsZero: boolean;
}): ValueKind<number> {
  const span = `a number of seconds from ${range.min} to ${range.max}`;
  const zeroBeside = range.allowsZero && range.min > 0;
  return {
    label: "number",
    range: `${zeroBeside ? "0, or " : ""}${range.min} to ${range.max}`,
    unit: "seconds",
    expected: zeroBeside ? `must be 0 or ${span}` : `must be ${span}`,
    quotable: always,
    parse: (raw) => {
      const value = numberOf(raw);
      if (value === undefined) return undefined;
      if (value === 0) return range.allowsZero ? 0 : undefined;
      return value >= range.min && value <= range.max ? Math.round(value * 1000) : undefined;
    },
    schema: numberSchema("number", { ...range, min: range.allowsZero ? 0 : range.min }),
  };
}

/** A part of a whole, from 0 to 1. */
/** An amount of US dollars. */
export const usd: ValueKind<number> = {
  label: "number",
  range: "0 to 1000",
  expected: "must be a number of US dollars from 0 to 1000",
  quotable: always,
  parse: (raw) => {
    const value = numberOf(raw);
    return value !== undefined && value >= 0 && value <= 1000 ? value : undefined;
  },
  schema: numberSchema("number", { min: 0, max: 1000 }),
};

export const fraction: ValueKind<number> = {
  label: "number",
  range: "0 to 1",
  expected: "must be a number from 0 to 1",
  quotable: always,
  parse: (raw) => {
    const value = numberOf(raw);
    return value !== undefined && value >= 0 && value <= 1 ? value : undefined;
  },
  schema: numberSchema("number", { min: 0, max: 1 }),
};

const weightSchema = numberSchema("number", { min: 0, max: tokenWeightMax });

/** Weights of tokens, as a mapping or as a text. */
export const tokenWeights: ValueKind<TokenWeights> = {
  label: "mapping",
  range: `weights from 0 to ${tokenWeightMax}`,
  expected: `must be a mapping of ${tokenKinds.join(", ")} to weights from 0 to ${tokenWeightMax}, such as cached=0.1,cache_write=1.25`,
  problemIn(mapping, name) {
    const weights = parseTokenWeights(weightsOf(mapping), name);
    return weights.ok ? name : weights.failure.message;
  },
  quotable: always,
  parse: (raw) => {
    const weights = parseTokenWeights(weightsOf(raw), "");
    return weights.ok ? weights.value : undefined;
  },
  schema: {
    anyOf: [
      {
        type: "object",
        additionalProperties: false,
        minProperties: 1,
        properties: Object.fromEntries(tokenKinds.map((kind) => [kind, weightSchema])),
      },
      { type: "string" },
    ],
  },
};

/**
 * Converts a value to the form of `parseTokenWeights`: a text to a mapping, and texts in a mapping
 * to numbers.
 */
export function weightsOf(raw: unknown): unknown {
  if (!isObject(raw)) return weightsOfText(raw);
  return Object.fromEntries(
    Object.entries(raw).map(([kind, weight]) => [kind, numberOf(weight) ?? weight]),
  );
}

/**
 * Converts a value to the form of `parseShares`: a text to a mapping, and texts in mappings to
 * numbers.
 */
export function sharesOf(raw: unknown): unknown {
  if (!isObject(raw)) return sharesOfText(raw);
  const { children, ...numbers } = raw;
  const withNumbers = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [name, numberOf(value) ?? value]),
    );
  if (!isObject(children))
    return { ...withNumbers(numbers), ...(children === undefined ? {} : { children }) };
  const shares = Object.entries(children).map(
    ([name, share]) => [name, isObject(share) ? withNumbers(share) : share] as const,
  );
  return { ...withNumbers(numbers), children: Object.fromEntries(shares) };
}

const concurrencyMax = 10_000;

/** The bounds of adaptive concurrency. */
export const concurrencyRange: ValueKind<AdaptiveConcurrency> = {
  label: "mapping",
  range: `min and max from 1 to ${concurrencyMax}`,
  expected: `must be a mapping with min and max, integers from 1 to ${concurrencyMax}, min at most max`,
  quotable: always,
  parse(raw) {
    if (!isObject(raw) || Object.keys(raw).some((key) => key !== "min" && key !== "max"))
      return undefined;
    const min = numberOf(raw["min"]);
    const max = numberOf(raw["max"]);
    if (min === undefined || max === undefined) return undefined;
    const isRange = Number.isInteger(min) && Number.isInteger(max) && 1 <= min && min <= max;
    return isRange && max <= concurrencyMax ? { min, max } : undefined;
  },
  schema: {
    type: "object",
    required: ["min", "max"],
    properties: {
      min: numberSchema("integer", { min: 1, max: concurrencyMax }),
      max: numberSchema("integer", { min: 1, max: concurrencyMax }),
    },
    additionalProperties: false,
  },
};
