/**
 * Resolves a model's name to its candidate targets by the configuration only, as a proxy does
 * before its providers have listed their models.
 */

import { loadPriceList } from "../../proxy/prices/price-list.js";
import { createTargetPrices, needsPriceList } from "../../proxy/prices/target-prices.js";
import { createTargetOrder } from "../../proxy/routing/order-targets.js";
import { allowableNames, buildCatalog, resolveModel } from "../../proxy/routing/resolve-model.js";
import type { Config } from "../../shared/config/config.js";
import { mcpTarget, type Target } from "../../shared/domain/target-name.js";

type ResolvedTargets =
  | {
      readonly ok: true;
      readonly targets: readonly Target[];
      /** The names by which a key's list can allow the model. */
      readonly names: readonly string[];
    }
  | {
      readonly ok: false;
      readonly reason: string;
      /** Whether a running proxy knows more models. */
      readonly proxyKnows: boolean;
    };

/** Best first; for `round_robin` the order of a proxy's first request. */
export async function resolveTargets(
  config: Pick<
    Config,
    "providers" | "virtualModels" | "prices" | "aliases" | "priceListFile" | "mcpServers"
  >,
  model: string,
): Promise<ResolvedTargets> {
  const { providers, virtualModels, aliases, mcpServers } = config;
  const tool = mcpTarget(model, (provider) => mcpServers.some(({ name }) => name === provider));
  if (tool !== null)
    return { ok: true, targets: [tool], names: [`${tool.provider}/${tool.model}`] };
  const unlearned = providers.filter(({ models }) => models === null).map(({ name }) => name);
  const catalog = buildCatalog(providers, virtualModels, new Map(), { aliases });
  const route = resolveModel({ ...catalog, unlearned }, model);
  if (route !== null) {
    const prices = createTargetPrices(config, {
      list: needsPriceList(config) ? await loadPriceList(config.priceListFile) : null,
      nowMs: () => Date.now(),
    });
    return {
      ok: true,
      targets: createTargetOrder(prices.costOf)
        .peek(route)
        .map((target) => ({ provider: target.provider, model: target.model })),
      names: allowableNames(catalog, route),
    };
  }
  const quotedModel = JSON.stringify(model);
  if (unlearned.length === 0)
    return {
      ok: false,
      proxyKnows: false,
      reason: `--model ${quotedModel} is no virtual model and no configured provider lists it`,
    };
  const list = unlearned.length === 1 ? "lists its models" : "list their models";
  const reason = [
    `--model ${quotedModel} can't be resolved by the configuration alone`,
    `${unlearned.join(", ")} ${list} to a running proxy only`,
  ].join(": ");
  return {
    ok: false,
    proxyKnows: true,
    reason: `${reason}; write provider/model`,
  };
}
