/**
 * What is typed about rules and budgets, turned into the bodies that the admin API takes, and
 * checked with the parsers that the daemon uses, so that a typing error is told before anything is
 * sent. Which flags there are is said in a `FlagForm`, in `rule-flags.ts` and `budget-flags.ts`.
 * Pure.
 */
import type { Checked } from "../../shared/checked.js";
import { numberOf } from "../../shared/config/kinds/number-kinds.js";
import { type KeyGrammar, type LimitKey, parseKey } from "../../shared/domain/limit-key.js";
import type { ArgumentProblem, FromArguments } from "../session/command-failure.js";

/** The flags that name a rule or a budget beside its subject; texts as they were typed. */
export interface KeyFlags {
  readonly scope?: string;
  readonly period?: string;
  readonly periodSeconds?: string;
}

/** With those of a form, by their names. */
export interface SetFlags extends KeyFlags {
  readonly perChild?: boolean;
  readonly [flag: string]: unknown;
}

export interface FlagForm<S extends string> {
  readonly grammar: KeyGrammar<S>;
  /** How to name what isn't a user path. */
  readonly otherScopes: string;
  /**
   * Values of the period that `--period` or `--period-seconds` names: the flag and the field that
   * it fills.
   */
  readonly longFlags: readonly {
    readonly name: string;
    readonly field: string;
    readonly meaning: string;
  }[];
  /** Period and value in one word. */
  readonly shortFlags: readonly {
    readonly name: string;
    readonly period: Readonly<Record<string, unknown>>;
    readonly field: string;
    readonly meaning: string;
  }[];
  readonly readNumber: (text: string) => number | undefined;
  readonly parse: (
    body: unknown,
    options: { readonly perChildEntitled: boolean },
  ) => Checked<LimitKey<S>>;
}

/** What is to be written: the body of a PUT, and the key that it names. */
export interface Write<S extends string> {
  readonly body: Readonly<Record<string, unknown>>;
  readonly key: LimitKey<S>;
}

/**
 * The values of one period as they were typed, by their fields, and the flag that each came from.
 */
interface Typed {
  readonly period: Readonly<Record<string, unknown>>;
  readonly values: Record<string, unknown>;
  readonly flagOf: Record<string, string>;
}

/** What `set` is to write: all of it, or every problem. */
export function writesFromFlags<S extends string>(
  form: FlagForm<S>,
  subject: string,
  flags: SetFlags,
): FromArguments<readonly Write<S>[]> {
  const { grammar, longFlags, shortFlags, parse } = form;
  const problems: ArgumentProblem[] = [...subjectProblems(form, subject, flags.scope)];
  const typed = [...longForm(form, flags, problems), ...shortForm(form, flags)];
  if (typed.length === 0 && problems.length === 0)
    problems.push({
      message: `nothing to set: give --period with ${listed(longFlags, " or ")}, or one of ${listed(shortFlags, ", ")}`,
      param: null,
    });
  const writes: Write<S>[] = [];
  for (const { period, values, flagOf } of typed) {
    const body = {
      scope: flags.scope ?? "user_path",
      subject,
      [grammar.periodField]: period,
      ...values,
      ...(flags.perChild === true ? { per_child: true } : {}),
    };
    // Whether per-child is entitled is for the daemon to say: it knows the configuration it runs
    // with.
    const checked = parse(body, { perChildEntitled: true });
    if (checked.ok) writes.push({ body, key: checked.value });
    else problems.push(inFlagWords(grammar, checked, flagOf));
  }
  const periods = new Set(writes.map(({ key }) => key.periodSeconds));
  if (periods.size < writes.length)
    problems.push({
      message:
        "one period is given twice, by --period or --period-seconds and by a short flag: give it once",
      param: "--period",
    });
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: writes };
}

