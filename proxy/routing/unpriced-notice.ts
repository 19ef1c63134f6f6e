/**
 * Models without a price: those of the configuration, before their first use, and one log line for
 * each that requests use.
 */
import { pricedTargetsMax } from "../../shared/bounds.js";
import type { Config } from "../../shared/config/config.js";
import { type Target, targetName } from "../../shared/domain/target-name.js";
import type { Log } from "../../shared/log.js";
import type { PriceTable } from "./price-table.js";

/**
 * The models that the configuration names and that have no price, by their qualified ids: in model
 * lists, aliases and targets of virtual models; and those of `qualified`, names with a provider's,
 * such as the models of managed keys. Models of a simulator cost nothing.
 */
export function unpricedModels(
  { providers, aliases, virtualModels }: Pick<Config, "providers" | "aliases" | "virtualModels">,
  { priceOf }: Pick<PriceTable, "priceOf">,
  qualified: readonly string[] = [],
): readonly string[] {
  const billing = providers.filter(({ type }) => type !== "simulator");
  const listed = billing.flatMap(({ name, models }) =>
    (models ?? []).map((model): Target => ({ provider: name, model })),
  );
  const aliased = aliases.flatMap(({ to }) =>
    to.kind === "target" && to.model !== null ? [{ provider: to.provider, model: to.model }] : [],
  );
  const further = qualified.flatMap((text): Target[] => {
    const slash = text.indexOf("/");
    const found = billing.find(({ name }) => name.toLowerCase() === text.slice(0, slash));
    return found === undefined ? [] : [{ provider: found.name, model: text.slice(slash + 1) }];
  });
  const ofVirtual = virtualModels.flatMap(({ targets }) => targets);
  const named = [...listed, ...aliased, ...ofVirtual, ...further];
  const names = new Set(billing.map(({ name }) => name));
  const unpriced = named.filter(
    (target) =>
      names.has(target.provider) && !target.model.includes("*") && priceOf(target) === null,
  );
  return [...new Set(unpriced.map(targetName))];
}

/** The models of a simulator cost nothing: they are never named. */
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
    const ofProvider = noticed.get(provider);
    if (ofProvider?.has(model) || count >= pricedTargetsMax || simulators.has(provider)) return;
    count++;
    noticed.set(provider, (ofProvider ?? new Set()).add(model));
    const name = targetName(target);
    log.warn({ target: name }, "a model without a price was used: no budget counts it");
  };
}
