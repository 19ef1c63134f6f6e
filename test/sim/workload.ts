/**
 * Draws the work of the gateway from the seed: rules, requests and admin operations. Add new kinds
 * of traffic here.
 */
import {
  capFields,
  type MeasureCaps,
  type RuleDefinition,
  type RuleKey,
  ruleId,
  type Scope,
} from "../../shared/domain/rule.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { TokenWeights } from "../../shared/domain/token-weights.js";
import { detailNames } from "../../shared/usage/usage-details.js";
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
   * After how many ms its targets fail, one after the other; the first target beyond this list
   * succeeds.
   */
  readonly failsMs: readonly number[];
  readonly lastsMs: number;
  readonly tokens: number;
  /** The use that it reports while it runs at its last target, as a realtime session does. */
  readonly progress: readonly Progress[];
  /** Whether it can't go to another model when a rule that names one is exhausted. */
  readonly fixed: boolean;
  /** How long it may wait for room; null: it doesn't. */
  readonly waitMs: number | null;
  /** After how long its client leaves if it still waits; null: never. */
  readonly leavesMs: number | null;
  /** Whether its client or the provider ends it early. */
  readonly cut: boolean;
  /** Its usage record; null if nothing was executed. */
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
/** The tools that a rule on a path is for, and those that requests carry. */
const toolSets = ["tool:web_search", "tool:mcp:docs/*", "tool:* !tool:web_search"];
const carriedTools = ["web_search", "code_execution", "mcp:docs/find", "mcp:shop/buy"];
const periods = [0, 0, 1, 2, 5, 30, 60, 3600];

/** The targets to which a request goes when a rule that names this model is exhausted. */
export const modelsInstead: Readonly<Record<string, readonly Target[]>> = {
  cheap: [{ provider: "local", model: "Cheap" }],
  spare: [
    { provider: "azure", model: "gpt-4o" },
    { provider: "local", model: "Cheap" },
  ],
};

const tokenWeightings: readonly TokenWeights[] = [
  { cached: 0.1, cache_write: 1.25 },
  { reasoning: 0, output: 2.5 },
  { input: 0.333, cached: 0 },
];

/** In some seeds, the weights for rules without weights of their own. */
export function someDefaultWeights(seed: number): TokenWeights | null {
  return seed % 5 === 0 ? { cached: 0.5, reasoning: 3 } : null;
}

/** The field `when` of a body. */
export interface WhenBody {
  readonly days: readonly string[];
  readonly from: string;
  readonly to: string;
  readonly time_zone: string;
}

export function hoursOfBody({ days, from, to, time_zone }: WhenBody): string {
  return `${days.join(",")} ${from}-${to} ${time_zone}`;
}

function bodyOfHours(hours: string): WhenBody {
  const [days, times, time_zone] = hours.split(" ") as [string, string, string];
  const [from, to] = times.split("-") as [string, string];
  return { days: days.split(","), from, to, time_zone };
}

/**
 * Hours that begin or end at a minute of the first hour of 2026 in UTC, a Thursday. In some time
 * zones it is then another day.
 */
export function hoursAround(minute: number): readonly string[] {
  const timeAt = (minutes: number): string => {
    const inDay = (minutes + 2880) % 1440;
    return [Math.floor(inDay / 60), inDay % 60].map((n) => String(n).padStart(2, "0")).join(":");
  };
  return [
    `thu 00:00-${timeAt(minute)} UTC`,
    `mon,tue,wed,thu,fri ${timeAt(minute)}-23:59 UTC`,
    // 5:45 ahead, 5 hours behind.
    `wed,thu ${timeAt(minute + 345)}-${timeAt(minute + 347)} Asia/Kathmandu`,
    `tue,wed 18:00-${timeAt(minute - 300)} America/New_York`,
    // Until the next day.
    `wed 23:30-${timeAt(minute)} UTC`,
  ];
}

