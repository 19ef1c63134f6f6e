/**
 * The known models: those that the configuration names, and those that each provider without a
 * `models` list returns for GET /models, at the start and then periodically. `resolve-model.ts`
 * resolves names.
 */

import { isObject } from "../../shared/checked.js";
import { didYouMean } from "../../shared/config/closest-name.js";
import type { Config, ProviderConfig } from "../../shared/config/config.js";
import { isMovingAlias, writtenName } from "../../shared/config/model-name.js";
import type { ProviderType } from "../../shared/config/provider-type.js";
import { modelNameProblem, sentModel, type Target } from "../../shared/domain/target-name.js";
import { type Failure, failure } from "../../shared/error-code.js";
import type { Upstream } from "../upstream/upstream.js";
import { type ModelSize, readSize, unknownSize } from "./model-sizes.js";
import {
  buildCatalog,
  type Catalog,
  type Executing,
  modelNames,
  type Route,
  resolveModel,
  targetAt,
} from "./resolve-model.js";

interface ModelCatalogPorts {
  readonly upstreams: ReadonlyMap<string, Upstream>;
  schedule(ms: number, run: () => void): void;
  nowMs(): number;
  onLearned(provider: string, models: number): void;
  onFailed(provider: string, reason: string): void;
}

export interface ModelCatalog {
  current(): Catalog;
  /**
   * Resolves when every provider has answered once, or after `firstAnswerMs`: an unknown name may
   * be known then.
   */
  firstLearned(): Promise<void>;
  /** Whether the target's name is an alias that its provider moves from model to model. */
  isMoving(target: Target): boolean;
  /**
   * Notes the model that the provider's answer to a moving alias names: from now on the alias
   * stands for that model. Returns the target that has executed the request; null if the answer
   * names no model.
   */
  executedTarget(target: Target, answeredModel: unknown): Target | null;
  /** The model's size, as the list of the target's provider states it. */
  learnedSize(target: Target): ModelSize;
  /** When a provider last listed its models, in wall time; null if never, or if it isn't asked. */
  learnedAtMs(provider: string): number | null;
  /** The providers that may list their models, and never have. */
  unlearned(): readonly string[];
  stop(): void;
}

/** Matches the names of models that are accepted from an answer. */
const modelId = /^[\w.:/@~+-]{1,200}$/;
const refreshMs = 10 * 60_000;
const retryMs = 30_000;
const firstAnswerMs = 3_000;
const listBytesMax = 8 * 1024 * 1024;
const modelsMax = 20_000;
/** The most moving aliases of one provider; providers have a handful. */
const movingAliasesMax = 100;

/** Starts loading the lists immediately. */
export function createModelCatalog(config: Config, ports: ModelCatalogPorts): ModelCatalog {
  const learned = new Map<string, readonly string[]>();
  const learnedAtMs = new Map<string, number>();
  const learnedSizes = new Map<string, ReadonlyMap<string, ModelSize>>();
  const executing = new Map<string, Executing>();
  /** The providers that have no list. */
  const listless = new Set<string>();
  const queried = config.providers.filter((provider) => provider.models === null);
  const unlearned = (): readonly string[] =>
    queried.map(({ name }) => name).filter((name) => !learned.has(name) && !listless.has(name));
  const build = (): Catalog => ({
    ...buildCatalog(config.providers, config.virtualModels, learned, {
      aliases: config.aliases,
      executing,
    }),
    unlearned: unlearned(),
  });
  let catalog = build();
  let isStopped = false;
  let unanswered = queried.length;
  let waiters: (() => void)[] = [];

  function refresh(provider: ProviderConfig, isFirst: boolean): void {
    if (isStopped) return;
    void fetchModels(ports.upstreams.get(provider.name)!, provider).then((answer) => {
      if (answer.ok) {
        learned.set(provider.name, answer.models);
        learnedSizes.set(provider.name, answer.sizes);
        learnedAtMs.set(provider.name, ports.nowMs());
        catalog = build();
        if (isFirst) ports.onLearned(provider.name, answer.models.length);
      } else {
        if (answer.hasNone === true && !listless.has(provider.name)) {
          listless.add(provider.name);
          catalog = build();
        }
        ports.onFailed(provider.name, answer.reason);
      }
      if (isFirst && --unanswered === 0) release();
      ports.schedule(answer.ok ? refreshMs : retryMs, () => refresh(provider, false));
    });
  }

  function executedTarget(target: Target, answeredModel: unknown): Target | null {
    const { provider } = target;
    const { naming } = catalog.knownModels.get(provider)!;
    if (typeof answeredModel !== "string" || !modelId.test(answeredModel)) return null;
    const answering = targetAt(catalog, provider, answeredModel);
    if (isMovingAlias(naming, sentModel(answering))) return null;
    const { model } = answering;
    const sent = sentModel(target);
    const targetsByModel = executing.get(provider) ?? new Map<string, string>();
    const alias = sent.toLowerCase();
    // Each change makes a catalog; providers move aliases every few months.
    if (
      targetsByModel.get(alias) !== model &&
      (targetsByModel.has(alias) || targetsByModel.size < movingAliasesMax)
    ) {
      executing.set(provider, new Map(targetsByModel).set(alias, model));
      catalog = build();
    }
    return { provider, model, sent };
  }

  function release(): void {
    const run = waiters;
    waiters = [];
    for (const resolve of run) resolve();
  }

  for (const provider of queried) refresh(provider, true);
  if (queried.length > 0)
    ports.schedule(firstAnswerMs, () => {
      unanswered = 0;
      release();
    });
  return {
    current: () => catalog,
    isMoving: (target) =>
      isMovingAlias(catalog.knownModels.get(target.provider)!.naming, sentModel(target)),
    executedTarget,
    firstLearned: () =>
      unanswered <= 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve)),
    learnedSize: (target) =>
      learnedSizes.get(target.provider)?.get(sentModel(target)) ?? unknownSize,
    learnedAtMs: (provider) => learnedAtMs.get(provider) ?? null,
    unlearned,
    stop() {
      isStopped = true;
      release();
    },
  };
}

