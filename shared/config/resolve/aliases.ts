/**
 * Checks the aliases of the file: their names, and that their targets are configured. The order of
 * look-ups is in `proxy/routing/resolve-model.ts`.
 */
import { show } from "../../checked.js";
import { parseSubject } from "../../domain/rule.js";
import { didYouMean } from "../closest-name.js";
import type { AliasConfig } from "../config.js";
import type { DeclaredAlias } from "../file/config-file.js";
import { type ModelNamings, writtenName } from "../model-name.js";

/** The possible targets of an alias. */
interface AliasTargets {
  /** The names of providers, including those declared wrongly. */
  readonly names: readonly string[];
  readonly namings: ModelNamings;
  /** The names of virtual models. */
  readonly sources: readonly string[];
}

export function resolveAliases(
  declared: readonly DeclaredAlias[],
  models: AliasTargets,
  problems: string[],
): readonly AliasConfig[] {
  const first = new Map<string, string>();
  return declared.flatMap(({ path, name, target }): AliasConfig[] => {
    const lower = name.toLowerCase();
    const earlier = first.get(lower);
    const problem =
      earlier === undefined
        ? nameProblem(name, models)
        : `is the same name as ${earlier}: keep one of them`;
    first.set(lower, earlier ?? path);
    if (problem !== null) problems.push(`${path} ${problem}`);
    const to = resolveAliasTarget(target, name.endsWith("*"), models);
    if (typeof to === "string") problems.push(`${path} ${to}`);
    return problem !== null || typeof to === "string" ? [] : [{ name, to }];
  });
}

function nameProblem(name: string, { names, sources }: AliasTargets): string | null {
  if (name.slice(0, -1).includes("*")) return "may hold an asterisk at its end only";
  const id = name.endsWith("*") ? `${name.slice(0, -1)}x` : name;
  const subject = parseSubject("model", id, "");
  if (!subject.ok || subject.value !== id)
    return "must be named with a model id, or how ids begin and *, without white space around it or a slash at an end";
  const provider = name.slice(0, Math.max(name.indexOf("/"), 0)).toLowerCase();
  // A name that begins with a provider and a slash goes to that provider before aliases apply.
  if (name.endsWith("*") && names.some((providerName) => providerName.toLowerCase() === provider))
    return `would never apply: names that begin with ${provider}/ go to the provider ${provider}; name the models one by one, without an asterisk`;
  return sources.some((source) => source.toLowerCase() === name.toLowerCase())
    ? "is the name of a virtual model: keep one of them"
    : null;
}

/** The target that a text names, or the problem with it. */
function resolveAliasTarget(
  target: string,
  isBeginning: boolean,
  { names, namings, sources }: AliasTargets,
): AliasConfig["to"] | string {
  if (sources.includes(target)) return { kind: "virtual", source: target };
  const slash = target.indexOf("/");
  const [provider, model] = [target.slice(0, Math.max(slash, 0)), target.slice(slash + 1)];
  if (slash < 1)
    return `must be provider/model, provider/* or the name of a virtual model, not ${show(target)}${didYouMean(target, sources)}`;
  if (!names.includes(provider))
    return `names the provider ${show(provider)}, which isn't configured${didYouMean(provider, names)}`;
  if (model === "*")
    return isBeginning
      ? { kind: "target", provider, model: null }
      : "must name one model: provider/* is for a name that ends in *";
  const id = parseSubject("model", model, "");
  if (!id.ok) return `must be provider/model, not ${show(target)}`;
  const naming = namings.get(provider);
  return {
    kind: "target",
    provider,
    model: naming === undefined ? id.value : writtenName(naming.type, id.value),
  };
}
