/**
 * The flags of the commands on rules and budgets, as the bodies of the admin API. They are checked
 * with the parsers that the daemon uses, so that every error is reported before anything is sent.
 * Which flags there are is in a `FlagForm`, in `rule-flags.ts` and `budget-flags.ts`. Pure.
 */
import { type Checked, show } from "../../shared/checked.js";
import { numberOf } from "../../shared/config/kinds/number-kinds.js";
import {
  type KeyGrammar,
  type LimitKey,
  modeField,
  parseKey,
} from "../../shared/domain/limit-key.js";
import { modelsField } from "../../shared/domain/limited-models.js";
import { onExhaustedOfText } from "../../shared/domain/on-exhausted.js";
import { whenField, whenOfText } from "../../shared/domain/rule-hours.js";
import type { ArgumentProblem, ParsedArguments } from "../session/command-failure.js";

/** The flags that name a rule or a budget beside its subject, as they were typed. */
export interface KeyFlags {
  readonly scope?: string;
  readonly period?: string;
  readonly periodSeconds?: string;
  /** Separated by commas. */
  readonly models?: string;
  /** As `whenOfText` reads it; of rules. */
  readonly when?: string;
  /** Whether it is the shadow rule of this key; of rules. */
  readonly shadow?: boolean;
}

/** The flags of `set`: also those of the form, by their names. */
export interface SetFlags extends KeyFlags {
  readonly perChild?: boolean;
  readonly [flag: string]: unknown;
}

interface Switch {
  /** The flag and the name of its value, if it has one. */
  readonly flag: string;
  /** Commander's name for it. */
  readonly key: string;
  readonly field: string;
  readonly meaning: string;
  /** Its value as the body has it; absent: unchanged. */
  readonly read?: (flagValue: unknown) => unknown;
  /** For the error: what the text must be. `read` returns a text that it can't read unchanged. */
  readonly form?: string;
  /** The only period that has the field; then nothing else need be given. */
  readonly period?: Readonly<Record<string, unknown>>;
}

export interface FlagForm<S extends string> {
  readonly grammar: KeyGrammar<S>;
  /** The hint on how to name a subject that isn't a user path. */
  readonly otherScopes: string;
  /** The values for the period that `--period` or `--period-seconds` names, and their fields. */
  readonly longFlags: readonly {
    readonly name: string;
    readonly field: string;
    readonly meaning: string;
  }[];
  /** The flags that name both a period and a value. */
  readonly shortFlags: readonly {
    readonly name: string;
    readonly period: Readonly<Record<string, unknown>>;
    readonly field: string;
    readonly meaning: string;
  }[];
  /** Further flags of `set`, in addition to `--per-child`. */
  readonly switches: readonly Switch[];
  readonly readNumber: (text: string) => number | undefined;
  readonly parse: (
    body: unknown,
    options: { readonly perChildEntitled: boolean },
  ) => Checked<LimitKey<S>>;
}

export const onExhaustedFlag: Switch = {
  flag: "--on-exhausted <what>",
  key: "onExhausted",
  field: "on_exhausted",
  meaning: "when exhausted: refuse, warn, or use=MODEL for another model (default: refuse)",
  read: onExhaustedOfText,
  form: "refuse, warn or use=MODEL",
};

export const holdFlag: Switch = {
  flag: "--hold <how>",
  key: "hold",
  field: "hold",
  meaning: "hard: a stream ends at the cap; soft: running requests end normally (default: soft)",
  read: (text) => text,
};

/** A rule or a budget to write: the body of a PUT, and the key that it names. */
interface Write<S extends string> {
  readonly body: Readonly<Record<string, unknown>>;
  readonly key: LimitKey<S>;
}

/** The values of one period as they were typed, by their fields, and the flag of each. */
interface TypedLimit {
  readonly period: Readonly<Record<string, unknown>>;
  readonly values: Record<string, unknown>;
  readonly flagOf: Record<string, string>;
}

