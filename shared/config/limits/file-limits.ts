/**
 * The rules and budgets that the file declares, checked (SPEC "Configuration forms of rules",
 * CONTRACT sections 8 and 9), and what the variables replace of them.
 */
import { notEntitled } from "../../domain/limit-key.js";
import type { Mapping } from "../read-mapping.js";
import type { EnvLimits } from "./env-limits.js";
import {
  type Declared,
  type DeclaredLimits,
  type LimitForm,
  onceEach,
  type PeriodLimit,
  type Placed,
  valueOf,
} from "./limit-form.js";

/** Checks the declared entries. The same identity in two places is a problem that names both. */
export function readFileLimits<S extends string, L extends PeriodLimit>(
  form: LimitForm<S, L>,
  entries: readonly DeclaredLimits<S>[],
  options: { readonly perChildEntitled: boolean },
  problems: string[],
): readonly Declared<S, L>[] {
  const placed: Placed<Declared<S, L>>[] = [];
  for (const entry of entries) {
    const { scope, perChild } = entry;
    const subject =
      entry.subject === null
        ? null
        : valueOf(
            form.grammar.parseSubject(scope, entry.subject, `${entry.at}.${entry.subjectKey}`),
            problems,
          );
    if (subject !== null && perChild && !options.perChildEntitled)
      problems.push(`${entry.at}: ${notEntitled(subject).message}`);
    for (const { at, fields } of entry.limits) {
      const limit = form.parse(withNumbers(form, fields), at, problems);
      if (limit !== null && subject !== null)
        placed.push({ at, declared: { scope, subject, ...limit, perChild } });
    }
  }
  return onceEach(form, placed, problems);
}

/**
 * Numbers may come as texts, which is what `${NAME}` leaves. A text that is no number stays, to be
 * told as it is.
 */
function withNumbers<S extends string, L extends PeriodLimit>(
  form: LimitForm<S, L>,
  fields: Mapping,
): Mapping {
  return Object.fromEntries(
    Object.entries(fields).map(([key, raw]) => [key, form.fields[key]?.(raw) ?? raw]),
  );
}

/** A variable replaces all that the file says about its subject. */
export function mergeLimits<S extends string, L extends PeriodLimit>(
  { id }: LimitForm<S, L>,
  fromFile: readonly Declared<S, L>[],
  fromEnv: readonly EnvLimits<S, L>[],
): readonly Declared<S, L>[] {
  const whom = ({ scope, subject }: { readonly scope: S; readonly subject: string }): string =>
    id({ scope, subject, periodSeconds: 0 });
  const replaced = new Set(fromEnv.map(whom));
  return [
    ...fromFile.filter((declared) => !replaced.has(whom(declared))),
    ...fromEnv.flatMap(({ limits }) => limits),
  ];
}
