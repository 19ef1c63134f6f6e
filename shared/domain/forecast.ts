/**
 * When a budget runs out if its spend continues at the present pace. Pure. It decides nothing: no
 * verdict reads it. `sluice budgets forecast --check` compares it with recorded spend.
 */

/** Spend within a length of time. */
export interface Pace {
  readonly usd: number;
  readonly seconds: number;
}

export interface ForecastQuestion {
  readonly nowMs: number;
  /** When the running period began, or was reset, and when it ends. */
  readonly startMs: number;
  readonly endMs: number;
  readonly amountUsd: number;
  readonly spentUsd: number;
  /** The spend of up to the last two hours; null if unknown. */
  readonly recent: Pace | null;
}

/** The recent pace, or the pace of the running period. */
export type ForecastBasis = "recent" | "period";

export interface Forecast {
  readonly basis: ForecastBasis;
  readonly basisSeconds: number;
  readonly usdPerHour: number;
  /** Null if the amount lasts until the period ends; `nowMs` if it is spent. */
  readonly exhaustsAtMs: number | null;
  /** The spend at the end of the period. */
  readonly projectedUsd: number;
}

/** The recent pace is that of up to this many seconds. */
export const recentSecondsMax = 2 * 3600;
/** With less, a single request would dominate the recent pace. */
const recentSecondsMin = 1800;
/** Before this share of the period, a single request would dominate the period's pace. */
const elapsedRatioMin = 0.02;
const daySeconds = 86_400;
const hourMs = 3_600_000;

/**
 * Null while the data is insufficient, or if nothing was spent in the period and recently. Two
 * hours say nothing about nights and weekends: in a period longer than a day, the recent pace is
 * used only if the amount would run out within a day at that pace, or while the period is younger
 * than a day.
 */
export function forecastOf(question: ForecastQuestion): Forecast | null {
  const recent = forecastBy("recent", question);
  if (question.spentUsd <= 0) return (question.recent?.usd ?? 0) > 0 ? recent : null;
  const periodForecast = forecastBy("period", question);
  if (recent === null || periodForecast === null) return recent ?? periodForecast;
  const { nowMs, startMs, endMs } = question;
  if (endMs - startMs <= daySeconds * 1000 || periodForecast.basisSeconds < daySeconds)
    return recent;
  const isSoon = recent.exhaustsAtMs !== null && recent.exhaustsAtMs - nowMs <= daySeconds * 1000;
  return isSoon ? recent : periodForecast;
}

/**
 * The time from which a forecast is possible; null if it is possible already, or nothing was spent.
 */
export function forecastFromMs(question: ForecastQuestion): number | null {
  const { nowMs, startMs, endMs, spentUsd, recent } = question;
  if (spentUsd <= 0 || forecastOf(question) !== null) return null;
  const ofPeriodMs = startMs + (endMs - startMs) * elapsedRatioMin;
  const isShort = endMs - startMs <= recentSecondsMax * 1000;
  if (recent === null || isShort) return ofPeriodMs;
  return Math.min(ofPeriodMs, nowMs + (recentSecondsMin - recent.seconds) * 1000);
}

/** The forecast by one pace; null if the pace covers too short a time. */
export function forecastBy(basis: ForecastBasis, question: ForecastQuestion): Forecast | null {
  const { nowMs, endMs, amountUsd, spentUsd } = question;
  const pace = basis === "recent" ? recentPace(question) : periodPace(question);
  if (pace === null) return null;
  const usdPerHour = (Math.max(0, pace.usd) * 3600) / pace.seconds;
  const projectedUsd = spentUsd + (usdPerHour * Math.max(0, endMs - nowMs)) / hourMs;
  return {
    basis,
    basisSeconds: Math.round(pace.seconds),
    usdPerHour,
    exhaustsAtMs:
      spentUsd >= amountUsd
        ? nowMs
        : projectedUsd >= amountUsd
          ? Math.min(endMs, nowMs + ((amountUsd - spentUsd) / usdPerHour) * hourMs)
          : null,
    projectedUsd,
  };
}

/** The recent pace; null for a period of two hours or less, whose own pace is as good. */
function recentPace({ startMs, endMs, recent }: ForecastQuestion): Pace | null {
  const isShort = endMs - startMs <= recentSecondsMax * 1000;
  return recent === null || isShort || recent.seconds < recentSecondsMin ? null : recent;
}

function periodPace({ nowMs, startMs, endMs, spentUsd }: ForecastQuestion): Pace | null {
  const elapsedMs = nowMs - startMs;
  if (elapsedMs <= 0 || elapsedMs < (endMs - startMs) * elapsedRatioMin) return null;
  return { usd: spentUsd, seconds: elapsedMs / 1000 };
}
