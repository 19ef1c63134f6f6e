/** Checks the virtual models of the file; their targets are configured providers' models. */
import { show } from "../../checked.js";
import { parseSubject } from "../../domain/rule.js";
import { didYouMean } from "../closest-name.js";
import type { VirtualModelConfig } from "../config.js";
import type { DeclaredTarget, DeclaredVirtualModel } from "../file/config-file.js";
import { type ModelNamings, writtenName } from "../model-name.js";

/** Checks sources, and targets against the names of the configured providers. */
export function resolveVirtualModels(
  declared: readonly DeclaredVirtualModel[],
  { names: providerNames, namings }: KnownProviders,
  problems: string[],
): readonly VirtualModelConfig[] {
  const sources = new Set(declared.map(({ source }) => source));
  return declared.map(({ path, source, strategy, affinity, targets }) => {
    const name = parseSubject("model", source, path);
    if (!name.ok || name.value !== source)
      problems.push(
        `${path} must be named with a model id: without a leading or trailing slash or white space`,
      );
    if (affinity === "conversation" && (strategy === "failover" || strategy === "cost"))
      problems.push(
        `${path}.affinity must not be conversation with the strategy ${strategy}, which has the same order for all conversations`,
      );
    return {
      source,
      strategy: strategy ?? "round_robin",
      ...(affinity === "session" ? {} : { affinity }),
      targets: targets.flatMap((target) => {
        const names = { source, sources, providerNames, namings };
        return resolveTarget(target, names, problems) ?? [];
      }),
    };
  });
}

interface KnownProviders {
  /** Including those declared wrongly: a reference to one is no further problem. */
  readonly names: readonly string[];
  readonly namings: ModelNamings;
}

interface Names {
  /** The target's virtual model, and all virtual models. */
  readonly source: string;
  readonly sources: ReadonlySet<string>;
  readonly providerNames: readonly string[];
  readonly namings: ModelNamings;
}

function resolveTarget(
  target: DeclaredTarget,
  { source, sources, providerNames, namings }: Names,
  problems: string[],
): VirtualModelConfig["targets"][number] | null {
  const path = `${target.path}.model`;
  // A name with a slash may be both a source and a provider's model; a target always means the
  // provider's.
  if (sources.has(target.model) && (target.model !== source || !target.model.includes("/"))) {
    problems.push(
      `${path} must be provider/model, not the virtual model ${show(target.model)}: a virtual model can't be a target`,
    );
    return null;
  }
  const slash = target.model.indexOf("/");
  const [provider, model] = [
    target.model.slice(0, Math.max(slash, 0)),
    target.model.slice(slash + 1),
  ];
  const id = parseSubject("model", model, path);
  if (provider === "" || !id.ok) {
    problems.push(`${path} must be provider/model, not ${show(target.model)}`);
    return null;
  }
  if (!providerNames.includes(provider)) {
    const hint = didYouMean(provider, providerNames);
    problems.push(`${path} names the provider ${show(provider)}, which isn't configured${hint}`);
    return null;
  }
  const naming = namings.get(provider);
  return {
    provider,
    model: naming === undefined ? id.value : writtenName(naming.type, id.value),
    weight: target.weight,
  };
}
