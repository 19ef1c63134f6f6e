/** Whether a model that an exhausted limit names (`on_exhausted.use`) exists. */
import type { Exhaustible } from "../domain/on-exhausted.js";
import { type Failure, invalid } from "../error-code.js";
import { didYouMean } from "./closest-name.js";
import type { Config } from "./config.js";

type Models = Pick<Config, "providers" | "virtualModels"> & Partial<Pick<Config, "aliases">>;

/** Names in a message. */
const namesMax = 12;

/**
 * Returns why a model can't serve instead of an exhausted one, by one configuration; null if it
 * can.
 */
export type UseProblem = (limit: Exhaustible, param?: string) => Failure | null;

export function createUseProblem({ providers, virtualModels, aliases = [] }: Models): UseProblem {
  const mayHaveAny = providers.some(({ models }) => models === null || models.includes("*"));
  const names = [
    ...virtualModels.map(({ source }) => source),
    ...aliases.map(({ name }) => name),
    ...providers.flatMap(({ name, models }) => (models ?? []).map((id) => `${name}/${id}`)),
  ];
  const bare = new Set(providers.flatMap(({ models }) => models ?? []).map(lower));
  const isKnown = (name: string): boolean =>
    bare.has(name) ||
    names.some((candidate) => meets(lower(candidate), name)) ||
    // A provider may have models that its list leaves out.
    providers.some((provider) => name.startsWith(`${lower(provider.name)}/`));
  return ({ onExhausted }, param = "on_exhausted.use") => {
    if (typeof onExhausted !== "object" || mayHaveAny) return null;
    const { use } = onExhausted;
    if (isKnown(lower(use))) return null;
    const more = names.length > namesMax ? `, and ${names.length - namesMax} more` : "";
    const expected =
      names.length === 0
        ? "and none is configured"
        : `such as ${names.slice(0, namesMax).join(", ")}${more}`;
    return invalid(
      `${param} must be a model that exists, ${expected}, not ${JSON.stringify(use)}${didYouMean(use, names)}`,
      param,
    );
  };
}

/** Whether an alias, whose name may end with an asterisk, or a model has this name. */
function meets(knownName: string, name: string): boolean {
  return knownName.endsWith("*") ? name.startsWith(knownName.slice(0, -1)) : knownName === name;
}

function lower(name: string): string {
  return name.toLowerCase();
}
