/**
 * Models without a price: those of the configuration, before their first use, and one log line for
 * each that requests use.
 */
import { pricedTargetsMax } from "../../shared/bounds.js";
import type { Config } from "../../shared/config/config.js";
import { simulatorModels } from "../../shared/config/settings/provider-settings.js";
import { type Target, targetName } from "../../shared/domain/target-name.js";
import type { Log } from "../../shared/log.js";
import type { TargetPrices } from "./target-prices.js";

/**
 * The models without a price that the configuration names, by their qualified ids: in model lists,
 * aliases and targets of virtual models; and those in `further`, such as the models of managed keys
 * and limits. A name without a provider is unpriced if no provider has a price for it. Models of a
 * simulator cost nothing.
 */
export function unpricedModels(
  { providers, aliases, virtualModels }: Pick<Config, "providers" | "aliases" | "virtualModels">,
  { priceOf }: Pick<TargetPrices, "priceOf">,
  further: readonly string[] = [],
): readonly string[] {
  const billing = providers.filter(({ type }) => type !== "simulator");
  const configured = billing.flatMap(({ name, models }) =>
    (models ?? []).map((model): Target => ({ provider: name, model })),
  );
  const aliased = aliases.flatMap(({ to }) =>
    to.kind === "target" && to.model !== null ? [{ provider: to.provider, model: to.model }] : [],
  );
  const qualified: Target[] = [];
  const bare: string[] = [];
  for (const text of further) {
    const slash = text.indexOf("/");
    const provider = providers.find(({ name }) => name.toLowerCase() === text.slice(0, slash));
    if (provider === undefined) bare.push(text);
    else qualified.push({ provider: provider.name, model: text.slice(slash + 1) });
  }
  const virtualTargets = virtualModels.flatMap(({ targets }) => targets);
  const candidates = [...configured, ...aliased, ...virtualTargets, ...qualified];
  const names = new Set(billing.map(({ name }) => name));
  const unpriced = candidates.filter(
    (target) =>
      names.has(target.provider) && !target.model.includes("*") && priceOf(target) === null,
  );
  const free = providers.filter(({ type }) => type === "simulator");
  const others = [
    ...aliases.map(({ name }) => name),
    ...virtualModels.map(({ source }) => source),
    ...free.flatMap(({ models }) => models ?? simulatorModels),
  ];
  const isOther = (name: string): boolean =>
    others.some((targetOfOther) =>
      targetOfOther.endsWith("*")
        ? name.toLowerCase().startsWith(targetOfOther.slice(0, -1).toLowerCase())
        : name.toLowerCase() === targetOfOther.toLowerCase(),
    );
  const unpricedBare = bare.filter(
    (model) =>
      billing.length > 0 &&
      !model.includes("*") &&
      !isOther(model) &&
      billing.every(({ name }) => priceOf({ provider: name, model }) === null),
  );
  return [...new Set([...unpriced.map(targetName), ...unpricedBare])];
}

/** Logs each unpriced model once. Models of a simulator cost nothing, so they are never logged. */
export function createUnpricedNotice(
  providers: Config["providers"],
  log: Pick<Log, "warn">,
): (target: Target) => void {
  const simulators = new Set(
    providers.filter(({ type }) => type === "simulator").map(({ name }) => name),
  );
  const noticed = new Map<string, Set<string>>();
  let count = 0;
  return (target) => {
    const { provider, model } = target;
    const noticedModels = noticed.get(provider);
    if (noticedModels?.has(model) || count >= pricedTargetsMax || simulators.has(provider)) return;
    count++;
    noticed.set(provider, (noticedModels ?? new Set()).add(model));
    const name = targetName(target);
    log.warn({ target: name }, "a model without a price was used: no budget counts it");
  };
}