/** Rules of each scope, and templates, with such long periods that they count everything. */
export const ledgers: readonly RuleDefinition[] = [
  ledger("user_path", "/", 0, false),
  ledger("user_path", "/a", 1, true),
  ledger("user_path", "/a/b", 0, false),
  { ...ledger("user_path", "/", 0, false), models: "gpt-4o local/*" },
  { ...ledger("user_path", "/a", 0, true), models: "* !local/llama !openai/*" },
  ledger("provider", "openai", 0, false),
  ledger("model", "gpt-4o", 0, false),
  {
    ...ledger("user_path", "/b", 0, true),
    measureCaps: { input_tokens: 2 ** 50, output_tokens: 2 ** 50, cost: 9000 },
    tokenWeights: tokenWeightings[0]!,
  },
  { ...ledger("user_path", "/", 1, false), models: "tool:*", measureCaps: { tool_calls: 2 ** 50 } },
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

/** The key of a rule; `hours`: those that it may have. */
function someKey(random: Random, hours: readonly string[]): RuleKey {
  const scope = random.pick(["user_path", "user_path", "user_path", "provider", "model"] as const);
  const isForModels = scope === "user_path" && random.chance(0.4);
  return {
    scope,
    subject: random.pick(subjects[scope]),
    periodSeconds: random.pick(periods),
    ...(isForModels ? { models: random.pick(random.chance(0.4) ? toolSets : modelSets) } : {}),
    ...(random.chance(0.2) ? { when: random.pick(hours) } : {}),
  };
}

export function someRule(random: Random, hours: readonly string[]): RuleDefinition {
  return someCaps(random, someKey(random, hours), random.chance(0.4));
}

function someCaps(random: Random, key: RuleKey, perChild: boolean): RuleDefinition {
  const { scope, periodSeconds, models } = key;
  const rule = { ...key, perChild: perChild && scope === "user_path" };
  if (models !== undefined && random.chance(0.15))
    return { ...rule, maxRequests: 0, maxTokens: null };
  const isOverTime = periodSeconds !== 0;
  const both = random.chance(0.3);
  const measured = isOverTime ? someMeasures(random, models?.startsWith("tool:") === true) : {};
  const noRequests = !both && isOverTime && random.chance(0.3);
  const hasTokens = isOverTime && (both || (noRequests && measured.measureCaps === undefined));
  const isLenient = random.chance(0.2);
  return {
    ...rule,
    maxRequests: noRequests ? null : random.int(1, periodSeconds === 0 ? 12 : 60),
    maxTokens: hasTokens ? random.int(500, 40_000) : null,
    ...measured,
    ...(hasTokens || hasTokenMeasure(measured) ? someWeights(random) : {}),
    ...(isLenient
      ? { onExhausted: random.pick(["warn", { use: "cheap" }, { use: "spare" }] as const) }
      : {}),
  };
}

function someMeasures(random: Random, isForTools: boolean): MeasureCaps {
  if (random.chance(0.6)) return {};
  const caps = {
    ...(random.chance(0.4) ? { input_tokens: random.int(500, 20_000) } : {}),
    ...(random.chance(0.4) ? { output_tokens: random.int(500, 20_000) } : {}),
    ...(random.chance(0.4) ? { cost: random.int(1, 30) / 1000 } : {}),
    ...(isForTools && random.chance(0.7) ? { tool_calls: random.int(1, 20) } : {}),
  };
  return Object.keys(caps).length === 0 ? {} : { measureCaps: caps };
}

function hasTokenMeasure({ measureCaps = {} }: MeasureCaps): boolean {
  return measureCaps.input_tokens !== undefined || measureCaps.output_tokens !== undefined;
}

function someWeights(random: Random): MeasureCaps {
  return random.chance(0.4) ? { tokenWeights: random.pick(tokenWeightings) } : {};
}

/** Rules of a configuration, all with different ids. */
export function someRules(
  random: Random,
  hours: readonly string[],
  count: number,
): RuleDefinition[] {
  const rules = Array.from({ length: count }, () => someRule(random, hours));
  return [...new Map(rules.map((rule) => [ruleId(rule), rule])).values()];
}

/** Shadow rules, often tighter copies of `rules`, all with different ids. */
export function someShadows(
  random: Random,
  hours: readonly string[],
  rules: readonly RuleDefinition[],
): RuleDefinition[] {
  const drawn = someRules(random, hours, random.int(1, 5)).map((rule) =>
    random.chance(0.5) ? tightened(random.pick(rules)) : rule,
  );
  const shadows = drawn.map(
    ({ onExhausted: _, ...rule }): RuleDefinition => ({ ...rule, mode: "shadow" }),
  );
  return [...new Map(shadows.map((rule) => [ruleId(rule), rule])).values()];
}

/** A rule with lower caps, which its traffic reaches. */
function tightened({ maxRequests, maxTokens, ...key }: RuleDefinition): RuleDefinition {
  const lower = (cap: number | null, most: number): number | null =>
    cap === null || cap === 0 ? cap : Math.max(1, Math.floor(Math.min(cap, most) / 2));
  return { ...key, maxRequests: lower(maxRequests, 20), maxTokens: lower(maxTokens, 4000) };
}

/** The key of a rule as bodies have it. */
function keyBody({ scope, subject, periodSeconds, models, when, mode }: RuleDefinition) {
  return {
    scope,
    subject,
    limit_key: { period_seconds: periodSeconds },
    ...(models === undefined ? {} : { models: models.split(" ") }),
    ...(when === undefined ? {} : { when: bodyOfHours(when) }),
    ...(mode === undefined ? {} : { mode }),
  };
}

/** The body that writes a rule. */
function writeBody(rule: RuleDefinition) {
  const mayBeLenient = rule.maxRequests !== 0 && rule.mode === undefined;
  return {
    ...keyBody(rule),
    ...(mayBeLenient ? { on_exhausted: "refuse" } : {}),
    ...capFields(rule),
    per_child: rule.perChild,
  };
}

/** Writes, resets or deletes one of these shadow rules. */
export function someShadowOperation(random: Random, shadows: readonly RuleDefinition[]) {
  const rule = random.pick(shadows);
  const op = random.pick([
    "rate-limits.put",
    "rate-limits.delete",
    "rate-limits.reset-one",
  ] as const);
  return { op, body: op === "rate-limits.put" ? writeBody(rule) : keyBody(rule) };
}

export function someRequest(random: Random, number: number): SimulatedRequest {
  const cut = random.chance(0.15);
  const first = random.int(0, targets.length - 1);
  const candidates = random.chance(0.7) ? 1 : random.int(2, 3);
  const submission = random.chance(0.15);
  const tools = random.chance(0.3) ? { tools: someTools(random) } : {};
  return {
    number,
    path: random.pick(paths),
    targets: Array.from({ length: candidates }, (_, i) => ({
      ...targets[(first + i) % targets.length]!,
      ...tools,
    })),
    submission,
    fixed: random.chance(0.2),
    waitMs: null,
    leavesMs: null,
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

/** How a request waits, where some do. */
export function someWait(random: Random): Pick<SimulatedRequest, "waitMs" | "leavesMs"> {
  return {
    waitMs: random.chance(0.6) ? random.int(100, 2500) : null,
    leavesMs: random.chance(0.1) ? random.int(50, 1500) : null,
  };
}

/** The request id in the record of a request. */
export function recordId(number: number): string {
  return `request-${number}`;
}

/**
 * The request id in the record of a part: unlike in reality it differs for each part, so that the
 * checks find it.
 */
export function progressId(number: number, index: number): string {
  return `request-${number}-part-${index}`;
}

function someTools(random: Random): readonly string[] {
  const first = random.int(0, carriedTools.length - 1);
  return carriedTools.slice(first, first + random.int(1, 2));
}

/** The sessions that some requests name. */
export const sessionNames = ["s1", "s2"] as const;

const noDetails = Object.fromEntries(detailNames.map((name) => [name, 0])) as Readonly<
  Record<(typeof detailNames)[number], number>
>;

function someExecution(random: Random, number: number, { provider, model }: Target): Execution {
  const cost = random.chance(0.8) ? random.int(0, 2_000_000_000) : null;
  const [inputTokens, outputTokens] = [random.int(0, 2000), random.int(0, 2000)];
  const cachedInputTokens = random.chance(0.5) ? random.int(0, inputTokens) : 0;
  const isWritten = random.chance(0.3);
  const reasoningTokens = random.chance(0.4) ? random.int(0, outputTokens) : 0;
  const tools = random.chance(0.2) ? someTools(random) : [];
  const toolCalls = Object.fromEntries(tools.map((tool) => [tool, random.int(1, 5)]));
  return {
    requestId: recordId(number),
    endpoint: "/v1/chat/completions",
    provider,
    providerType: "openai",
    model,
    status: 200,
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cacheWriteInputTokens: isWritten ? random.int(0, inputTokens - cachedInputTokens) : 0,
    inputCost: cost,
    outputCost: cost === null ? null : 0,
    totalCost: cost,
    cacheHit: false,
    rewriteTokensSaved: 0,
    rewriteCostSaved: null,
    latencyMs: 1,
    firstByteMs: null,
    requestedModel: "",
    session: random.chance(0.4) ? random.pick(sessionNames) : "",
    details:
      reasoningTokens === 0
        ? null
        : { serviceTier: null, region: null, counts: { ...noDetails, reasoningTokens } },
    ...(tools.length === 0 ? {} : { toolCalls }),
    atMost: null,
    responseId: "",
    keyId: "",
  };
}

/**
 * An operation that raises one of these rules or a template's child for some seconds, or ends a
 * raise.
 */
export function someRaise(random: Random, rules: readonly RuleDefinition[]) {
  const raisable = rules.filter(({ periodSeconds }) => periodSeconds < ledgerSeconds / 2);
  const rule = random.pick(raisable.length > 0 ? raisable : rules);
  const { subject, maxRequests, maxTokens, perChild, measureCaps = {} } = rule;
  const above = subject === "/" ? "/" : `${subject}/`;
  const isOfChild = perChild && random.chance(0.6);
  const key = keyBody({
    ...rule,
    subject: isOfChild ? above + random.pick(["a", "b", "x"]) : subject,
  });
  if (random.chance(0.2)) return { op: "rate-limits.end-raise", body: key } as const;
  const raised = (cap: number | null, most: number): number | null =>
    cap === null || random.chance(0.1) ? null : Math.max(1, cap + random.int(-1, most));
  const measures = Object.entries(measureCaps).map(([measure, cap]) =>
    measure === "cost"
      ? ([measure, cap + random.int(0, 20) / 1000] as const)
      : ([measure, raised(cap, measure === "tool_calls" ? 20 : 20_000)] as const),
  );
  return {
    op: "rate-limits.raise",
    body: {
      ...key,
      ...capFields({
        maxRequests: raised(maxRequests, 40),
        maxTokens: raised(maxTokens, 40_000),
        measureCaps: Object.fromEntries(measures.filter(([, cap]) => cap !== null)),
      }),
      for_seconds: random.pick([1, 1, 2, 3, 600]),
      reason: "simulated",
    },
  } as const;
}

/** An operation and its body. `bare`: in a world that may have no rules at all. */
export function someOperation(
  random: Random,
  {
    bare,
    hours,
    rules,
  }: {
    readonly bare: boolean;
    readonly hours: readonly string[];
    /** The rules of the configuration, some of which are edited. */
    readonly rules: readonly RuleDefinition[];
  },
): { readonly op: AdminOp; readonly body: Readonly<Record<string, unknown>> } {
  const edited = rules.filter(({ periodSeconds }) => periodSeconds < ledgerSeconds / 2);
  const known =
    edited.length > 0 && random.chance(0.4) ? random.pick(edited) : someRule(random, hours);
  const { scope, subject, periodSeconds, models, when, perChild } = known;
  const rule = someCaps(random, { scope, subject, periodSeconds, models, when }, perChild);
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
      return { op, body: writeBody(rule) };
    case "rate-limits.delete":
      return { op, body: keyBody(rule) };
    case "rate-limits.reset-one": {
      const { limit_key: key, ...fields } = keyBody(rule);
      return { op, body: { ...fields, period: String(key.period_seconds) } };
    }
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
