/**
 * The aliases of the configuration, to be looked up by what a request names: as a whole, or by how
 * it begins. Letter case doesn't matter.
 */
import type { AliasConfig } from "../../shared/config/config.js";

export interface ModelAliases {
  /** Those without an asterisk, by their lower case. */
  readonly exact: ReadonlyMap<string, AliasConfig>;
  /** Those with one, the longest first, but for the next. */
  readonly beginnings: readonly { readonly begin: string; readonly alias: AliasConfig }[];
  /** The one for any name, `*`. */
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

/** The alias for names that begin like this one, other than the one for any. */
export function aliasByBeginning(
  { beginnings }: ModelAliases,
  name: string,
): AliasConfig | undefined {
  if (beginnings.length === 0) return undefined;
  const lower = name.toLowerCase();
  return beginnings.find(({ begin }) => lower.startsWith(begin))?.alias;
}
