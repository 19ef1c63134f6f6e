/**
 * Resolves the model name of a request to targets (docs/reference/http-api.md, "Models"), and to
 * the names by which lists of models may allow it. The catalog is rebuilt when the configuration or
 * a provider's list is loaded; a request costs a few look-ups.
 *
 * Not here: loading the lists of providers, the order of targets, and rules.
 */

import { modelPatternBytesMax } from "../../shared/access/allowed-models.js";
import { subjectBytesMax } from "../../shared/bounds.js";
import type {
  Affinity,
  AliasConfig,
  ProviderConfig,
  Strategy,
  VirtualModelConfig,
} from "../../shared/config/config.js";
import {
  type ModelNaming,
  modelName,
  namingOf,
  writtenName,
} from "../../shared/config/model-name.js";
import type { Target } from "../../shared/domain/target-name.js";
import { utf8Bytes } from "../../shared/text/utf8-bytes.js";

export interface WeightedTarget extends Target {
  /** From 1. */
  readonly weight: number;
}

interface DirectRoute {
  readonly kind: "direct";
  /** The configured alias that the request named, if any. */
  readonly alias?: string;
  readonly targets: readonly [Target];
}

export interface VirtualRoute {
  readonly kind: "virtual";
  readonly alias?: string;
  readonly source: string;
  readonly strategy: Strategy;
  readonly affinity?: Affinity;
  readonly targets: readonly WeightedTarget[];
}

export type Route = DirectRoute | VirtualRoute;

export interface Catalog {
  readonly virtualModels: readonly VirtualRoute[];
  readonly virtualBySource: ReadonlyMap<string, VirtualRoute>;
  readonly virtualByLowerSource: ReadonlyMap<string, VirtualRoute>;
  /** The name as configured, by its lower case. */
  readonly providerByLowerName: ReadonlyMap<string, string>;
  /** The first provider that lists a bare id. */
  readonly byBareId: ReadonlyMap<string, DirectRoute>;
  readonly aliases: ModelAliases;
  /** The first provider that takes any id. */
  readonly anyIdProvider: string | null;
  /** Providers whose list isn't loaded yet; an unknown name may be in it. */
  readonly unlearned: readonly string[];
  /** By the provider's name, in configuration order. */
  readonly knownModels: ReadonlyMap<string, KnownModels>;
}

/** The known models of a provider. */
interface KnownModels {
  readonly naming: ModelNaming;
  /** The ids in the order of its list. */
  readonly ids: readonly string[];
  /** The id by its lower case; the first of several. */
  readonly byLowerId: ReadonlyMap<string, string>;
  /** The one name of a model by its lower case. */
  readonly byLowerName: ReadonlyMap<string, string>;
  /** The models behind its moving aliases, as reported by its answers. */
  readonly executing: Executing;
}

/** The one name of a model by a moving alias in lower case. */
export type Executing = ReadonlyMap<string, string>;

const noneExecuting: Executing = new Map();

/** What `models: ["*"]` holds: any id. */
const anyId = "*";

/**
 * `learned` are the ids that providers without a configured list answered at `/models`, by provider
 * name; a configured list always wins. `executing` is by provider name, too. Ids that no rule could
 * name (empty, too long) are left out.
 */
export function buildCatalog(
  providers: readonly ProviderConfig[],
  virtualModels: readonly VirtualModelConfig[],
  learned: ReadonlyMap<string, readonly string[]>,
  {
    aliases = [],
    executing = new Map(),
  }: {
    readonly aliases?: readonly AliasConfig[];
    readonly executing?: ReadonlyMap<string, Executing>;
  } = {},
): Catalog {
  const byBareId = new Map<string, DirectRoute>();
  const knownModels = new Map<string, KnownModels>();
  for (const provider of providers) {
    const { name, type, models } = provider;
    const naming = namingOf(provider);
    const modelIds = models ?? learned.get(name) ?? [];
    const ids = [...new Set(modelIds.map((id) => writtenName(type, id)))].filter(
      (id) => id !== anyId && isUsable(id),
    );
    const byLowerId = new Map<string, string>();
    const byLowerName = new Map<string, string>();
    knownModels.set(name, {
      naming,
      ids,
      byLowerId,
      byLowerName,
      executing: executing.get(name) ?? noneExecuting,
    });
    for (const id of ids) {
      setIfAbsent(byLowerId, id.toLowerCase(), id);
      const oneName = modelName(naming, id);
      setIfAbsent(byLowerName, oneName.toLowerCase(), oneName);
    }
    for (const id of ids)
      setIfAbsent(byBareId, id, directRoute(targetAt({ knownModels }, name, id)));
  }
  const routes = virtualModels.map(
    (virtual): VirtualRoute => ({
      kind: "virtual",
      ...virtual,
      targets: virtual.targets.map(({ provider, model, weight }) => ({
        ...targetAt({ knownModels }, provider, model),
        weight,
      })),
    }),
  );
  const virtualBySource = new Map<string, VirtualRoute>();
  const virtualByLowerSource = new Map<string, VirtualRoute>();
  for (const route of routes) {
    setIfAbsent(virtualBySource, route.source, route);
    setIfAbsent(virtualByLowerSource, route.source.toLowerCase(), route);
  }
  const providerByLowerName = new Map<string, string>();
  for (const { name } of providers) setIfAbsent(providerByLowerName, name.toLowerCase(), name);
  const anyIdProvider = providers.find(({ models }) => models?.includes(anyId))?.name ?? null;
  return {
    virtualModels: routes,
    virtualBySource,
    virtualByLowerSource,
    providerByLowerName,
    byBareId,
    aliases: modelAliases(aliases),
    anyIdProvider,
    unlearned: [],
    knownModels,
  };
}

