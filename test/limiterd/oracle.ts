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
  /** User paths only: the models that it is for, with spaces between the patterns. */
  readonly models?: string | undefined;
}

/** Higher caps of a rule until a moment: for all that it counts, or for one child. */
export interface OracleRaise {
  /** The rule's, or the child's path. */
  readonly subject: string;
  readonly untilMs: number;
  readonly maxRequests: number | null;
  readonly maxTokens: number | null;
}

export interface OracleRequest {
  readonly path: string;
  readonly provider: string;
  readonly model: string;
}

export type OracleKind = "requests" | "tokens" | "concurrent";

interface OracleBreach {
  readonly place: number;
  readonly subject: string;
  readonly dimension: OracleKind | "banned";
  readonly cap: number;
  readonly wait: number;
  readonly models?: string;
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
export function counted(rule: OracleRule, { path, provider, model }: OracleRequest): string | null {
  if (rule.scope === "provider")
    return provider.toLowerCase() === rule.subject.toLowerCase() ? rule.subject : null;
  if (rule.scope === "model") {
    const ofOne = oracleProviders.some((name) => rule.subject.toLowerCase().startsWith(`${name}/`));
    const id = ofOne ? `${provider}/${model}` : model;
    return id.toLowerCase() === rule.subject.toLowerCase() ? rule.subject : null;
  }
  const above = rule.subject === "/" ? "/" : `${rule.subject}/`;
  if (!`${path}/`.startsWith(above)) return null;
  if (rule.models !== undefined && !isForModel(rule.models, provider, model)) return null;
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

/** What a rule counts for somebody at a moment. */
export type Estimate<Rule> = (rule: Rule, who: string, kind: OracleKind, nowMs: number) => bigint;

/** Verdicts and headers from what is counted, whoever counts it. */
export function createJudge<Rule extends OracleRule>(
  unordered: readonly Rule[],
  estimate: Estimate<Rule>,
  raisesOf: (rule: Rule) => readonly OracleRaise[] = () => [],
) {
  const key = ({ scope, subject, periodSeconds, models = "" }: OracleRule): string =>
    [
      scope,
      scope === "user_path" ? subject : subject.toLowerCase(),
      String(periodSeconds).padStart(10, "0"),
      models,
    ].join("\n");
  const rules = [...unordered].sort((a, b) => (key(a) < key(b) ? -1 : 1));

  function capsNow(rule: Rule, who: string, nowMs: number) {
    const raises = raisesOf(rule).filter(
      ({ subject, untilMs }) => untilMs > nowMs && [rule.subject, who].includes(subject),
    );
    const most = (cap: number | null, raised: readonly (number | null)[]): number | null =>
      cap === null ? null : Math.max(cap, ...raised.map((value) => value ?? 0));
    return {
      requests: most(
        rule.maxRequests,
        raises.map(({ maxRequests }) => maxRequests),
      ),
      tokens: most(
        rule.maxTokens,
        raises.map(({ maxTokens }) => maxTokens),
      ),
    };
  }

  /** Every breach of these rules, with the seconds after which it would be none. */
  function breaches(of: OracleRequest, nowMs: number, ofTarget: boolean): OracleBreach[] {
    return rules.flatMap((rule, place): OracleBreach[] => {
      const subject = counted(rule, of);
      if (subject === null || isOfTarget(rule) !== ofTarget) return [];
      const models = rule.models === undefined ? {} : { models: rule.models };
      const now = capsNow(rule, subject, nowMs);
      // Never: no wait is longer.
      if (now.requests === 0)
        return [{ place, subject, dimension: "banned", cap: 0, wait: 2 ** 53 - 1, ...models }];
      const caps: readonly (readonly [OracleKind, number | null])[] =
        rule.periodSeconds === 0
          ? [["concurrent", now.requests]]
          : [
              ["requests", now.requests],
              ["tokens", now.tokens],
            ];
      return caps.flatMap(([dimension, cap]) => {
        if (cap === null || estimate(rule, subject, dimension, nowMs) < cap) return [];
        // Two periods on, nothing weighs any more; three, where the clock has stepped back by one.
        let [low, high] = [0, dimension === "concurrent" ? 1 : 3 * rule.periodSeconds + 1];
        while (high - low > 1) {
          const middle = (low + high) >> 1;
          if (estimate(rule, subject, dimension, nowMs + middle * 1000) < cap) high = middle;
          else low = middle;
        }
        return [{ place, subject, dimension, cap, wait: high, ...models }];
      });
    });
  }

  const longest = (found: readonly OracleBreach[]): OracleBreach | null =>
    [...found].sort((a, b) => b.wait - a.wait || a.place - b.place)[0] ?? null;

  /**
   * The tightest rule of a kind after this request: limit, what is left, seconds to the window's
   * end.
   */
  function triple(
    of: OracleRequest,
    kind: "requests" | "tokens",
    nowMs: number,
  ): readonly [number, number, number] | null {
    const left = rules.flatMap((rule, place) => {
      const who = counted(rule, of);
      const cap = who === null ? null : capsNow(rule, who, nowMs)[kind];
      if (who === null || cap === null || rule.periodSeconds === 0) return [];
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
      { isReroute = false }: { readonly isReroute?: boolean } = {},
    ) {
      const ofPath = isReroute ? null : longest(breaches({ path, ...targets[0]! }, nowMs, false));
      const ofTargets = targets.map((target) =>
        longest(breaches({ path, ...target }, nowMs, true)),
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
        breaches({ path, provider: "", model: "" }, nowMs, false).filter(
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
  };
}

export function createOracle(rules: readonly OracleRule[]) {
  const log: {
    readonly atMs: number;
    readonly of: OracleRequest;
    readonly kind: OracleKind;
    readonly amount: bigint;
  }[] = [];
  const open: OracleRequest[] = [];

  function estimate(rule: OracleRule, who: string, kind: OracleKind, nowMs: number): bigint {
    if (kind === "concurrent") return BigInt(open.filter((of) => counted(rule, of) === who).length);
    const [period, now] = [BigInt(rule.periodSeconds) * 1000n, BigInt(nowMs)];
    const start = now - (now % period);
    const sum = (from: bigint, to: bigint): bigint =>
      log
        .filter(
          ({ atMs, of, kind: of2 }) =>
            of2 === kind && atMs >= from && atMs < to && counted(rule, of) === who,
        )
        .reduce((total, { amount }) => total + amount, 0n);
    return (sum(start - period, start) * (start + period - now)) / period + sum(start, now + 1n);
  }

  const judge = createJudge(rules, estimate);
  return {
    ask: judge.ask,
    estimate,
    begin(of: OracleRequest, nowMs: number) {
      log.push({ atMs: nowMs, of, kind: "requests", amount: 1n });
      open.push(of);
      return judge.triples(of, nowMs);
    },
    end(of: OracleRequest, tokens: number, nowMs: number) {
      open.splice(open.indexOf(of), 1);
      log.push({ atMs: nowMs, of, kind: "tokens", amount: BigInt(tokens) });
    },
  };
}
