/**
 * Valid but probably unintended parts of a configuration, beyond the warnings of a start: typical
 * mistakes in a first configuration. Pure. The messages never quote a secret.
 */
import { didYouMean } from "../../shared/config/closest-name.js";
import type { Config, ProviderConfig } from "../../shared/config/config.js";
import { writtenName } from "../../shared/config/model-name.js";
import { type Preset, presetAt, presets } from "../../shared/config/presets.js";
import { providerTraits } from "../../shared/config/provider-type.js";
import { managedKeyPrefix } from "../../shared/domain/managed-key.js";

/** One line per mistake, beginning with the path in the file where there is one. */
export function likelyMistakes(
  config: Config,
  knownModels: readonly string[] = [],
): readonly string[] {
  const { providers, virtualModels, aliases, server } = config;
  return [
    ...virtualModels.flatMap(({ source, targets }) =>
      targets.flatMap((target, i) =>
        unlistedModelText(
          providers,
          target,
          `${keyIn("virtual_models", source)}.targets[${i}].model`,
        ),
      ),
    ),
    ...aliases.flatMap(({ name, to }) =>
      to.kind === "target" && to.model !== null
        ? unlistedModelText(providers, { ...to, model: to.model }, keyIn("aliases", name))
        : [],
    ),
    ...providers.flatMap((provider) => [
      ...missingKey(provider, knownModels),
      ...foreignKey(provider),
      ...placeholderKey(provider),
      ...otherAddress(provider),
    ]),
    ...weakMasterKey(server.masterKey),
  ];
}

function keyIn(section: string, name: string): string {
  return /^[\w-]+$/.test(name) ? `${section}.${name}` : `${section}[${JSON.stringify(name)}]`;
}

/** A model that its provider doesn't list: requests for it fail at the provider. */
function unlistedModelText(
  providers: readonly ProviderConfig[],
  target: { readonly provider: string; readonly model: string },
  path: string,
): readonly string[] {
  const provider = providers.find(({ name }) => name === target.provider);
  const models = provider?.models ?? ["*"];
  const id = provider === undefined ? target.model : writtenName(provider.type, target.model);
  if (
    models.includes("*") ||
    models.some((listedModel) => listedModel.toLowerCase() === id.toLowerCase())
  )
    return [];
  const list = `providers.${target.provider}.models`;
  return [`${path}: ${target.model} isn't among ${list}${didYouMean(target.model, models)}`];
}

/** The service at its address, if known. */
function serviceOf({ baseUrl }: ProviderConfig): Preset | null {
  return (baseUrl === "" ? undefined : presetAt(baseUrl)) ?? null;
}

function missingKey(provider: ProviderConfig, knownModels: readonly string[]): readonly string[] {
  const service = serviceOf(provider);
  const { name, apiKey, apiKeys, apiKeyFile, apiKeyCommand, headers, headerFiles } = provider;
  const hasKey =
    headers.length > 0 ||
    headerFiles.length > 0 ||
    [apiKey, apiKeys, apiKeyFile, apiKeyCommand].some((key) => key !== null);
  const isKnown = knownModels.some((text) => text.startsWith(`providers.${name}.api_key needs `));
  if (service === null || service.isKeyless || hasKey || isKnown) return [];
  return [
    `providers.${name} has no key, and ${service.name} refuses requests without one: set ${service.keyVariable}, or providers.${name}.api_key`,
  ];
}

function foreignKey(provider: ProviderConfig): readonly string[] {
  const service = serviceOf(provider);
  const { apiKey } = provider;
  if (service === null || apiKey === null) return [];
  const owner = apiKey.startsWith(managedKeyPrefix)
    ? "this gateway"
    : presets.find(({ keyPrefix }) => keyPrefix !== null && apiKey.startsWith(keyPrefix))?.name;
  if (owner === undefined || owner === service.name) return [];
  return [
    `providers.${provider.name}: its key looks like one of ${owner}, and goes to ${service.name}`,
  ];
}

const placeholders =
  /^(?:<.*>|\[.*\]|.*\.\.\.|(?:sk-)?x{3,}|(?:sk-)?\*+|(?:sk-)?(?:your|my|the)[-_].*|change[-_]?me|replace[-_]?me|todo|placeholder|dummy)$/i;

/** An example's key that was never replaced. Services of one's own often take any key. */
function placeholderKey(provider: ProviderConfig): readonly string[] {
  const { name, apiKey } = provider;
  return apiKey === null || serviceOf(provider) === null || !placeholders.test(apiKey)
    ? []
    : [`providers.${name}.api_key looks like the placeholder of an example, not like a key`];
}

/** A server address that lacks the path of its API: `https://api.openai.com`. */
function otherAddress({ name, baseUrl, type }: ProviderConfig): readonly string[] {
  const usual = presetAt(baseUrl)?.baseUrl ?? providerTraits[type].baseUrl;
  if (baseUrl === "" || usual === null || new URL(baseUrl).pathname.length > 1) return [];
  const { pathname } = new URL(usual);
  if (pathname.length <= 1) return [];
  const suggestion = `${baseUrl.replace(/\/+$/, "")}${pathname}`;
  return [
    `providers.${name}.base_url: the API is usually below ${pathname}: did you mean ${suggestion}?`,
  ];
}

/** Generated keys have at least sixteen characters. */
const masterKeyCharsMin = 16;

function weakMasterKey(key: string | null): readonly string[] {
  if (key === null || (key.length >= masterKeyCharsMin && new Set(key).size > 5)) return [];
  return [
    `server.master_key can be guessed: it should have ${masterKeyCharsMin} characters at least, such as openssl rand -hex 32 prints`,
  ];
}