/** Everything that `set` should write, or all problems. */
export function writesFromFlags<S extends string>(
  form: FlagForm<S>,
  subject: string,
  flags: SetFlags,
): ParsedArguments<readonly Write<S>[]> {
  const { grammar, longFlags, shortFlags, switches, parse } = form;
  const problems: ArgumentProblem[] = [...subjectProblems(form, subject, flags.scope)];
  const typedLimits = [...longForm(form, flags, problems), ...shortForm(form, flags)];
  if (typedLimits.length === 0 && problems.length === 0) {
    const expected = `--period with ${oneOf(longFlags)}, or one of ${flagNames(shortFlags, ", ")}`;
    problems.push({ message: `nothing to set: give ${expected}`, param: null });
  }
  const writes: Write<S>[] = [];
  for (const { period, values, flagOf } of typedLimits) {
    const body = {
      scope: flags.scope ?? "user_path",
      subject,
      [grammar.periodField]: period,
      ...modelsFromFlags(flags),
      ...values,
      ...(flags.perChild === true ? { per_child: true } : {}),
      ...Object.fromEntries(
        switches
          .filter(
            ({ key, period: switchPeriod }) =>
              flags[key] !== undefined && switchPeriod === undefined,
          )
          .map(({ key, field, read }) => [field, read?.(flags[key]) ?? flags[key]]),
      ),
    };
    // The daemon checks the entitlement to per-child rules: it has the configuration in use.
    const checked = parse(body, { perChildEntitled: true });
    for (const { field, flag } of switches) flagOf[field] = flag.replace(/ .*/, "");
    if (checked.ok) writes.push({ body, key: checked.value });
    // One message about the subject is enough.
    else if (!problems.some(({ param }) => param === "subject" && param === checked.failure.param))
      problems.push(unreadText(switches, body, checked) ?? flagProblem(grammar, checked, flagOf));
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

/** The key of the rule or budget that `delete` and `reset` name. */
export function keyFromFlags<S extends string>(
  form: FlagForm<S>,
  subject: string,
  flags: KeyFlags,
): ParsedArguments<LimitKey<S>> {
  const problems = subjectProblems(form, subject, flags.scope);
  if (problems.length > 0) return { ok: false, problems };
  const { grammar } = form;
  const checked = parseKey(grammar, {
    scope: flags.scope ?? "user_path",
    subject,
    [grammar.periodField]: periodFromFlags(flags),
    ...modelsFromFlags(flags),
  });
  return checked.ok
    ? checked
    : {
        ok: false,
        problems: [
          unreadText([], modelsFromFlags(flags), checked) ?? flagProblem(grammar, checked, {}),
        ],
      };
}

const whenForm = "hours such as 'mon-fri 09:00-17:00 Europe/Berlin'";

/** The problem with a text that `read` couldn't convert; null if something else is wrong. */
function unreadText(
  switches: readonly Switch[],
  body: Readonly<Record<string, unknown>>,
  { failure: { param } }: Extract<Checked<unknown>, { ok: false }>,
): ArgumentProblem | null {
  const forms = [{ flag: "--when", field: "when", form: whenForm }, ...switches];
  const match = forms.find(({ field, form }) => field === param && form !== undefined);
  const value = match === undefined ? undefined : body[match.field];
  if (match === undefined || typeof value !== "string") return null;
  const flag = match.flag.replace(/ .*/, "");
  return { message: `${flag} must be ${match.form}, not ${show(value)}`, param: flag };
}

function modelsFromFlags({ models, when, shadow }: KeyFlags): Readonly<Record<string, unknown>> {
  return {
    ...(models === undefined ? {} : { models: models.split(",") }),
    ...(when === undefined ? {} : { when: whenOfText(when) }),
    ...(shadow === true ? { mode: "shadow" } : {}),
  };
}

/** The body that names a rule or a budget. */
export function keyBody<S extends string>(
  { periodField }: Pick<KeyGrammar<S>, "periodField">,
  { scope, subject, periodSeconds, models, when, mode }: LimitKey<S>,
): Readonly<Record<string, unknown>> {
  return {
    scope,
    subject,
    [periodField]: { period_seconds: periodSeconds },
    ...modelsField(models),
    ...whenField(when),
    ...modeField({ mode }),
  };
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
  form: FlagForm<S>,
  flags: SetFlags,
  problems: ArgumentProblem[],
): readonly TypedLimit[] {
  const { longFlags, readNumber } = form;
  const period = periodFromFlags(flags);
  const longFields = longFlags.flatMap(({ name, field }) =>
    textsOf(flags, camelCase(name)).map((text) => [field, readNumber(text) ?? text] as const),
  );
  const short = shortForm(form, flags).flatMap(({ flagOf }) => Object.values(flagOf));
  if (Object.keys(period).length > 0 && longFields.length === 0 && short.length > 0) {
    const flag = flags.period === undefined ? "--period-seconds" : "--period";
    problems.push({
      message: `${flag} goes with ${oneOf(longFlags)}: leave it out beside ${short.join(", ")}`,
      param: flag,
    });
    return [];
  }
  if (Object.keys(period).length > 0)
    return [
      {
        period,
        values: Object.fromEntries(longFields),
        flagOf: Object.fromEntries(longFlags.map(({ name, field }) => [field, `--${name}`])),
      },
    ];
  if (longFields.length > 0)
    problems.push({
      message: `--period or --period-seconds is required beside ${flagNames(longFlags, ", ")}`,
      param: "--period",
    });
  return [];
}

/** The values of the flags that imply a period, one limit for each period. */
function shortForm<S extends string>(
  { shortFlags, switches, readNumber }: FlagForm<S>,
  flags: SetFlags,
): readonly TypedLimit[] {
  const byPeriod = new Map<string, TypedLimit>();
  const add = (period: TypedLimit["period"], field: string, value: unknown, flag: string): void => {
    const id = JSON.stringify(period);
    const typedLimit = byPeriod.get(id) ?? { period, values: {}, flagOf: {} };
    byPeriod.set(id, typedLimit);
    typedLimit.values[field] = value;
    typedLimit.flagOf[field] = flag;
  };
  for (const { name, period, field } of shortFlags)
    for (const text of textsOf(flags, name))
      add(period, field, readNumber(text) ?? text, `--${name}`);
  for (const { flag, key, period, field, read } of switches)
    for (const text of period === undefined ? [] : textsOf(flags, key))
      add(period!, field, read?.(text), flag.replace(/ .*/, ""));
  return [...byPeriod.values()];
}

/** Commander's name for a flag. */
function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function textsOf(flags: SetFlags, name: string): readonly string[] {
  const text = flags[name];
  return typeof text === "string" ? [text] : [];
}

function oneOf(flags: readonly { readonly name: string }[]): string {
  return `${flags.length > 1 ? "one of " : ""}${flagNames(flags, ", ")}`;
}

function flagNames(flags: readonly { readonly name: string }[], separator: string): string {
  return flags.map(({ name }) => `--${name}`).join(separator);
}

/**
 * The command line requires the leading slash of a user path. The API adds a missing one; here,
 * `limits set openai --rpm 60` would become a rule on a path and limit no provider.
 */
function subjectProblems<S extends string>(
  { otherScopes }: FlagForm<S>,
  subject: string,
  scope = "",
): readonly ArgumentProblem[] {
  const isUserPath = scope.trim() === "" || scope.trim().toLowerCase() === "user_path";
  if (!isUserPath || subject.trim().startsWith("/")) return [];
  const expected = `a user path such as /team/app, not ${JSON.stringify(subject)}; ${otherScopes}`;
  return [{ message: `subject must be ${expected}`, param: "subject" }];
}

/**
 * Replaces the names of body fields in a parser's message by those of the flags. A field whose name
 * may also be a word of the sentence is replaced only where it begins the message or a path.
 */
function flagProblem<S extends string>(
  { periodField }: KeyGrammar<S>,
  { failure }: Extract<Checked<unknown>, { ok: false }>,
  flagOf: Readonly<Record<string, string>>,
): ArgumentProblem {
  const flags: readonly (readonly [field: string, flag: string])[] = [
    [`${periodField}.period_seconds`, "--period-seconds"],
    [`${periodField}.period`, "--period"],
    ...Object.entries(flagOf),
    ["per_child", "--per-child"],
    ["scope", "--scope"],
    ["models", "--models"],
    ["when", "--when"],
    ["mode", "--shadow"],
  ];
  const { message, param } = failure;
  return {
    message: flags.reduce((text, [field, flag]) => {
      const isName = field.includes("_");
      const pattern = isName ? `\\b${field}\\b` : `^${field}\\b|(?<= )${field}(?=[.[])`;
      return text.replaceAll(new RegExp(pattern, "g"), flag);
    }, message),
    param: flags.find(([field]) => field === param)?.[1] ?? param,
  };
}
