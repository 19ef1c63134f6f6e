/**
 * What usage should add up to: slow sums over everything that was served, in BigInt, and the bounds
 * of periods by the calendar.
 */
import { dayOf } from "../../../shared/time.js";
import type { Served } from "./usage-load.js";

export interface Sum {
  requests: number;
  input: number;
  output: number;
  cached: number;
  unpriced: number;
  /** Pico-dollars. */
  inputCost: bigint;
  outputCost: bigint;
  totalCost: bigint;
  /** Lost answers, and their upper bounds. */
  unknownCalls: number;
  tokensAtMost: number;
  costAtMost: bigint;
}

export function sumOf(served: Iterable<Served>): Sum {
  const sum: Sum = {
    requests: 0,
    input: 0,
    output: 0,
    cached: 0,
    unpriced: 0,
    inputCost: 0n,
    outputCost: 0n,
    totalCost: 0n,
    unknownCalls: 0,
    tokensAtMost: 0,
    costAtMost: 0n,
  };
  for (const one of served) {
    sum.requests++;
    sum.input += one.input;
    sum.output += one.output;
    sum.cached += one.cached;
    sum.unpriced += one.totalCost === null ? 1 : 0;
    sum.inputCost += one.inputCost ?? 0n;
    sum.outputCost += one.outputCost ?? 0n;
    sum.totalCost += one.totalCost ?? 0n;
    if (one.atMost === null) continue;
    sum.unknownCalls++;
    sum.tokensAtMost += one.atMost.tokens;
    sum.costAtMost += one.atMost.cost;
  }
  return sum;
}

/** The fields of unknown usage, if there is any. */
export function unknownIn(sum: Sum): Readonly<Record<string, number>> {
  return sum.unknownCalls === 0
    ? {}
    : {
        unknown_calls: sum.unknownCalls,
        unknown_tokens_at_most: sum.tokensAtMost,
        unknown_cost_at_most: dollars(sum.costAtMost),
      };
}

/** As it is shown: half up to the micro-dollar. */
export function dollars(pico: bigint): number {
  return Number((pico + 500_000n) / 1_000_000n) / 1e6;
}

export function isUnder(path: string, userPath: string): boolean {
  return path === "/" || userPath === path || userPath.startsWith(`${path}/`);
}

/** The direct child of a path that another one below it belongs to, or null. */
export function childOf(path: string, userPath: string): string | null {
  if (!isUnder(path, userPath) || userPath === path) return null;
  const base = path === "/" ? "" : path;
  return `${base}/${userPath.slice(base.length + 1).split("/")[0]}`;
}

/** A path and all above it, up to `/`. */
export function withAncestors(userPath: string): string[] {
  const segments = userPath.split("/").filter((segment) => segment !== "");
  return segments.map((_, i) => `/${segments.slice(0, i + 1).join("/")}`).concat("/");
}

const hourMs = 3_600_000;
export const dailyAnchorMs = 6.75 * hourMs;

/**
 * When the period that holds a moment began; days begin at the anchor of 06:45, all else where it
 * does by default.
 */
export function periodStartMs(
  period: "hourly" | "daily" | "weekly" | "monthly",
  atMs: number,
): number {
  const midnightMs = Date.parse(dayOf(atMs));
  switch (period) {
    case "hourly":
      return Date.parse(`${new Date(atMs).toISOString().slice(0, 13)}:00:00Z`);
    case "daily":
      return atMs >= midnightMs + dailyAnchorMs
        ? midnightMs + dailyAnchorMs
        : midnightMs - 24 * hourMs + dailyAnchorMs;
    case "weekly": {
      let startMs = midnightMs;
      while (new Date(startMs).getUTCDay() !== 1) startMs -= 24 * hourMs;
      return startMs;
    }
    case "monthly":
      return Date.parse(`${dayOf(atMs).slice(0, 7)}-01`);
  }
}

/** Groups what was served by a key; null keys are left out. */
export function grouped(
  served: readonly Served[],
  keyOf: (one: Served) => string | null,
): Map<string, Served[]> {
  const groups = new Map<string, Served[]>();
  for (const one of served) {
    const key = keyOf(one);
    if (key === null) continue;
    const group = groups.get(key) ?? [];
    groups.set(key, group);
    group.push(one);
  }
  return groups;
}
