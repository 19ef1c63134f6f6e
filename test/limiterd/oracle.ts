/**
 * The oracle: a slow, obvious limiter that shares no code with the daemon's. It keeps a list of all
 * that ever happened and derives every answer from the whole list, in unbounded integers.
 */

export interface OracleRule {
  readonly scope: "user_path" | "provider" | "model";
  readonly subject: string;
  readonly periodSeconds: number;
  readonly maxRequests: number | null;
  readonly maxTokens: number | null;
  readonly perChild: boolean;
  /** User paths only: the models or tools that it is for, with spaces between the patterns. */
  readonly models?: string | undefined;
  /** Days, times and a time zone: `thu,fri 09:00-17:00 Europe/Berlin`. */
  readonly when?: string | undefined;
  /** `cost` in US dollars. */
  readonly measureCaps?: Readonly<Partial<Record<OracleMeasure, number>>> | undefined;
  readonly tokenWeights?: OracleWeights | undefined;
  readonly onExhausted?: "warn" | { readonly use: string } | undefined;
}

export const oracleMeasures = ["input_tokens", "output_tokens", "cost", "tool_calls"] as const;
export type OracleMeasure = (typeof oracleMeasures)[number];

export type OracleWeights = Readonly<Record<string, number>>;

/** Higher caps of a rule until a moment: for all that it counts, or for one child. */
export interface OracleRaise {
  /** The rule's, or the child's path. */
  readonly subject: string;
  readonly untilMs: number;
  readonly maxRequests: number | null;
  readonly maxTokens: number | null;
  readonly measureCaps?: Readonly<Partial<Record<OracleMeasure, number>>> | undefined;
}

export interface OracleRequest {
  readonly path: string;
  readonly provider: string;
  readonly model: string;
  /** The tools that it carries. */
  readonly tools?: readonly string[] | undefined;
}

export type OracleKind = "requests" | "tokens" | "concurrent" | OracleMeasure;

/** What a response used. */
export interface OracleUse {
  readonly tokens: number;
  /** Null: nothing is known but the tokens. */
  readonly recorded: {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly cachedInputTokens: number;
    readonly cacheWriteInputTokens: number;
    readonly reasoningTokens: number;
    /** Pico-dollars. */
    readonly totalCost: number | null;
    readonly toolCalls: Readonly<Record<string, number>>;
  } | null;
}

/** What a rule with these weights counts of a response. */
export function amountUsed(
  { models }: Pick<OracleRule, "models">,
  weights: OracleWeights | null,
  kind: "tokens" | OracleMeasure,
  { tokens, recorded }: OracleUse,
): number {
  if (kind === "cost") return recorded?.totalCost ?? 0;
  if (kind === "tool_calls")
    return Object.entries(recorded?.toolCalls ?? {})
      .filter(([tool]) => isForTool(models ?? "", tool))
      .reduce((sum, [, calls]) => sum + calls, 0);
  if (recorded === null || (kind === "tokens" && weights === null)) return tokens;
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens } = recorded;
  const { reasoningTokens } = recorded;
  const byKind = {
    input: inputTokens - cachedInputTokens - cacheWriteInputTokens,
    cached: cachedInputTokens,
    cache_write: cacheWriteInputTokens,
    output: outputTokens - reasoningTokens,
    reasoning: reasoningTokens,
  };
  const weightOf = (name: string): number => {
    const general = ["output", "reasoning"].includes(name) ? "output" : "input";
    return weights?.[name] ?? weights?.[general] ?? 1;
  };
  let thousandths = 0n;
  for (const [name, amount] of Object.entries(byKind)) {
    const isOutput = name === "output" || name === "reasoning";
    if (kind === (isOutput ? "input_tokens" : "output_tokens")) continue;
    thousandths += BigInt(amount) * BigInt(Math.round(weightOf(name) * 1000));
  }
  return Number((thousandths + 999n) / 1000n);
}

const weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const clocks = new Map<string, Intl.DateTimeFormat>();

