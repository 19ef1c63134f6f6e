/**
 * The names by which a list of models may allow a request (docs/authentication.md, "Models"): what
 * it asks for. The targets of a virtual model don't count: its operator chose them for its name.
 */
import { modelPatternBytesMax } from "../../shared/access/allowed-models.js";
import type { Catalog, Route } from "./resolve-model.js";

/**
 * An alias counts by its configured name: one for `gpt-*` would otherwise run its target for each
 * name that a list allows and nobody has.
 */
export function allowableNames(
  { providerByLowerName }: Pick<Catalog, "providerByLowerName">,
  route: Route,
): readonly string[] {
  const names: string[] = [];
  if (route.alias !== undefined) names.push(compared(route.alias));
  if (route.kind === "virtual") {
    names.push(compared(route.source));
    return names;
  }
  const { provider, model } = route.targets[0];
  names.push(compared(`${provider}/${model}`));
  const before = model.slice(0, Math.max(model.indexOf("/"), 0)).toLowerCase();
  // `openai/gpt-4o` at a reseller isn't what a list means by `openai/gpt-4o`, as with rules.
  if (!providerByLowerName.has(before)) names.push(compared(model));
  return names;
}

/** No pattern is longer, and the wire takes no name that is much longer. */
function compared(name: string): string {
  return name.slice(0, modelPatternBytesMax + 1);
}
