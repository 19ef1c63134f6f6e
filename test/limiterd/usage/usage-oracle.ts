/**
 * Sums of usage as they should be: slow and obvious, sharing nothing with the real ones but the
 * form of their keys.
 */

import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import { interimStatus } from "../../../shared/wire/execution.js";
import { isForModel } from "../oracle.js";

export type RollupOracle = Map<
  string,
  {
    readonly requests: number;
    readonly tokens: number;
    readonly cost: bigint;
    readonly unpriced: number;
  }
>;

/**
 * Every key under which a record counts; `target` is its provider and model, joined by a line feed,
 * and `asked` the model that the client named.
 */
export function rollupKeysOf(
  userPath: string,
  day: string,
  target: string,
  { keyId = "", asked = target }: { readonly keyId?: string; readonly asked?: string } = {},
): string[] {
  const segments = userPath.split("/").filter((segment) => segment !== "");
  const keys: string[] = [`o\n${day}\n${userPath}\n${keyId}\n${asked}`];
  for (let depth = 0; depth <= segments.length; depth++) {
    const path = `/${segments.slice(0, depth).join("/")}`;
    const parent = depth === 0 ? "" : `/${segments.slice(0, depth - 1).join("/")}`;
    keys.push(
      `t\n${parent}\n${segments[depth - 1] ?? ""}\n${day}`,
      `m\n${path}\n${day}\n${target}`,
    );
  }
  return keys;
}

/** What a sum of money holds, in pico-dollars. */
export function picosOf({
  microUsd,
  picoUsd,
}: {
  readonly microUsd: number;
  readonly picoUsd: number;
}): bigint {
  return BigInt(microUsd) * 1_000_000n + BigInt(picoUsd);
}

interface RecordedUsage {
  readonly atMs: number;
  readonly userPath: string;
  readonly keyId: string;
  readonly session?: string;
  readonly provider: string;
  readonly model: string;
  readonly cacheHit: boolean;
  readonly status: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalCost: number | null;
}

/** All that records add up to. */
export function rollupsOf(
  records: readonly RecordedUsage[],
  labelsOf: (keyId: string) => readonly string[],
): RollupOracle {
  const sums: RollupOracle = new Map();
  for (const {
    atMs,
    userPath,
    keyId,
    provider,
    model,
    cacheHit,
    inputTokens,
    outputTokens,
    totalCost,
    status,
  } of records) {
    if (cacheHit) continue;
    const day = new Date(atMs).toISOString().slice(0, 10);
    for (const key of [
      ...rollupKeysOf(userPath, day, `${provider}\n${model}`, { keyId }),
      ...labelsOf(keyId).map((label) => `l\n${label}\n${day}`),
    ]) {
      const { requests, tokens, cost, unpriced } = sums.get(key) ?? {
        requests: 0,
        tokens: 0,
        cost: 0n,
        unpriced: 0,
      };
      sums.set(key, {
        requests: requests + (status === interimStatus ? 0 : 1),
        tokens: tokens + inputTokens + outputTokens,
        cost: cost + BigInt(totalCost ?? 0),
        unpriced: unpriced + (totalCost === null && status !== interimStatus ? 1 : 0),
      });
    }
  }
  return sums;
}

/** Whether what ended at a time counts for a daily or a rolling budget now. */
function countsNow(
  {
    periodSeconds,
    timeZone,
    rolling,
  }: Pick<BudgetDefinition, "periodSeconds" | "timeZone" | "rolling">,
  atMs: number,
  nowMs: number,
): boolean {
  if (rolling === true || periodSeconds === 0) {
    const seconds = periodSeconds === 0 ? 7 * 86_400 : periodSeconds;
    const sliceMs = Math.ceil(seconds / 30) * 1000;
    return Math.floor(atMs / sliceMs) * sliceMs + seconds * 1000 + sliceMs > nowMs;
  }
  if (timeZone === undefined)
    return Math.floor(atMs / 86_400_000) === Math.floor(nowMs / 86_400_000);
  const days = formats.get(timeZone) ?? new Intl.DateTimeFormat("sv-SE", { timeZone });
  formats.set(timeZone, days);
  return days.format(atMs) === days.format(nowMs);
}

/** Local days as texts, by time zone. */
const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * What daily and rolling budgets have spent at a moment, by scope, subject, account and models:
 * what ended in the running period, and not before their last reset. Accounts that spent nothing
 * aren't there.
 */
export function accountsOf(
  records: readonly RecordedUsage[],
  budgets: readonly {
    readonly definition: {
      readonly scope: string;
      readonly subject: string;
      readonly perChild: boolean;
      readonly models?: string | undefined;
    } & Pick<BudgetDefinition, "periodSeconds" | "timeZone" | "rolling">;
    readonly resetAtMs: number | null;
  }[],
  labelsOf: (keyId: string) => readonly string[],
  nowMs: number,
): Map<string, bigint> {
  const spent = new Map<string, bigint>();
  for (const { definition, resetAtMs } of budgets) {
    const { scope, subject, perChild, models, periodSeconds } = definition;
    for (const record of records) {
      const { atMs, userPath, keyId, provider, model, cacheHit, totalCost } = record;
      const { session = "" } = record;
      if (
        cacheHit ||
        (models !== undefined && !isForModel(models, provider, model)) ||
        !totalCost ||
        !countsNow(definition, atMs, nowMs) ||
        (periodSeconds === 0 && session === "") ||
        (resetAtMs !== null && atMs < resetAtMs)
      )
        continue;
      const below = subject === "/" ? userPath.slice(1) : userPath.slice(subject.length + 1);
      const covered =
        userPath === subject || userPath.startsWith(subject === "/" ? "/" : `${subject}/`);
      const whose =
        scope === "label"
          ? labelsOf(keyId).includes(subject)
            ? subject
            : null
          : scope === "provider" || scope === "model"
            ? isForModel(scope === "model" ? subject : `${subject}/*`, provider, model)
              ? subject
              : null
            : !covered
              ? null
              : !perChild
                ? subject
                : below === ""
                  ? null
                  : `${subject === "/" ? "" : subject}/${below.split("/")[0]}`;
      if (whose === null) continue;
      const account = periodSeconds === 0 ? `${userPath} ${session}` : whose;
      const key = `${scope} ${subject} ${account}${models === undefined ? "" : ` ${models}`}`;
      spent.set(key, (spent.get(key) ?? 0n) + BigInt(totalCost));
    }
  }
  return spent;
}