/** The route of a name, once every provider has listed its models: a bare id may be one of them. */
export async function resolveOnceLearned(
  { models }: { readonly models: ModelCatalog },
  name: string,
): Promise<Route | null> {
  await models.firstLearned();
  return resolveModel(models.current(), name);
}

interface UnknownModel {
  readonly failure: Failure;
  readonly headers: readonly string[];
}

/**
 * The failure for an unknown model: 404, or 503 as long as the model may be one of a provider whose
 * list hasn't been loaded.
 */
export function unknownModel(models: ModelCatalog, name: string): UnknownModel {
  const [unlearned] = models.unlearned();
  const current = models.current();
  if (unlearned === undefined) return { failure: noSuchModel(current, name), headers: [] };
  return {
    failure: {
      ...failure(
        "provider_unavailable",
        `the model ${JSON.stringify(name)} is unknown; it may belong to provider ${unlearned}, whose models aren't loaded yet: try again, or name it as ${unlearned}/MODEL${providerHint(current, name) ?? ""}`,
        "model",
      ),
      status: 503,
    },
    headers: ["retry-after", String(retryMs / 1000)],
  };
}

/** The most names that are compared with an unknown one: a list may have thousands. */
const comparedMax = 500;

function noSuchModel(catalog: Catalog, name: string): Failure {
  const hint = providerHint(catalog, name) ?? didYouMean(name, modelNames(catalog, comparedMax));
  return failure(
    "model_not_found",
    `the model ${JSON.stringify(name)} does not exist: GET /v1/models lists those that do${hint}`,
    "model",
  );
}

/**
 * A hint for `opnai/gpt-4o`; null if its provider is configured, or no provider has a similar name.
 */
function providerHint({ providerByLowerName }: Catalog, name: string): string | null {
  const slash = name.indexOf("/");
  const provider = name.slice(0, slash);
  if (slash <= 0 || providerByLowerName.has(provider.toLowerCase())) return null;
  const hint = didYouMean(provider, [...new Set(providerByLowerName.values())]);
  return hint === "" ? null : `; no provider ${provider} is configured${hint}`;
}

type ModelsAnswer =
  | {
      readonly ok: true;
      readonly models: readonly string[];
      /** The sizes in the list, by the ids of the models at the provider. */
      readonly sizes: ReadonlyMap<string, ModelSize>;
    }
  /** `hasNone`: the provider answers, but doesn't list its models. */
  | { readonly ok: false; readonly reason: string; readonly hasNone?: boolean };

function fetchModels(upstream: Upstream, { type }: ProviderConfig): Promise<ModelsAnswer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let status = 0;
    const call = upstream.send(
      // Anthropic's page has twenty entries unless the query wants more.
      {
        method: "GET",
        path: type === "anthropic" ? "/models?limit=1000" : "/models",
        headers: ["accept", "application/json"],
        body: null,
        isRepeatable: true,
      },
      {
        onHead(code) {
          status = code;
        },
        onData(chunk) {
          bytes += chunk.length;
          chunks.push(chunk);
          if (bytes <= listBytesMax) return;
          call.abort();
          resolve({ ok: false, reason: `its list of models is larger than ${listBytesMax} bytes` });
        },
        onEnd: () =>
          resolve(
            status === 200
              ? readModels(Buffer.concat(chunks), type)
              : {
                  ok: false,
                  reason: `GET /models answered ${status}`,
                  hasNone: status === 404 || status === 405 || status === 501,
                },
          ),
        onFailure: (failure) => resolve({ ok: false, reason: failure.reason }),
        onBug: (error) => resolve({ ok: false, reason: String(error) }),
      },
    );
  });
}

/** Reads `{data: [{id}]}`, the form of OpenAI's API and of those modelled on it. */
function readModels(body: Buffer, type: ProviderType): ModelsAnswer {
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch {
    return { ok: false, reason: "GET /models did not answer with JSON" };
  }
  const data: unknown =
    typeof value === "object" && value !== null && "data" in value ? value.data : value;
  if (!Array.isArray(data)) return { ok: false, reason: "GET /models did not answer with a list" };
  const models: string[] = [];
  const sizes = new Map<string, ModelSize>();
  for (const item of data.slice(0, modelsMax) as unknown[]) {
    if (!isObject(item)) continue;
    const { id } = item;
    if (typeof id !== "string" || id === "" || modelNameProblem(id) !== null) continue;
    models.push(id);
    const size = readSize(item);
    if (size.contextTokens !== null || size.outputTokens !== null)
      sizes.set(writtenName(type, id), size);
  }
  return { ok: true, models, sizes };
}