/**
 * The route of a name, or null: 404 `model_not_found`. White space around the name is dropped. In
 * order:
 *
 * 1. a virtual model, as written, then ignoring case; an alias of this name;
 * 2. `provider/id` with a configured provider, ignoring case, whether the provider lists the id or
 *    not: lists are often incomplete, and the provider knows best. The id is everything after the
 *    first slash: `openrouter/meta/llama-3` is `meta/llama-3` at `openrouter`;
 * 3. an alias for names that begin like this one, the longest first: what the operator says comes
 *    before what providers list;
 * 4. a bare id, as written, at the first provider that lists it, then at the first that lists it by
 *    another name or in another case;
 * 5. any other name by the alias `*`, else at the first provider with `models: ["*"]`; null while
 *    another provider's list is missing, because it may hold the name.
 */
export function resolveModel(catalog: Catalog, rawName: string): Route | null {
  const name = rawName.trim();
  if (!isUsable(name)) return null;
  const virtual =
    catalog.virtualBySource.get(name) ??
    (catalog.virtualByLowerSource.size > 0
      ? catalog.virtualByLowerSource.get(name.toLowerCase())
      : undefined);
  if (virtual !== undefined) return virtual;
  const alias = aliasNamed(catalog.aliases, name);
  if (alias !== undefined) return aliasRoute(catalog, alias, name);
  const slash = name.indexOf("/");
  if (slash > 0) {
    const provider = catalog.providerByLowerName.get(name.slice(0, slash).toLowerCase());
    if (provider !== undefined) {
      const target = targetAt(catalog, provider, name.slice(slash + 1));
      return target.model === "" ? null : directRoute(target);
    }
  }
  const prefixAlias = aliasByBeginning(catalog.aliases, name);
  if (prefixAlias !== undefined) return aliasRoute(catalog, prefixAlias, name);
  const bareRoute = catalog.byBareId.get(name);
  if (bareRoute !== undefined) return bareRoute;
  for (const [provider, { naming, byLowerName }] of catalog.knownModels)
    if (byLowerName.has(modelName(naming, name).toLowerCase()))
      return directRoute(targetAt(catalog, provider, name));
  return restRoute(catalog, name);
}

/** The route of an otherwise unknown name. */
function restRoute(catalog: Catalog, name: string): Route | null {
  const { anyIdProvider, aliases, unlearned } = catalog;
  const to = aliases.rest?.to;
  // The provider of the rest alias would also execute names on its own list.
  const aliasProvider = to?.kind === "target" && to.model === null ? to.provider : null;
  if (unlearned.some((provider) => provider !== aliasProvider)) return null;
  if (aliases.rest !== null) return aliasRoute(catalog, aliases.rest, name);
  return anyIdProvider === null ? null : directRoute(targetAt(catalog, anyIdProvider, name));
}

function aliasRoute(
  catalog: Catalog,
  { name: alias, to }: AliasConfig,
  nameInRequest: string,
): Route {
  if (to.kind === "virtual") return { ...catalog.virtualBySource.get(to.source)!, alias };
  if (to.model === null) return directRoute(targetAt(catalog, to.provider, nameInRequest));
  return { ...directRoute(targetAt(catalog, to.provider, to.model)), alias };
}

/** The configured alias or virtual model that the request named; empty if it named the model. */
export function requestedName(route: Route): string {
  return route.alias ?? (route.kind === "virtual" ? route.source : "");
}

/**
 * A target: the canonical model name for rules, prices and usage, and the name to send. For a
 * moving alias the canonical name is that of the current model, once known, and the sent name is
 * the alias. Both use the provider's spelling if it lists them, ignoring case.
 */
export function targetAt(
  { knownModels }: Pick<Catalog, "knownModels">,
  provider: string,
  nameAsWritten: string,
): Target {
  const { naming, byLowerId, byLowerName, executing } = knownModels.get(provider)!;
  const asWritten = writtenName(naming.type, nameAsWritten);
  const sent = byLowerId.get(asWritten.toLowerCase()) ?? asWritten;
  const oneName = modelName(naming, sent);
  const name = executing.size === 0 ? oneName : (executing.get(oneName.toLowerCase()) ?? oneName);
  const model = byLowerName.get(name.toLowerCase()) ?? name;
  return model === sent ? { provider, model } : { provider, model, sent };
}

