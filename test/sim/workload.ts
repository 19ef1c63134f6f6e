/**
 * The work of the gateway: rules, requests and admin operations, all from the seed. A new kind
 * of traffic is a new entry here.
 */
import { type RuleDefinition, ruleId, type Scope } from "../../shared/domain/rule.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { AdminOp } from "../../shared/wire/admin-op.js";
import { type Execution, interimStatus } from "../../shared/wire/execution.js";
import { ledgerSeconds } from "./checks/compare-counters.js";
import type { Random } from "./random.js";

interface Progress {
  readonly tokens: number;
  readonly record: Execution | null;
}

export interface SimulatedRequest {
  readonly number: number;
  readonly path: string;
  readonly targets: readonly Target[];
  readonly submission: boolean;
  /**
   * After how long its first targets fail, one after the other; it ends at the first that doesn't.
   */
  readonly failsMs: readonly number[];
  readonly lastsMs: number;
  readonly tokens: number;
  /** What it reports as used while it runs at its last target, as a realtime session does. */
  readonly progress: readonly Progress[];
  /** Ended before its end: by its client, or by the provider. */
  readonly cut: boolean;
  /** What its usage record holds; null: nothing was executed. */
  readonly record: Execution | null;
}

export const paths = ["/", "/a", "/a/b", "/a/b/c", "/a/x", "/a/y/z", "/b", "/b/c", "/ab"] as const;
const targets: readonly Target[] = [
  { provider: "openai", model: "gpt-4o" },
  { provider: "OpenAI", model: "o3" },
  { provider: "local", model: "Llama" },
  { provider: "azure", model: "gpt-4o" },
  { provider: "local", model: "" },
];
const subjects: Readonly<Record<Scope, readonly string[]>> = {
  user_path: ["/", "/a", "/a", "/a/b", "/a/b/c", "/b", "/ab"],
  provider: ["openai", "local", "Azure"],
  model: ["gpt-4o", "openai/gpt-4o", "LLAMA", "local/llama"],
};
/** The models that a rule on a path is for. */
const modelSets = ["gpt-4o", "openai/*", "l* o3", "* !gpt-4o", "azure/gpt-4o local/l*"];
const periods = [0, 0, 1, 2, 5, 30, 60, 3600];

/**
 * Rules of so long a period that they count everything, of each scope and of a template's children.
 */
export const ledgers: readonly RuleDefinition[] = [
  ledger("user_path", "/", 0, false),
  ledger("user_path", "/a", 1, true),
  ledger("user_path", "/a/b", 0, false),
  { ...ledger("user_path", "/", 0, false), models: "gpt-4o local/*" },
  { ...ledger("user_path", "/a", 0, true), models: "* !local/llama !openai/*" },
  ledger("provider", "openai", 0, false),
  ledger("model", "gpt-4o", 0, false),
];

function ledger(scope: Scope, subject: string, shorter: number, perChild: boolean): RuleDefinition {
  return {
    scope,
    subject,
    periodSeconds: ledgerSeconds - shorter,
    maxRequests: Number.MAX_SAFE_INTEGER,
    maxTokens: Number.MAX_SAFE_INTEGER,
    perChild,
  };
}

export function someRule(random: Random): RuleDefinition {
  const scope = random.pick(["user_path", "user_path", "user_path", "provider", "model"] as const);
  const periodSeconds = random.pick(periods);
  const both = random.chance(0.3);
  const isForSome = scope === "user_path" && random.chance(0.3);
  if (isForSome && random.chance(0.15))
    return {
      ...{ scope, subject: random.pick(subjects[scope]), periodSeconds },
      ...{ maxRequests: 0, maxTokens: null, perChild: random.chance(0.4) },
      models: random.pick(modelSets),
    };
  const tokensOnly = !both && random.chance(0.3) && periodSeconds !== 0;
  return {
    scope,
    subject: random.pick(subjects[scope]),
    periodSeconds,
    maxRequests: tokensOnly ? null : random.int(1, periodSeconds === 0 ? 12 : 60),
    maxTokens: periodSeconds !== 0 && (both || tokensOnly) ? random.int(500, 40_000) : null,
    perChild: scope === "user_path" && random.chance(0.4),
    ...(isForSome ? { models: random.pick(modelSets) } : {}),
  };
}

