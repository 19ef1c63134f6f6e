/**
 * One name for one model: some providers know a model by several names, and rules, prices and usage
 * must know which are the same. The name is made when a request, a configuration or a provider's
 * list names a model; from there on it is the only one.
 *
 * Not here: which models a provider has, and how it spells them (`proxy/routing/resolve-model.ts`).
 */
import { namesProvider } from "../domain/rule.js";
import type { ProviderConfig } from "./config.js";
import { presetOf, type SameModel } from "./presets.js";
import type { ProviderType } from "./provider-type.js";

/** What a type of provider leaves out, or takes as understood, in its models' names. */
const understood: Readonly<Partial<Record<ProviderType, readonly RegExp[]>>> = {
  // Its own API says `models/gemini-2.5-flash`, and its list of models too.
  gemini: [/^(?:models\/)+/i],
  // Its names are those of a registry: host, namespace, model, tag.
  ollama: [/^(?:https?:\/\/)?(?:registry\.ollama\.ai\/)?(?:library\/)?/i, /:latest$/i],
};

/**
 * Aliases and snapshots that are one model at one price: `claude-sonnet-4-5-20250929`,
 * `claude-3-5-haiku-latest`, `gemini-2.0-flash-001`. OpenAI's snapshots, and its `…-latest`, have
 * prices of their own: they aren't here.
 */
const sameAtType: Readonly<Partial<Record<ProviderType, SameModel>>> = {
  anthropic: [
    [/^(claude-[\w.-]*?)[-@](?:latest|20\d{6})$/i, "$1"],
    [/^(claude-(?:opus|sonnet)-4)-0$/i, "$1"],
  ],
  gemini: [[/^(gemini-\d[\w.-]*?)-(?:latest|\d{3})$/i, "$1"]],
};

/** As `movingAlias` of a preset. */
const movingAtType: Readonly<Partial<Record<ProviderType, RegExp>>> = {
  gemini: /^gemini-(?!\d)[\w.-]*-latest$/i,
};

/** How the models of a provider are named. */
export interface ModelNaming {
  readonly type: ProviderType;
  readonly sameModel: SameModel;
  readonly movingAlias: RegExp | null;
}

export function namingOf({ name, type, baseUrl }: Named): ModelNaming {
  const known = presetOf({ name, baseUrl: baseUrl ?? "" });
  const preset = known?.type === type ? known : null;
  return {
    type,
    sameModel: [...(sameAtType[type] ?? []), ...(preset?.sameModel ?? [])],
    movingAlias: movingAtType[type] ?? preset?.movingAlias ?? null,
  };
}

type Named = Pick<ProviderConfig, "name" | "type"> & Partial<Pick<ProviderConfig, "baseUrl">>;

/** The name that a provider is sent: as it is written, without what means nothing to its type. */
export function writtenName(type: ProviderType, written: string): string {
  return replaced(
    written,
    (understood[type] ?? []).map((part) => [part, ""]),
  );
}

/** The one name of a provider's model, which rules, prices and usage know. */
export function modelName({ type, sameModel }: ModelNaming, written: string): string {
  return replaced(writtenName(type, written), sameModel);
}

/** Whether this is an alias that the provider moves from model to model, and nothing beside it. */
export function isMovingAlias({ movingAlias }: ModelNaming, name: string): boolean {
  return movingAlias?.test(name) === true;
}

/** What is replaced may be there twice: `models/ models/x`, `x:latest:latest`. */
function replaced(written: string, parts: SameModel): string {
  let [before, name] = ["", written.trim()];
  while (name !== before) {
    before = name;
    for (const [part, by] of parts) name = name.replace(part, by).trim();
    if (name === "") return before;
  }
  return name;
}

/** How the configured providers name models, by the providers' names in lower case. */
export type ModelNamings = ReadonlyMap<string, ModelNaming>;

export function namingsOf(providers: readonly Named[]): ModelNamings {
  return new Map(providers.map((provider) => [provider.name.toLowerCase(), namingOf(provider)]));
}

/**
 * What a rule's subject stands for, in lower case: a provider's model, by the one name that it has;
 * or a model's name, as it is at all providers, and as those call it that know it by another one.
 */
export function modelSubjects(
  subject: string,
  namings: ModelNamings,
): readonly [string, ...string[]] {
  const written = subject.toLowerCase();
  if (namesProvider(written, namings)) {
    const slash = written.indexOf("/");
    const provider = written.slice(0, slash);
    return [`${provider}/${modelName(namings.get(provider)!, written.slice(slash + 1))}`];
  }
  const others = [...namings].flatMap(([provider, naming]) => {
    const name = modelName(naming, written);
    return name === written ? [] : [`${provider}/${name}`];
  });
  return [written, ...others];
}