export interface ListedModel {
  readonly id: string;
  readonly object: "model";
  /** Unknown for all of them; clients expect the field. */
  readonly created: 0;
  readonly owned_by: string;
}

/**
 * For GET /v1/models: virtual models and aliases first, then every known id under its provider's
 * name.
 */
export function listModels(catalog: Catalog): readonly ListedModel[] {
  const models = catalog.virtualModels.map(({ source }) => listedModel(source, "sluice"));
  for (const { name } of catalog.aliases.exact.values()) models.push(listedModel(name, "sluice"));
  for (const [provider, { ids }] of catalog.knownModels)
    for (const id of ids) models.push(listedModel(`${provider}/${id}`, provider));
  return models;
}

/** Suggestions for an unknown name: virtual models, aliases and bare ids, up to a maximum. */
export function modelNames(catalog: Catalog, max: number): readonly string[] {
  const names = catalog.virtualModels.map(({ source }) => source);
  for (const { name } of catalog.aliases.exact.values()) names.push(name);
  for (const id of catalog.byBareId.keys()) {
    if (names.length >= max) break;
    names.push(id);
  }
  return names;
}

export function listedModel(id: string, ownedBy: string): ListedModel {
  return { id, object: "model", created: 0, owned_by: ownedBy };
}

function directRoute(target: Target): DirectRoute {
  return { kind: "direct", targets: [target] };
}

/** The wire refuses longer names. */
function isUsable(name: string): boolean {
  return name !== "" && utf8Bytes(name) <= subjectBytesMax;
}

function setIfAbsent<T>(map: Map<string, T>, key: string, value: T): void {
  if (!map.has(key)) map.set(key, value);
}

interface ModelAliases {
  /** Aliases without an asterisk, by lower-case name. */
  readonly exact: ReadonlyMap<string, AliasConfig>;
  /** Aliases for a prefix, the longest first. */
  readonly beginnings: readonly { readonly begin: string; readonly alias: AliasConfig }[];
  /** The alias `*` for any name. */
  readonly rest: AliasConfig | null;
}

export function modelAliases(configured: readonly AliasConfig[]): ModelAliases {
  return {
    exact: new Map(
      configured
        .filter(({ name }) => !name.endsWith("*"))
        .map((alias) => [alias.name.toLowerCase(), alias]),
    ),
    beginnings: configured
      .filter(({ name }) => name.length > 1 && name.endsWith("*"))
      .map((alias) => ({ begin: alias.name.slice(0, -1).toLowerCase(), alias }))
      .sort((a, b) => b.begin.length - a.begin.length),
    rest: configured.find(({ name }) => name === "*") ?? null,
  };
}

export function aliasNamed({ exact }: ModelAliases, name: string): AliasConfig | undefined {
  return exact.size === 0 ? undefined : exact.get(name.toLowerCase());
}

/** The alias whose prefix matches; not `*`. */
export function aliasByBeginning(
  { beginnings }: ModelAliases,
  name: string,
): AliasConfig | undefined {
  if (beginnings.length === 0) return undefined;
  const lower = name.toLowerCase();
  return beginnings.find(({ begin }) => lower.startsWith(begin))?.alias;
}

/**
 * The names by which a list of models may allow a request (docs/authentication.md, "Models"): the
 * requested model's canonical name, and the name as the client wrote it. The targets of a virtual
 * model don't count: the operator chose them for its name.
 *
 * An alias such as `gpt-*` counts by that configured name, not by the requested one. Otherwise it
 * would run its target for any name that a list allows, even if no model has that name.
 */
export function allowableNames(
  { providerByLowerName }: Pick<Catalog, "providerByLowerName">,
  route: Route,
): readonly string[] {
  const names = route.kind === "virtual" ? [cutName(route.source)] : directNames(route.targets[0]);
  return route.alias === undefined ? names : [cutName(route.alias), ...names];

  function directNames({ provider, model, sent }: Target): readonly string[] {
    if (sent === undefined) return namesOf(provider, model);
    const knownNames = namesOf(provider, sent);
    // OpenRouter's presets may run other models beside the one that is named.
    return /@preset\//i.test(sent) ? knownNames : [...namesOf(provider, model), ...knownNames];
  }

  function namesOf(provider: string, model: string): readonly string[] {
    const name = cutName(`${provider}/${model}`);
    const slash = model.indexOf("/");
    // `openai/gpt-4o` at a reseller isn't what a list means by `openai/gpt-4o`, as with rules.
    return slash > 0 && providerByLowerName.has(model.slice(0, slash).toLowerCase())
      ? [name]
      : [name, cutName(model)];
  }
}

/** Cuts a name at the longest pattern, because the wire takes no name that is much longer. */
function cutName(name: string): string {
  return name.slice(0, modelPatternBytesMax + 1);
}