/** Rules of the configuration, no two of one identity. */
export function someRules(random: Random, count: number): RuleDefinition[] {
  const rules = new Map<string, RuleDefinition>();
  for (let i = 0; i < count; i++) {
    const rule = someRule(random);
    const { scope, subject, periodSeconds, models = "" } = rule;
    rules.set(`${scope} ${subject.toLowerCase()} ${periodSeconds} ${models}`, rule);
  }
  return [...rules.values()];
}

/** Shadow rules, often tighter copies of these, no two of one identity. */
export function someShadows(random: Random, rules: readonly RuleDefinition[]): RuleDefinition[] {
  const drawn = someRules(random, random.int(1, 5)).map((rule) =>
    random.chance(0.5) ? tightened(random.pick(rules)) : rule,
  );
  const shadows = drawn.map((rule): RuleDefinition => ({ ...rule, mode: "shadow" }));
  return [...new Map(shadows.map((rule) => [ruleId(rule), rule])).values()];
}

/** A rule with caps that its traffic reaches. */
function tightened({ maxRequests, maxTokens, ...key }: RuleDefinition): RuleDefinition {
  const lower = (cap: number | null, most: number): number | null =>
    cap === null || cap === 0 ? cap : Math.max(1, Math.floor(Math.min(cap, most) / 2));
  return { ...key, maxRequests: lower(maxRequests, 20), maxTokens: lower(maxTokens, 4000) };
}

/** Writes, resets or deletes one of these shadow rules. */
export function someShadowOperation(random: Random, shadows: readonly RuleDefinition[]) {
  const { scope, subject, periodSeconds, models, maxRequests, maxTokens, perChild } =
    random.pick(shadows);
  const key = {
    ...{ scope, subject, mode: "shadow", limit_key: { period_seconds: periodSeconds } },
    ...(models === undefined ? {} : { models: models.split(" ") }),
  };
  const op = random.pick([
    "rate-limits.put",
    "rate-limits.delete",
    "rate-limits.reset-one",
  ] as const);
  if (op !== "rate-limits.put") return { op, body: key };
  const caps = {
    ...(maxRequests === null ? {} : { max_requests: maxRequests }),
    ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
  };
  return { op, body: { ...key, ...caps, per_child: perChild } };
}

export function someRequest(random: Random, number: number): SimulatedRequest {
  const cut = random.chance(0.15);
  const first = random.int(0, targets.length - 1);
  const candidates = random.chance(0.7) ? 1 : random.int(2, 3);
  const submission = random.chance(0.15);
  return {
    number,
    path: random.pick(paths),
    targets: Array.from({ length: candidates }, (_, i) => targets[(first + i) % targets.length]!),
    submission,
    failsMs: submission
      ? []
      : Array.from({ length: random.pick([0, 0, 1, 1, 2, 3]) }, () => random.skewed(0.1, 400)),
    lastsMs: random.chance(0.03) ? random.between(1500, 3500) : random.skewed(0.5, 1200),
    tokens: submission || (cut && random.chance(0.5)) ? 0 : random.int(0, 2000),
    cut,
    record: random.chance(0.9) ? someExecution(random, number, targets[first]!) : null,
    progress:
      submission || random.chance(0.92)
        ? []
        : Array.from({ length: random.int(1, 3) }, (_, i) => ({
            tokens: random.int(1, 500),
            record: {
              ...someExecution(random, number, targets[first]!),
              requestId: progressId(number, i),
              status: interimStatus,
            },
          })),
  };
}

/** Its id is the request's own. */
export function recordId(number: number): string {
  return `request-${number}`;
}