/** Whether a rule's hours are over, or haven't begun, as a wall clock of its zone shows. */
export function isOff({ when }: Pick<OracleRule, "when">, atMs: number): boolean {
  if (when === undefined) return false;
  const [days, times, timeZone] = when.split(" ") as [string, string, string];
  const clock =
    clocks.get(timeZone) ??
    new Intl.DateTimeFormat("en-GB", {
      ...{ timeZone, weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
    } as const);
  clocks.set(timeZone, clock);
  const parts = Object.fromEntries(
    clock.formatToParts(atMs).map(({ type, value }) => [type, value]),
  );
  const time = `${parts["hour"]}:${parts["minute"]}`;
  const today = weekdays.indexOf(parts["weekday"]!);
  const hasDay = (day: number): boolean =>
    days.split(",").includes(weekdays[(day + 7) % 7]!.toLowerCase());
  const [from, to] = times.split("-") as [string, string];
  const isOn =
    from < to
      ? hasDay(today) && time >= from && time < to
      : (hasDay(today) && time >= from) || (hasDay(today - 1) && time < to);
  return !isOn;
}

/** Full seconds until a rule's hours are over, or null if they aren't within so many seconds. */
function secondsToOff(rule: OracleRule, nowMs: number, seconds: number): number | null {
  if (rule.when === undefined) return null;
  const minuteMs = 60_000;
  const endMs = nowMs + seconds * 1000;
  for (let atMs = (Math.floor(nowMs / minuteMs) + 1) * minuteMs; atMs < endMs; atMs += minuteMs)
    if (isOff(rule, atMs)) return Math.ceil((atMs - nowMs) / 1000);
  return null;
}

interface OracleBreach {
  readonly place: number;
  readonly subject: string;
  readonly dimension: OracleKind | "banned";
  readonly cap: number;
  readonly wait: number;
  readonly models?: string;
  readonly when?: string;
  /** The model that may serve instead. */
  readonly use?: string;
}

/** The providers that there are, in lower case. */
export const oracleProviders = ["openai", "local", "azure"];

/** The same, as the limiter wants them. */
export const oracleProviderTypes = new Map(
  oracleProviders.map(
    (name) => [name, { type: "openai", sameModel: [], movingAlias: null }] as const,
  ),
);

/** Whom a rule counts this request for: itself, a child of its path, or nobody (null). */
export function counted(rule: OracleRule, request: OracleRequest): string | null {
  const { path, provider, model, tools = [] } = request;
  if (rule.scope === "provider")
    return provider.toLowerCase() === rule.subject.toLowerCase() ? rule.subject : null;
  if (rule.scope === "model") {
    const ofOne = oracleProviders.some((name) => rule.subject.toLowerCase().startsWith(`${name}/`));
    const id = ofOne ? `${provider}/${model}` : model;
    return id.toLowerCase() === rule.subject.toLowerCase() ? rule.subject : null;
  }
  const above = rule.subject === "/" ? "/" : `${rule.subject}/`;
  if (!`${path}/`.startsWith(above)) return null;
  if (rule.models?.includes("tool:") === true) {
    if (!tools.some((tool) => isForTool(rule.models!, tool))) return null;
  } else if (rule.models !== undefined && !isForModel(rule.models, provider, model)) return null;
  const child = path.slice(above.length).split("/")[0]!;
  return !rule.perChild ? rule.subject : child === "" ? null : above + child;
}

/** Whether a rule counts the attempts at targets, or the requests at their path. */
export function isOfTarget({ scope, models }: OracleRule): boolean {
  return scope !== "user_path" || models !== undefined;
}

/** Each pattern as a regular expression; one with `!` takes out what the others take in. */
export function isForModel(models: string, provider: string, model: string): boolean {
  // A submission goes to no target.
  if (provider === "") return false;
  const names = [`${provider}/${model}`, model].slice(
    0,
    oracleProviders.some((name) => model.toLowerCase().startsWith(`${name}/`)) ? 1 : 2,
  );
  const matches = (pattern: string): boolean => {
    const written = pattern.replace(/[.?+^$()[\]{}|\\]/g, "\\$&").replace("*", ".*");
    return names.some((name) => new RegExp(`^${written}$`, "is").test(name));
  };
  const patterns = models.split(" ");
  return (
    patterns.some((pattern) => !pattern.startsWith("!") && matches(pattern)) &&
    !patterns.some((pattern) => pattern.startsWith("!") && matches(pattern.slice(1)))
  );
}

/** Whether a list of tools, each with `tool:` in front, has this one. */
export function isForTool(models: string, tool: string): boolean {
  const patterns = models.split(" ").map((pattern) => pattern.replace("tool:", ""));
  const has = (pattern: string): boolean =>
    pattern.endsWith("*") ? tool.startsWith(pattern.slice(0, -1)) : tool === pattern;
  return (
    patterns.some((pattern) => !pattern.startsWith("!") && has(pattern)) &&
    !patterns.some((pattern) => pattern.startsWith("!") && has(pattern.slice(1)))
  );
}

/** Whether a rule refuses nothing: it warns, or the request may go to the model that it names. */
function isLenient({ onExhausted }: OracleRule, uses: readonly string[]): boolean {
  if (onExhausted === undefined) return false;
  return onExhausted === "warn" || uses.includes(onExhausted.use);
}

/** What a rule counts for somebody at a moment. */
export type Estimate<Rule> = (rule: Rule, who: string, kind: OracleKind, nowMs: number) => bigint;

/** Verdicts and headers from what is counted, whoever counts it. */
export function createJudge<Rule extends OracleRule>(
  unordered: readonly Rule[],
  estimate: Estimate<Rule>,
  raisesOf: (rule: Rule) => readonly OracleRaise[] = () => [],
) {
  const key = ({ scope, subject, periodSeconds, models = "", when = "" }: OracleRule): string =>
    [
      scope,
      scope === "user_path" ? subject : subject.toLowerCase(),
      String(periodSeconds).padStart(10, "0"),
      models,
      when,
    ].join("\n");
  const rules = [...unordered].sort((a, b) => (key(a) < key(b) ? -1 : 1));

  function capsNow(rule: Rule, who: string, nowMs: number) {
    const raises = raisesOf(rule).filter(
      ({ subject, untilMs }) => untilMs > nowMs && [rule.subject, who].includes(subject),
    );
    const most = (cap: number | null, raised: readonly (number | null)[]): number | null =>
      cap === null ? null : Math.max(cap, ...raised.map((value) => value ?? 0));
    const ofMeasure = (measure: OracleMeasure): number | null => {
      const cap = most(
        rule.measureCaps?.[measure] ?? null,
        raises.map(({ measureCaps }) => measureCaps?.[measure] ?? null),
      );
      return cap === null || measure !== "cost" ? cap : Math.max(1, Math.round(cap * 1e12));
    };
    return {
      requests: most(
        rule.maxRequests,
        raises.map(({ maxRequests }) => maxRequests),
      ),
      tokens: most(
        rule.maxTokens,
        raises.map(({ maxTokens }) => maxTokens),
      ),
      input_tokens: ofMeasure("input_tokens"),
      output_tokens: ofMeasure("output_tokens"),
      cost: ofMeasure("cost"),
      tool_calls: ofMeasure("tool_calls"),
    };
  }

  /** Why a rule refuses a request, whatever happens when it is exhausted. */
  function breachesOf(rule: Rule, place: number, of: OracleRequest, nowMs: number): OracleBreach[] {
    const subject = counted(rule, of);
    if (subject === null || isOff(rule, nowMs)) return [];
    const key = {
      ...(rule.models === undefined ? {} : { models: rule.models }),
      ...(rule.when === undefined ? {} : { when: rule.when }),
    };
    const now = capsNow(rule, subject, nowMs);
    // Never: no wait is longer.
    if (now.requests === 0)
      return [{ place, subject, dimension: "banned", cap: 0, wait: 2 ** 53 - 1, ...key }];
    const caps: readonly (readonly [OracleKind, number | null])[] =
      rule.periodSeconds === 0
        ? [["concurrent", now.requests]]
        : (["requests", "tokens", ...oracleMeasures] as const).map((kind) => [kind, now[kind]]);
    const use = typeof rule.onExhausted === "object" ? { use: rule.onExhausted.use } : {};
    return caps.flatMap(([dimension, cap]) => {
      if (cap === null || estimate(rule, subject, dimension, nowMs) < cap) return [];
      // Two periods on, nothing weighs any more; three, where the clock has stepped back by one.
      let [low, high] = [0, dimension === "concurrent" ? 1 : 3 * rule.periodSeconds + 1];
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (estimate(rule, subject, dimension, nowMs + middle * 1000) < cap) high = middle;
        else low = middle;
      }
      const wait = secondsToOff(rule, nowMs, high) ?? high;
      return [{ place, subject, dimension, cap, wait, ...key, ...use }];
    });
  }

  /** Every breach of these rules, with the seconds after which it would be none. */
  function breaches(
    of: OracleRequest,
    nowMs: number,
    { ofTarget, uses }: { readonly ofTarget: boolean; readonly uses: readonly string[] },
  ): OracleBreach[] {
    return rules.flatMap((rule, place) => {
      if (isOfTarget(rule) !== ofTarget) return [];
      const found = breachesOf(rule, place, of, nowMs);
      return isLenient(rule, uses) ? found.filter(isOfBan) : found;
    });
  }

  const isOfBan = ({ dimension }: OracleBreach): boolean => dimension === "banned";

  const longest = (found: readonly OracleBreach[]): OracleBreach | null =>
    [...found].sort((a, b) => b.wait - a.wait || a.place - b.place)[0] ?? null;

  /**
   * The tightest rule of a kind after this request: limit, what is left, seconds to the window's
   * end.
   */
  function triple(
    of: OracleRequest,
    kind: "requests" | "tokens" | OracleMeasure,
    nowMs: number,
  ): readonly [number, number, number] | null {
    const left = rules.flatMap((rule, place) => {
      const who = counted(rule, of);
      const cap = who === null ? null : capsNow(rule, who, nowMs)[kind];
      if (who === null || cap === null || rule.periodSeconds === 0 || isOff(rule, nowMs)) return [];
      const remaining = BigInt(cap) - estimate(rule, who, kind, nowMs);
      return [
        {
          place,
          cap,
          remaining: remaining < 0n ? 0 : Number(remaining),
          reset: rule.periodSeconds - Math.floor((nowMs % (rule.periodSeconds * 1000)) / 1000),
        },
      ];
    });
    const tightest = left.sort((a, b) => a.remaining - b.remaining || a.place - b.place)[0];
    return tightest === undefined ? null : [tightest.cap, tightest.remaining, tightest.reset];
  }

  return {
    /**
     * Looks only: the target that admits, or who refuses and for how long. In a reroute only the
     * targets are asked.
     */
    ask(
      path: string,
      targets: readonly Omit<OracleRequest, "path">[],
      nowMs: number,
      {
        isReroute = false,
        uses = [],
      }: { readonly isReroute?: boolean; readonly uses?: readonly string[] } = {},
    ) {
      const ofPath = isReroute
        ? null
        : longest(breaches({ path, ...targets[0]! }, nowMs, { ofTarget: false, uses }));
      const ofTargets = targets.map((target) =>
        longest(breaches({ path, ...target }, nowMs, { ofTarget: true, uses })),
      );
      const target = ofTargets.indexOf(null);
      if (target !== -1 && ofPath === null) return { target };
      const shortest =
        target !== -1 ? null : (ofTargets as OracleBreach[]).sort((a, b) => a.wait - b.wait)[0]!;
      const { place, ...breach } = longest([ofPath, shortest].filter((found) => found !== null))!;
      return {
        refused: {
          scope: rules[place]!.scope,
          periodSeconds: rules[place]!.periodSeconds,
          ...breach,
        },
      };
    },
    /** A submission: of the path's rules those that count over time are asked, and no target's. */
    submit(path: string, nowMs: number) {
      const found = longest(
        breaches({ path, provider: "", model: "" }, nowMs, { ofTarget: false, uses: [] }).filter(
          ({ dimension }) => dimension !== "concurrent",
        ),
      );
      if (found === null) return { target: 0 };
      const { place, ...breach } = found;
      return {
        refused: {
          scope: rules[place]!.scope,
          periodSeconds: rules[place]!.periodSeconds,
          ...breach,
        },
      };
    },
    triples: (of: OracleRequest, nowMs: number) => ({
      requests: triple(of, "requests", nowMs),
      tokens: triple(of, "tokens", nowMs),
    }),
    measureTriples: (of: OracleRequest, nowMs: number) =>
      Object.fromEntries(
        oracleMeasures.flatMap((measure) => {
          const found = triple(of, measure, nowMs);
          return found === null ? [] : [[measure, found]];
        }),
      ),
    /** The exhausted rules that don't refuse an admitted request: of each the longest wait. */
    exhausted(of: OracleRequest, nowMs: number, uses: readonly string[]) {
      return rules.flatMap((rule, place) => {
        if (!isLenient(rule, uses)) return [];
        const found = breachesOf(rule, place, of, nowMs);
        const ofRule = found.filter(({ dimension }) => !isMeasure(dimension));
        const ofMeasures = found.filter(({ dimension }) => isMeasure(dimension));
        return [longest(ofRule), ...ofMeasures]
          .filter((breach) => breach !== null)
          .map(({ place: _, ...breach }) => ({
            ...{ scope: rule.scope, periodSeconds: rule.periodSeconds },
            ...breach,
          }));
      });
    },
  };
}

