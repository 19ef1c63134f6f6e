/**
 * What is typed about rules, turned into the bodies that the admin API takes, and checked with the same
 * parser that the daemon uses, so that a typing error is told before anything is sent. Pure.
 */
import { numberOf } from "../shared/config/setting-kind.js";
import type { Checked } from "../shared/checked.js";
import { parseRuleKey, parseRuleWrite, type RuleDefinition, type RuleKey } from "../shared/rule.js";

/** The flags that name a rule beside its subject; texts as they were typed. */
export interface RuleKeyFlags {
  readonly scope?: string;
  readonly period?: string;
  readonly periodSeconds?: string;
}

/** The flags of `limits set`. `rpm` … `concurrent` are period and cap in one word. */
export interface RuleSetFlags extends RuleKeyFlags {
  readonly perChild?: boolean;
  readonly requests?: string;
  readonly tokens?: string;
  readonly rpm?: string;
  readonly tpm?: string;
  readonly rph?: string;
  readonly tph?: string;
  readonly rpd?: string;
  readonly tpd?: string;
  readonly concurrent?: string;
}

export interface Problem {
  readonly message: string;
  readonly param: string | null;
}

export type FromFlags<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problems: readonly Problem[] };

/** One rule to be written: the body of PUT /admin/rate-limits and what it says. */
export interface RuleWrite {
  readonly body: Readonly<Record<string, unknown>>;
  readonly rule: RuleDefinition;
}

type CapField = "max_requests" | "max_tokens";

/** The short flags of `limits set`, by the names that the environment uses too (SPEC "Configuration forms of rules"). */
export const shortCapFlags = [
  { name: "rpm", periodSeconds: 60, cap: "max_requests", meaning: "requests per minute" },
  { name: "tpm", periodSeconds: 60, cap: "max_tokens", meaning: "tokens per minute" },
  { name: "rph", periodSeconds: 3600, cap: "max_requests", meaning: "requests per hour" },
  { name: "tph", periodSeconds: 3600, cap: "max_tokens", meaning: "tokens per hour" },
  { name: "rpd", periodSeconds: 86_400, cap: "max_requests", meaning: "requests per day" },
  { name: "tpd", periodSeconds: 86_400, cap: "max_tokens", meaning: "tokens per day" },
  { name: "concurrent", periodSeconds: 0, cap: "max_requests", meaning: "requests in flight" },
] as const satisfies readonly { readonly name: keyof RuleSetFlags; readonly periodSeconds: number; readonly cap: CapField; readonly meaning: string }[];

/** The caps of one period as they were typed, and the flag that each came from, for messages. */
interface TypedRule {
  readonly limitKey: Readonly<Record<string, unknown>>;
  readonly caps: { max_requests?: unknown; max_tokens?: unknown };
  readonly flagOf: Record<CapField, string>;
}

/** What `limits set` is to write: every rule, or every problem. */
export function ruleWritesFromFlags(subject: string, flags: RuleSetFlags): FromFlags<readonly RuleWrite[]> {
  const problems: Problem[] = [...subjectProblems(subject, flags.scope)];
  const typed = [...longForm(flags, problems), ...shortForm(flags)];
  if (typed.length === 0 && problems.length === 0) problems.push({ message: `nothing to set: give --period with --requests or --tokens, or one of ${shortCapFlags.map(({ name }) => `--${name}`).join(", ")}`, param: null });
  const writes: RuleWrite[] = [];
  for (const one of typed) {
    const body = { scope: flags.scope ?? "user_path", subject, limit_key: one.limitKey, ...one.caps, ...(flags.perChild === true ? { per_child: true } : {}) };
    // Whether per-child is entitled is for the daemon to say: it knows the configuration it runs with.
    const checked = parseRuleWrite(body, { perChildEntitled: true });
    if (checked.ok) writes.push({ body, rule: checked.value });
    else problems.push(inFlagWords(checked, one.flagOf));
  }
  problems.push(...repeatedPeriods(writes));
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: writes };
}

