/**
 * How a configuration declares rules and budgets. Both are written in the same way; a `LimitForm`
 * describes the differences, in `rule-limits.ts` and in `budget-limits.ts`. `file-limits.ts` checks
 * the file's lists, `env-limits.ts` reads the variables.
 */
import { type Checked, show } from "../../checked.js";
import {
  type KeyGrammar,
  type LimitKey,
  misplacedField,
  periodProblem,
} from "../../domain/limit-key.js";
import type { Exhaustible } from "../../domain/on-exhausted.js";
import { nameHint } from "../closest-name.js";
import type { UseProblem } from "../model-to-use.js";
import type { Mapping } from "../read-mapping.js";

/** A limit for one period, to which rules and budgets add their values. */
export interface PeriodLimit extends Exhaustible {
  readonly periodSeconds: number;
}

/** The context for checking limits. */
export interface LimitOptions {
  readonly perChildEntitled: boolean;
  /** Checks the model that may serve instead; absent to skip that check. */
  readonly useProblem?: UseProblem | undefined;
}

export interface LimitForm<S extends string, L extends PeriodLimit> {
  readonly grammar: KeyGrammar<S>;
  /** `rule` or `budget`; the grammar has the plural. */
  readonly singular: string;
  /**
   * The fields of one limit, each with the parser of its value if that is a text, as after
   * `${NAME}` was replaced. Null for fields that are texts.
   */
  readonly fields: Readonly<Record<string, ((raw: unknown) => unknown) | null>>;
  /** Checks one limit and reports every wrong field; null if there is one. */
  readonly parse: (fields: Mapping, path: string, problems: string[]) => L | null;
  /**
   * The variables that declare limits, by the prefix of their names; the rest names the subject.
   */
  readonly variables: readonly { readonly prefix: string; readonly scope: S }[];
  /** A pair of the compact form. */
  readonly example: string;
  /** Reads the compact form; the shortest period is first. Problems name the variable. */
  readonly parseCompact: (
    text: string,
    variable: string,
    problems: string[],
    scope: S,
  ) => readonly L[];
  /** One text per identity. */
  readonly id: (key: LimitKey<S>) => string;
  /** Its name in messages: `/team minute`. */
  readonly name: (key: LimitKey<S>) => string;
}

/** One entry of a list under `rate_limits` or `budgets`, as written in the file. */
export interface DeclaredLimits<S extends string> {
  readonly path: string;
  readonly scope: S;
  /** The path, name, model id or label, and the key that holds it; null when it was wrong. */
  readonly subject: string | null;
  readonly subjectKey: string;
  readonly perChild: boolean;
  readonly limits: readonly WrittenLimit[];
}

/** A limit and its subject. */
export type Declared<S extends string, L> = LimitKey<S> & L & { readonly perChild: boolean };

/** A declaration and its place, for messages. */
export interface PlacedDeclaration<D> {
  readonly declared: D;
  readonly path: string;
}

interface WrittenLimit {
  readonly fields: Mapping;
  readonly path: string;
}

/** Checks one limit of a subject, as `LimitForm.parse` does, and the model that it names. */
export function parseLimit<S extends string, L extends PeriodLimit>(
  { grammar, parse }: LimitForm<S, L>,
  scope: S,
  { fields, path, useProblem }: Pick<LimitOptions, "useProblem"> & WrittenLimit,
  problems: string[],
): L | null {
  const misplaced = misplacedField(grammar, scope, fields);
  if (misplaced !== null) {
    problems.push(`${path}.${misplaced} is for user-path ${grammar.plural} only`);
    return null;
  }
  const limit = parse(fields, path, problems);
  const periodFlaw = limit === null ? null : periodProblem(grammar, scope, limit.periodSeconds);
  if (periodFlaw !== null) {
    problems.push(`${path}.${periodFlaw}`);
    return null;
  }
  const problem = limit === null ? null : useProblem?.(limit, `${path}.on_exhausted.use`);
  if (problem) problems.push(problem.message);
  return limit;
}

/** The value of a check, or null after its failure was reported. */
export function checkedValue<T>(checked: Checked<T>, problems: string[]): T | null {
  if (checked.ok) return checked.value;
  problems.push(checked.failure.message);
  return null;
}

/**
 * Returns all declarations, and reports those of the same rule or budget in two places: the second
 * would silently replace the first.
 */
export function reportDuplicates<S extends string, L extends PeriodLimit>(
  { id, name, singular }: LimitForm<S, L>,
  placed: readonly PlacedDeclaration<Declared<S, L>>[],
  problems: string[],
): readonly Declared<S, L>[] {
  const first = new Map<string, string>();
  for (const { declared, path } of placed) {
    const earlier = first.get(id(declared));
    if (earlier === undefined) first.set(id(declared), path);
    else
      problems.push(
        `${path} declares the same ${singular} as ${earlier} (${name(declared)}): keep one of them`,
      );
  }
  return placed.map(({ declared }) => declared);
}

/**
 * The pairs of a compact list, such as `rpm=100, tpm=50000; concurrent=8`. Commas, semicolons and
 * newlines separate them; `name=value` and `name:value` are the same. Names may have any case and
 * are returned in lower case; unknown names are reported.
 */
export function readPairs(
  text: string,
  {
    variable,
    example,
    keys,
  }: { readonly variable: string; readonly example: string; readonly keys: readonly string[] },
  problems: string[],
): readonly { readonly name: string; readonly value: string }[] {
  return text.split(/[,;\n]/).flatMap((piece, i) => {
    const pair = piece.trim();
    if (pair === "") return [];
    const separator = pair.search(/[=:]/);
    const writtenName = pair.slice(0, Math.max(separator, 0)).trim();
    const name = writtenName.toLowerCase();
    if (keys.includes(name)) return [{ name, value: pair.slice(separator + 1).trim() }];
    const advice = i > 0 && /^\d+$/.test(pair) ? ": a comma begins the next pair" : "";
    problems.push(
      separator < 0
        ? `${variable} must hold pairs such as ${example}, not ${show(pair)}${advice}`
        : `${variable} holds the unknown key ${show(writtenName)}${nameHint(writtenName, keys)}`,
    );
    return [];
  });
}