/** Each part of a request has an id of its own here, by which it is found again. */
export function progressId(number: number, index: number): string {
  return `request-${number}-part-${index}`;
}

function someExecution(random: Random, number: number, { provider, model }: Target): Execution {
  const cost = random.chance(0.8) ? random.int(0, 2_000_000_000) : null;
  return {
    requestId: recordId(number),
    endpoint: "/v1/chat/completions",
    provider,
    providerType: "openai",
    model,
    status: 200,
    inputTokens: random.int(0, 2000),
    outputTokens: random.int(0, 2000),
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    inputCost: cost,
    outputCost: cost === null ? null : 0,
    totalCost: cost,
    cacheHit: false,
    rewriteTokensSaved: 0,
    rewriteCostSaved: null,
    latencyMs: 1,
    firstByteMs: null,
    requestedModel: "",
    session: "",
    details: null,
    atMost: null,
    responseId: "",
    keyId: "",
  };
}

/** A raise of one of these rules, or of a child of a template, or the end of one; for seconds. */
export function someRaise(random: Random, rules: readonly RuleDefinition[]) {
  const raisable = rules.filter(({ periodSeconds }) => periodSeconds < ledgerSeconds / 2);
  const { scope, subject, periodSeconds, models, maxRequests, maxTokens, perChild } = random.pick(
    raisable.length > 0 ? raisable : rules,
  );
  const above = subject === "/" ? "/" : `${subject}/`;
  const isOfChild = perChild && random.chance(0.6);
  const key = {
    scope,
    subject: isOfChild ? above + random.pick(["a", "b", "x"]) : subject,
    limit_key: { period_seconds: periodSeconds },
    ...(models === undefined ? {} : { models: models.split(" ") }),
  };
  if (random.chance(0.2)) return { op: "rate-limits.end-raise", body: key } as const;
  const raised = (cap: number | null, most: number): number | null =>
    cap === null || random.chance(0.1) ? null : Math.max(1, cap + random.int(-1, most));
  const requests = raised(maxRequests, 40);
  const tokens = raised(maxTokens, 40_000);
  return {
    op: "rate-limits.raise",
    body: {
      ...key,
      ...(requests === null ? {} : { max_requests: requests }),
      ...(tokens === null ? {} : { max_tokens: tokens }),
      for_seconds: random.pick([1, 1, 2, 3, 600]),
      reason: "simulated",
    },
  } as const;
}

/** An operation and its body; `bare`: of a world that may have no rules at all. */
export function someOperation(
  random: Random,
  { bare }: { readonly bare: boolean },
): { readonly op: AdminOp; readonly body: Readonly<Record<string, unknown>> } {
  const { scope, subject, periodSeconds, models, maxRequests, maxTokens, perChild } =
    someRule(random);
  const forModels = models === undefined ? {} : { models: models.split(" ") };
  const key = { scope, subject, limit_key: { period_seconds: periodSeconds }, ...forModels };
  const op = random.pick([
    "rate-limits.put",
    "rate-limits.put",
    "rate-limits.put",
    "rate-limits.delete",
    "rate-limits.delete",
    "rate-limits.reset-one",
    "rate-limits.reset-one",
    "rate-limits.list",
    "status",
    "explain",
    bare ? "rate-limits.delete" : "rate-limits.reset",
  ] as const);
  switch (op) {
    case "rate-limits.put":
      return {
        op,
        body: {
          ...key,
          ...(maxRequests === null ? {} : { max_requests: maxRequests }),
          ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
          per_child: perChild,
        },
      };
    case "rate-limits.delete":
      return { op, body: key };
    case "rate-limits.reset-one":
      return { op, body: { scope, subject, period: String(periodSeconds), ...forModels } };
    case "rate-limits.reset":
      return { op, body: { confirmation: "reset" } };
    case "explain":
      return {
        op,
        body: {
          user_path: random.pick(paths),
          targets: [random.pick(targets), random.pick(targets)],
        },
      };
    default:
      return { op, body: {} };
  }
}
