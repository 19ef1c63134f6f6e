/**
 * The traffic and the open circuits of each provider, as all proxies together report them. Pure.
 */
import type { FailingSpan, TargetTrafficItem } from "../../../../shared/api/request-item.js";

export interface ProviderTraffic {
  readonly attempts: number;
  /** Null without attempts. */
  readonly errorRate: number | null;
  /** When the target that has most recently begun to fail did so. */
  readonly failing: FailingSpan | null;
  readonly lastError: TargetTrafficItem["last_error"];
  /** Targets with an open circuit in a proxy. */
  readonly open: readonly string[];
}

/** `openTargets`: as of the daemon's status, each with its reason. */
export function providerTraffic(
  provider: string,
  targets: readonly TargetTrafficItem[],
  openTargets: readonly string[],
): ProviderTraffic {
  const isOfProvider = (target: string): boolean => target.startsWith(`${provider}/`);
  const providerTargets = targets.filter(({ target }) => isOfProvider(target));
  const attempts = providerTargets.reduce((sum, target) => sum + target.attempts, 0);
  const failed = providerTargets.reduce(
    (sum, { attempts, error_rate }) => sum + attempts * (error_rate ?? 0),
    0,
  );
  const spans = providerTargets.flatMap(({ failing }) => failing ?? []);
  const errors = providerTargets.flatMap(({ last_error }) => last_error ?? []);
  return {
    attempts,
    errorRate: attempts === 0 ? null : failed / attempts,
    failing: spans.toSorted((a, b) => (a.from < b.from ? 1 : -1))[0] ?? null,
    lastError: errors.toSorted((a, b) => (a.at < b.at ? 1 : -1))[0] ?? null,
    open: openTargets.filter(isOfProvider),
  };
}
