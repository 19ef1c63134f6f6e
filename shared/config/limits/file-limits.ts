/**
 * Checks the rules and budgets that the file declares (docs/reference/configuration.md), and
 * merges them with those of the variables.
 */
import { show } from "../../checked.js";
import { entitlementLine, notEntitledFailure } from "../../domain/limit-key.js";
import type { DeclaredAt } from "../../domain/rule.js";
import { type Places, placeOfPath, positionsOf } from "../problems.js";
import type { Mapping } from "../read-mapping.js";
import { placeInFile } from "./declared-at.js";
import type { EnvLimits } from "./env-limits.js";
import {
  checkedValue,
  type Declared,
  type DeclaredLimits,
  type LimitForm,
  type LimitOptions,
  type PeriodLimit,
  type PlacedDeclaration,
  parseLimit,
  reportDuplicates,
} from "./limit-form.js";

/** Checks the declared entries. A problem about a duplicate names both places. */
export function readFileLimits<S extends string, L extends PeriodLimit>(
  form: LimitForm<S, L>,
  entries: readonly DeclaredLimits<S>[],
  { perChildEntitled, useProblem }: LimitOptions,
  problems: string[],
): readonly Declared<S, L>[] {
  const placed: PlacedDeclaration<Declared<S, L>>[] = [];
  for (const entry of entries) {
    const { scope, perChild } = entry;
    const subject = subjectOf(form, entry, problems);
    if (subject !== null && perChild && !perChildEntitled)
      problems.push(
        `${entry.path}: ${notEntitledFailure(subject).message}: add the line ${entitlementLine}`,
      );
    for (const { path, fields } of entry.limits) {
      const raw = { fields: withValues(form, fields), path, useProblem };
      const limit = parseLimit(form, scope, raw, problems);
      if (limit !== null && subject !== null)
        placed.push({ path, declared: { scope, subject, ...limit, perChild } });
    }
  }
  return reportDuplicates(form, placed, problems);
}

/**
 * Null after reporting a problem. A path of white space would mean all traffic, unintentionally.
 */
function subjectOf<S extends string, L extends PeriodLimit>(
  { grammar }: LimitForm<S, L>,
  { path, scope, subject, subjectKey }: DeclaredLimits<S>,
  problems: string[],
): string | null {
  if (subject === null) return null;
  const place = `${path}.${subjectKey}`;
  if (scope === "user_path" && subject !== "" && subject.trim() === "") {
    problems.push(`${place} must be a path such as /team/app, not ${show(subject)}`);
    return null;
  }
  return checkedValue(grammar.parseSubject(scope, subject, place), problems);
}

/**
 * Parses values that are texts because `${NAME}` was replaced. An invalid text stays unchanged, so
 * that the message quotes it.
 */
function withValues<S extends string, L extends PeriodLimit>(
  form: LimitForm<S, L>,
  fields: Mapping,
): Mapping {
  return Object.fromEntries(
    Object.entries(fields).map(([key, raw]) => [key, form.fields[key]?.(raw) ?? raw]),
  );
}

/**
 * The offsets of the limits of valid entries, in their order. For an aliased value, that of the
 * alias.
 */
export function placesInFile<S extends string>(
  entries: readonly DeclaredLimits<S>[],
  { text, places }: { readonly text: string; readonly places: Places },
): readonly DeclaredAt[] {
  const limits = entries.flatMap((entry) => entry.limits);
  const offsets = limits.map(({ path }) => placeOfPath(path, places));
  const ascending = offsets.flatMap((offset) => offset ?? []).sort((a, b) => a - b);
  const lines = new Map(positionsOf(text, ascending).map(({ line }, i) => [ascending[i]!, line]));
  const counts = new Map<S, number>();
  let count = 0;
  return entries.flatMap(({ scope, limits: entryLimits }) => {
    const entry = counts.get(scope) ?? 0;
    counts.set(scope, entry + 1);
    return entryLimits.map((_, limit) =>
      placeInFile(entry, limit, lines.get(offsets[count++] ?? -1) ?? 0),
    );
  });
}

/** Limits, and in parallel their places. */
interface PlacedLimits<D> {
  readonly limits: readonly D[];
  readonly declaredAt: readonly DeclaredAt[];
}

/** A variable replaces all limits that the file declares for its subject. */
export function mergeLimits<S extends string, L extends PeriodLimit>(
  { id }: LimitForm<S, L>,
  fromFile: PlacedLimits<Declared<S, L>>,
  fromEnv: readonly EnvLimits<S, L>[],
): PlacedLimits<Declared<S, L>> {
  if (fromEnv.length === 0) return fromFile;
  const subjectOf = ({ scope, subject }: { readonly scope: S; readonly subject: string }): string =>
    id({ scope, subject, periodSeconds: 0 });
  const replaced = new Set(fromEnv.map(subjectOf));
  const stays = fromFile.limits.map((declared) => !replaced.has(subjectOf(declared)));
  return {
    limits: [
      ...fromFile.limits.filter((_, i) => stays[i]),
      ...fromEnv.flatMap(({ limits }) => limits),
    ],
    declaredAt: [
      ...fromFile.declaredAt.filter((_, i) => stays[i]),
      ...fromEnv.flatMap(({ limits, variable }) => limits.map(() => variable)),
    ],
  };
}