/** What `delete` and `reset` name. */
export function keyFromFlags<S extends string>(
  form: FlagForm<S>,
  subject: string,
  flags: KeyFlags,
): FromArguments<LimitKey<S>> {
  const problems = subjectProblems(form, subject, flags.scope);
  if (problems.length > 0) return { ok: false, problems };
  const { grammar } = form;
  const checked = parseKey(grammar, {
    scope: flags.scope ?? "user_path",
    subject,
    [grammar.periodField]: periodFromFlags(flags),
  });
  return checked.ok ? checked : { ok: false, problems: [inFlagWords(grammar, checked, {})] };
}

function periodFromFlags({ period, periodSeconds }: KeyFlags): Readonly<Record<string, unknown>> {
  return {
    ...(period === undefined ? {} : { period }),
    ...(periodSeconds === undefined
      ? {}
      : { period_seconds: numberOf(periodSeconds) ?? periodSeconds }),
  };
}

function longForm<S extends string>(
  { longFlags, readNumber }: FlagForm<S>,
  flags: SetFlags,
  problems: ArgumentProblem[],
): readonly Typed[] {
  const period = periodFromFlags(flags);
  const given = longFlags.flatMap(({ name, field }) =>
    typedIn(flags, name).map((text) => [field, readNumber(text) ?? text] as const),
  );
  if (Object.keys(period).length > 0)
    return [
      {
        period,
        values: Object.fromEntries(given),
        flagOf: Object.fromEntries(longFlags.map(({ name, field }) => [field, `--${name}`])),
      },
    ];
  if (given.length > 0)
    problems.push({
      message: `--period or --period-seconds is required beside ${listed(longFlags, " and ")}`,
      param: "--period",
    });
  return [];
}

/** Values of one period make one body. */
function shortForm<S extends string>(
  { shortFlags, readNumber }: FlagForm<S>,
  flags: SetFlags,
): readonly Typed[] {
  const byPeriod = new Map<string, Typed>();
  for (const { name, period, field } of shortFlags) {
    for (const text of typedIn(flags, name)) {
      const id = JSON.stringify(period);
      const typed = byPeriod.get(id) ?? { period, values: {}, flagOf: {} };
      byPeriod.set(id, typed);
      typed.values[field] = readNumber(text) ?? text;
      typed.flagOf[field] = `--${name}`;
    }
  }
  return [...byPeriod.values()];
}

function typedIn(flags: SetFlags, name: string): readonly string[] {
  const text = flags[name];
  return typeof text === "string" ? [text] : [];
}

function listed(flags: readonly { readonly name: string }[], separator: string): string {
  return flags.map(({ name }) => `--${name}`).join(separator);
}

/**
 * A user path is written with its slash here. The API adds a missing one; at a terminal, `limits
 * set openai --rpm 60` would be taken for a path and would silently protect no provider.
 */
function subjectProblems<S extends string>(
  { otherScopes }: FlagForm<S>,
  subject: string,
  scope = "",
): readonly ArgumentProblem[] {
  const isUserPath = scope.trim() === "" || scope.trim().toLowerCase() === "user_path";
  if (!isUserPath || subject.trim().startsWith("/")) return [];
  return [
    {
      message: `subject must be a user path such as /team/app, not ${JSON.stringify(subject)}; ${otherScopes}`,
      param: "subject",
    },
  ];
}

/**
 * The parser speaks of body fields; at a terminal these are flags. A field whose name could be a
 * word of the sentence is put so only where it is the one that is wrong.
 */
function inFlagWords<S extends string>(
  { periodField }: KeyGrammar<S>,
  { failure }: Extract<Checked<unknown>, { ok: false }>,
  flagOf: Readonly<Record<string, string>>,
): ArgumentProblem {
  const words: readonly (readonly [field: string, flag: string])[] = [
    [`${periodField}.period_seconds`, "--period-seconds"],
    [`${periodField}.period`, "--period"],
    ...Object.entries(flagOf),
    ["per_child", "--per-child"],
    ["scope", "--scope"],
  ];
  const { message, param } = failure;
  const named = words.filter(([field]) => field.includes("_") || field === param);
  return {
    message: named.reduce(
      (text, [field, word]) => text.replaceAll(new RegExp(`\\b${field}\\b`, "g"), word),
      message,
    ),
    param: words.find(([field]) => field === param)?.[1] ?? param,
  };
}