/** What `limits delete` and `limits reset` name. */
export function ruleKeyFromFlags(subject: string, flags: RuleKeyFlags): FromFlags<RuleKey> {
  const problems: Problem[] = [...subjectProblems(subject, flags.scope)];
  if (problems.length > 0) return { ok: false, problems };
  const checked = parseRuleKey({ scope: flags.scope ?? "user_path", subject, limit_key: limitKeyFromFlags(flags) });
  return checked.ok ? { ok: true, value: checked.value } : { ok: false, problems: [inFlagWords(checked, defaultFlags)] };
}

const defaultFlags: Record<CapField, string> = { max_requests: "--requests", max_tokens: "--tokens" };

function limitKeyFromFlags(flags: RuleKeyFlags): Readonly<Record<string, unknown>> {
  return {
    ...(flags.period === undefined ? {} : { period: flags.period }),
    ...(flags.periodSeconds === undefined ? {} : { period_seconds: asNumber(flags.periodSeconds) }),
  };
}

function longForm(flags: RuleSetFlags, problems: Problem[]): readonly TypedRule[] {
  const limitKey = limitKeyFromFlags(flags);
  const caps = { ...(flags.requests === undefined ? {} : { max_requests: asNumber(flags.requests) }), ...(flags.tokens === undefined ? {} : { max_tokens: asNumber(flags.tokens) }) };
  if (Object.keys(limitKey).length === 0) {
    if (Object.keys(caps).length > 0) problems.push({ message: "--period or --period-seconds is required beside --requests and --tokens", param: "--period" });
    return [];
  }
  return [{ limitKey, caps, flagOf: defaultFlags }];
}

function shortForm(flags: RuleSetFlags): readonly TypedRule[] {
  const byPeriod = new Map<number, TypedRule>();
  for (const { name, periodSeconds, cap } of shortCapFlags) {
    const text = flags[name];
    if (text === undefined) continue;
    const typed = byPeriod.get(periodSeconds) ?? { limitKey: { period_seconds: periodSeconds }, caps: {}, flagOf: { ...defaultFlags } };
    byPeriod.set(periodSeconds, typed);
    typed.caps[cap] = asNumber(text);
    typed.flagOf[cap] = `--${name}`;
  }
  return [...byPeriod.values()];
}

/** A period may be set once: `--period minute --requests 10 --rpm 5` has no one meaning. */
function repeatedPeriods(writes: readonly RuleWrite[]): readonly Problem[] {
  const [first, ...others] = writes;
  const repeated = first !== undefined && others.some(({ rule }) => rule.periodSeconds === first.rule.periodSeconds);
  return repeated ? [{ message: "one period is given twice, by --period or --period-seconds and by a short flag: give it once", param: "--period" }] : [];
}

/**
 * A user path is written with its slash here. The API adds a missing one; at a terminal, `limits set
 * openai --rpm 60` would be taken for a path and would silently protect no provider.
 */
function subjectProblems(subject: string, scope: string | undefined): readonly Problem[] {
  const isUserPath = scope === undefined || scope.trim() === "" || scope.trim().toLowerCase() === "user_path";
  if (!isUserPath || subject.trim().startsWith("/")) return [];
  return [{ message: `subject must be a user path such as /team/app, not ${JSON.stringify(subject)}; for a provider or a model add --scope provider or --scope model`, param: "subject" }];
}

/** A typed number; any other text stays one, for the parser to refuse by name. */
export function asNumber(text: string): unknown {
  return numberOf(text) ?? text;
}

/** The parser speaks of body fields; at a terminal these are flags. */
function inFlagWords(checked: Extract<Checked<unknown>, { ok: false }>, flagOf: Record<CapField, string>): Problem {
  const words: readonly (readonly [field: string, flag: string])[] = [
    ["limit_key.period_seconds", "--period-seconds"], ["limit_key.period", "--period"],
    ["max_requests", flagOf.max_requests], ["max_tokens", flagOf.max_tokens], ["per_child", "--per-child"], ["scope", "--scope"],
  ];
  const { message, param } = checked.failure;
  const flag = words.find(([field]) => field === param)?.[1] ?? param;
  const named = words.filter(([field]) => field.includes("_") || field === param);
  return { message: named.reduce((text, [field, word]) => text.replaceAll(new RegExp(`\\b${field}\\b`, "g"), word), message), param: flag };
}
