/**
 * GET /admin/providers and /admin/config (docs/reference/admin-api.md): the providers of this
 * proxy, and its settings with their sources. Neither contains credentials.
 */
import type { SettingsList, TargetItem } from "../../../shared/api/gateway-status.js";
import type { PriceItem, ProviderItem, ProviderList } from "../../../shared/api/provider-item.js";
import { shortName } from "../../../shared/checked.js";
import type { AliasConfig, ProviderConfig } from "../../../shared/config/config.js";
import { type Price, priceScales } from "../../../shared/domain/price.js";
import { targetName } from "../../../shared/domain/target-name.js";
import { formatMillis } from "../../../shared/time.js";
import { version } from "../../../shared/version.js";
import type { Gateway } from "../../gateway.js";
import { replyJson } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";
import { refusesParameters } from "./admin-json.js";
import { failingTargets } from "./targets-api.js";

/** Models shown per provider: an aggregator has thousands. */
const modelsShownMax = 200;

type ProviderParts = Pick<Gateway, "config" | "models" | "prices" | "targetHealth" | "nowMs">;

export async function replyProviders(
  context: RequestContext<"config" | "models" | "prices" | "targetHealth" | "nowMs">,
): Promise<void> {
  if (refusesParameters(context)) return;
  const { gateway, exchange, record } = context;
  const { config } = gateway;
  const failing = failingTargets(gateway);
  const list: ProviderList = {
    providers: config.providers.map((provider) => providerItem(gateway, provider, failing)),
    virtual_models: config.virtualModels.map(({ source, strategy, affinity, targets }) => ({
      name: source,
      strategy,
      affinity: affinity ?? null,
      targets: targets.map((target) => ({ target: targetName(target), weight: target.weight })),
    })),
    aliases: config.aliases.map(({ name, to }) => ({ name, target: aliasTarget(to) })),
    server_time: formatMillis(gateway.nowMs()),
  };
  record.end(200, "answered");
  replyJson(exchange, 200, list);
}

export async function replyConfig(context: RequestContext<"config" | "capacity">): Promise<void> {
  if (refusesParameters(context)) return;
  const { gateway, exchange, record } = context;
  const { file, settings } = gateway.config;
  // Their defaults depend on the machine.
  const measured = new Map([
    ["server.max_held_bytes", gateway.capacity.memory.max],
    ["server.max_connections", gateway.capacity.connections.max],
  ]);
  const inForce = settings.map((setting) => {
    const value = setting.source === "default" ? measured.get(setting.path) : undefined;
    return value === undefined ? setting : { ...setting, value: String(value) };
  });
  const list: SettingsList = { version, file, settings: inForce };
  record.end(200, "answered");
  replyJson(exchange, 200, list);
}

function providerItem(
  { models, prices, targetHealth }: ProviderParts,
  provider: ProviderConfig,
  failing: readonly TargetItem[],
): ProviderItem {
  const { name, type, baseUrl } = provider;
  const ids = models.current().knownModels.get(name)?.ids ?? [];
  const learnedAtMs = models.learnedAtMs(name);
  const { answeredAtMs, failure } = targetHealth.lastOf(name);
  return {
    name,
    type,
    host: baseUrl === "" ? null : new URL(baseUrl).host,
    key_source: keySource(provider),
    operations: [...provider.operations],
    models_from:
      provider.models === null ? "listed" : provider.models.includes("*") ? "any" : "configured",
    models_learned_at: learnedAtMs === null ? null : formatMillis(learnedAtMs),
    models_total: ids.length,
    models: ids.slice(0, modelsShownMax).map((id) => ({
      id,
      price: priceItem(prices.priceOf({ provider: name, model: id })),
    })),
    last_success_at: answeredAtMs === null ? null : formatMillis(answeredAtMs),
    last_failure:
      failure === null
        ? null
        : { at: formatMillis(failure.atMs), model: failure.model, reason: shortName(failure.why) },
    failing: failing.filter(({ target }) => target.startsWith(`${name}/`)),
  };
}

function keySource(provider: ProviderConfig): ProviderItem["key_source"] {
  if (provider.apiKeyCommand !== null) return "command";
  if (provider.apiKeyFile !== null) return "file";
  if (provider.apiKeys !== null) return "keys";
  return provider.apiKey === null ? "none" : "key";
}

function priceItem(price: Price | null): PriceItem | null {
  if (price === null) return null;
  const { rates, tiers, perRequest } = price;
  const usd = (rate: number | null): number | null =>
    rate === null ? null : rate / priceScales.usdPerMillion;
  return {
    input: usd(rates.input),
    output: usd(rates.output),
    cached_input: usd(rates.cachedInput),
    cache_write_input: usd(rates.cacheWrite),
    per_request: perRequest / priceScales.usd,
    tiered: tiers.length > 0,
  };
}

function aliasTarget(to: AliasConfig["to"]): string {
  return to.kind === "virtual" ? to.source : `${to.provider}/${to.model ?? "*"}`;
}
