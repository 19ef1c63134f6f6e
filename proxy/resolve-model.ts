/**
 * Which provider and model a name stands for (CONTRACT section 9, "Models"): a virtual model, an id
 * qualified by its provider, a bare id that a provider lists, a provider that takes any. The order of
 * a virtual model's targets is in `order-targets.ts`.
 */
import type { ProviderConfig, Strategy, VirtualModelConfig } from "../shared/config/config.js";
import type { Target } from "../shared/wire/message.js";

export interface WeightedTarget extends Target {
  readonly weight: number;
}

export type Route =
  | { readonly kind: "direct"; readonly targets: readonly [Target] }
  | { readonly kind: "virtual"; readonly source: string; readonly strategy: Strategy; readonly targets: readonly WeightedTarget[] };

/** Built once for each change of what is known, asked for each request. */
export interface Catalog {
  readonly virtual: ReadonlyMap<string, Route>;
  /** By lower-case name. */
  readonly providers: ReadonlyMap<string, string>;
  readonly bare: ReadonlyMap<string, Route>;
  /** The first provider that takes any id. */
  readonly catchAll: string | null;
  readonly listed: readonly ListedModel[];
}

/** An item of GET /v1/models. */
export interface ListedModel {
  readonly id: string;
  readonly object: "model";
  readonly created: 0;
  readonly owned_by: string;
}

/** `learned`: what providers without a configured list answered, by provider name. */
export function buildCatalog(providers: readonly ProviderConfig[], virtualModels: readonly VirtualModelConfig[], learned: ReadonlyMap<string, readonly string[]>): Catalog {
  const virtual = new Map<string, Route>();
  const bare = new Map<string, Route>();
  const listed: ListedModel[] = [];
  for (const { source, strategy, targets } of virtualModels) {
    virtual.set(source, { kind: "virtual", source, strategy, targets });
    listed.push({ id: source, object: "model", created: 0, owned_by: "sluice" });
  }
  for (const { name, models } of providers) {
    for (const id of models ?? learned.get(name) ?? []) {
      if (id === "*") continue;
      if (!bare.has(id)) bare.set(id, direct(name, id));
      listed.push({ id: `${name}/${id}`, object: "model", created: 0, owned_by: name });
    }
  }
  return {
    virtual,
    bare,
    providers: new Map(providers.map(({ name }) => [name.toLowerCase(), name])),
    catchAll: providers.find(({ models }) => models?.includes("*"))?.name ?? null,
    listed,
  };
}

function direct(provider: string, model: string): Route {
  return { kind: "direct", targets: [{ provider, model }] };
}

/** The route of a model name, or null when nothing knows it. A qualified id is the provider's to judge: its list may lag behind. */
export function resolveModel(catalog: Catalog, name: string): Route | null {
  const alias = catalog.virtual.get(name);
  if (alias !== undefined) return alias;
  const slash = name.indexOf("/");
  if (slash > 0 && slash < name.length - 1) {
    const provider = catalog.providers.get(name.slice(0, slash).toLowerCase());
    if (provider !== undefined) return direct(provider, name.slice(slash + 1));
  }
  return catalog.bare.get(name) ?? (catalog.catchAll === null ? null : direct(catalog.catchAll, name));
}

/** What GET /v1/models lists: virtual models first, then each provider's, qualified. */
export function listModels(catalog: Catalog): readonly ListedModel[] {
  return catalog.listed;
}