function isMeasure(dimension: string): boolean {
  return oracleMeasures.some((measure) => measure === dimension);
}

/** A request with the tools that its answer reports: a provider may call more than were named. */
export function withCalledTools<R extends { readonly tools?: readonly string[] | undefined }>(
  of: R,
  { recorded }: OracleUse,
): R {
  const called = Object.keys(recorded?.toolCalls ?? {});
  return called.length === 0 ? of : { ...of, tools: [...(of.tools ?? []), ...called] };
}

export function createOracle(
  rules: readonly OracleRule[],
  {
    raisesOf,
    tokenWeights = null,
  }: {
    readonly raisesOf?: (rule: OracleRule) => readonly OracleRaise[];
    /** For rules without weights of their own. */
    readonly tokenWeights?: OracleWeights | null;
  } = {},
) {
  const begun: { readonly atMs: number; readonly of: OracleRequest }[] = [];
  const used: {
    readonly atMs: number;
    readonly of: OracleRequest;
    readonly use: OracleUse;
  }[] = [];
  const open: OracleRequest[] = [];

  function estimate(rule: OracleRule, who: string, kind: OracleKind, nowMs: number): bigint {
    if (kind === "concurrent") return BigInt(open.filter((of) => counted(rule, of) === who).length);
    const [period, now] = [BigInt(rule.periodSeconds) * 1000n, BigInt(nowMs)];
    const start = now - (now % period);
    const weights = rule.tokenWeights ?? tokenWeights;
    const isCounted = ({ atMs, of }: { readonly atMs: number; readonly of: OracleRequest }) =>
      counted(rule, of) === who && !isOff(rule, atMs);
    const amounts =
      kind === "requests"
        ? begun.filter(isCounted).map(({ atMs }) => ({ atMs, amount: 1 }))
        : used
            .filter(isCounted)
            .map(({ atMs, use }) => ({ atMs, amount: amountUsed(rule, weights, kind, use) }));
    const sum = (from: bigint, to: bigint): bigint =>
      amounts
        .filter(({ atMs }) => atMs >= from && atMs < to)
        .reduce((total, { amount }) => total + BigInt(amount), 0n);
    return (sum(start - period, start) * (start + period - now)) / period + sum(start, now + 1n);
  }

  const judge = createJudge(rules, estimate, raisesOf);
  return {
    ask: judge.ask,
    exhausted: judge.exhausted,
    estimate,
    begin(of: OracleRequest, nowMs: number) {
      begun.push({ atMs: nowMs, of });
      open.push(of);
      return judge.triples(of, nowMs);
    },
    end(of: OracleRequest, spent: number | OracleUse, nowMs: number) {
      open.splice(open.indexOf(of), 1);
      const use = typeof spent === "number" ? { tokens: spent, recorded: null } : spent;
      used.push({ atMs: nowMs, of: withCalledTools(of, use), use });
    },
  };
}
