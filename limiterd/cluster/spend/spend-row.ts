/**
 * The spend of one host on one account, as the engine stores it: a text of exact decimals. A row is
 * complete, so that writing it twice changes nothing. Pure.
 */
import { isCount } from "../../../shared/checked.js";
import { addSum, compareSums, emptySum, type MoneySum } from "../../../shared/domain/money.js";
import type { PeriodSpend, Spends } from "../../budgets/spend.js";
import { slicesMax } from "../../budgets/spend.js";
import type { HostClaim } from "./account-claims.js";

/**
 * `reset;start,dollars,requests;…`: the moment of the budget's last reset (0: never), and each
 * period that the account keeps.
 */
export function rowText(resetAtMs: number | null, spends: Spends): string {
  return [
    resetAtMs ?? 0,
    ...spends.map(({ startMs, spent, requests }) => [startMs, sumText(spent), requests].join(",")),
  ].join(";");
}

/** The field of a host's claim, beside its row; hosts of earlier releases pass it over. */
export function claimField(host: string): string {
  return `${claimPrefix}${host}`;
}

const claimPrefix = "claim:";

/** `start,dollars`: when the running period began, and what is claimed in it. */
export function claimText({ startMs, amount }: HostClaim): string {
  const microUsd = Math.floor(amount / 1_000_000);
  const picoUsd = Math.floor(amount % 1_000_000);
  return [startMs, sumText({ microUsd, picoUsd })].join(",");
}

/** The claims among the fields of an account, by host; without those that aren't one. */
export function claimsInFields(fields: ReadonlyMap<string, string>): Map<string, HostClaim> {
  const claims = new Map<string, HostClaim>();
  for (const [field, text] of fields) {
    if (!field.startsWith(claimPrefix)) continue;
    const [start = "", dollars = "", more] = text.split(",");
    const sum = sumFromText(dollars);
    if (!/^-?\d{1,16}$/.test(start) || sum === null || more !== undefined) continue;
    const amount = sum.microUsd * 1_000_000 + sum.picoUsd;
    claims.set(field.slice(claimPrefix.length), { startMs: Number(start), amount });
  }
  return claims;
}

/** US dollars with twelve decimals: every pico-dollar. */
export function sumText({ microUsd, picoUsd }: MoneySum): string {
  const micro = String(microUsd).padStart(7, "0");
  return `${micro.slice(0, -6)}.${micro.slice(-6)}${String(picoUsd).padStart(6, "0")}`;
}

/** Null for what `sumText` never wrote. */
export function sumFromText(text: string): MoneySum | null {
  const parts = /^(\d{1,10})\.(\d{6})(\d{6})$/.exec(text);
  if (parts === null) return null;
  const microUsd = Number(`${parts[1]}${parts[2]}`);
  return isCount(microUsd) ? { microUsd, picoUsd: Number(parts[3]) } : null;
}

/**
 * The periods of a row, without those that the budget's last reset cleared and whose host didn't
 * know of the reset when it wrote the row. Null if the text isn't a row.
 */
export function periodsInRow(
  text: string,
  resetAtMs: number | null,
): readonly PeriodSpend[] | null {
  const [written = "", ...rest] = text.split(";");
  if (!/^\d{1,16}$/.test(written) || rest.length > slicesMax) return null;
  const periods: PeriodSpend[] = [];
  for (const part of rest) {
    const [start = "", dollars = "", count = "", more] = part.split(",");
    const spent = sumFromText(dollars);
    const requests = /^\d{1,16}$/.test(count) ? Number(count) : Number.NaN;
    if (!/^-?\d{1,16}$/.test(start) || spent === null || !isCount(requests) || more !== undefined)
      return null;
    periods.push({ startMs: Number(start), spent, requests });
  }
  return periods.filter(
    ({ startMs }) => Number(written) >= (resetAtMs ?? 0) || (resetAtMs ?? 0) <= startMs,
  );
}

/** Adds up the rows of several hosts by period. */
export function addRows(rows: Iterable<readonly PeriodSpend[]>): PeriodSpend[] {
  const sums: PeriodSpend[] = [];
  for (const periods of rows)
    for (const { startMs, spent, requests } of periods) {
      let sum = sums.find((candidate) => candidate.startMs === startMs);
      if (sum === undefined) {
        sum = { startMs, spent: emptySum(), requests: 0 };
        sums.push(sum);
      }
      addSum(sum.spent, spent);
      sum.requests = Math.min(sum.requests + requests, Number.MAX_SAFE_INTEGER);
    }
  return sums;
}

/**
 * Merges received figures into known ones. No figure falls, because spend in a period only grows.
 * An engine that has lost its data shows less until every host has reported again.
 */
export function atLeast(
  before: readonly PeriodSpend[],
  received: readonly PeriodSpend[],
): readonly PeriodSpend[] {
  const keptPeriods = before.filter((period) => {
    const newer = received.find(({ startMs }) => startMs === period.startMs);
    return newer === undefined || compareSums(period.spent, newer.spent) > 0;
  });
  if (keptPeriods.length === 0) return received;
  const newerPeriods = received.filter(({ startMs }) =>
    keptPeriods.every((period) => period.startMs !== startMs),
  );
  return [...keptPeriods, ...newerPeriods]
    .sort((a, b) => b.startMs - a.startMs)
    .slice(0, slicesMax);
}
