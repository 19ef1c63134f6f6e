/** The rules that the file declares under `rate_limits`, checked (SPEC "Configuration forms of rules"). */
import { effectiveSubject, notEntitled, parseSubject, type RuleDefinition, show } from "../rule.js";
import { normalizeUserPath } from "../user-path.js";
import type { DeclaredRules } from "./config-file.js";
import type { EnvRules } from "./env-rules.js";
import { duplicateProblems, parseLimit, type PlacedRule } from "./limit-fields.js";
import type { Mapping } from "./read-mapping.js";
import { numberOf } from "./setting-kind.js";

/** Checks the declared entries. The same identity in two places is a problem that names both. */
export function readFileRules(entries: readonly DeclaredRules[], options: { readonly perChildEntitled: boolean }, problems: string[]): readonly RuleDefinition[] {
  const placed: PlacedRule[] = [];
  for (const entry of entries) {
    const subject = parseEntrySubject(entry, problems);
    if (subject !== null && entry.perChild && !options.perChildEntitled) problems.push(`${entry.at}: ${notEntitled(subject).message}`);
    for (const { at, fields } of entry.limits) {
      const limit = parseLimit(withNumbers(fields), at, problems);
      if (limit !== null && subject !== null) placed.push({ at, rule: { scope: entry.scope, subject, ...limit, perChild: entry.perChild } });
    }
  }
  problems.push(...duplicateProblems(placed));
  return placed.map(({ rule }) => rule);
}

function parseEntrySubject({ at, scope, subject, subjectKey }: DeclaredRules, problems: string[]): string | null {
  if (subject === null) return null;
  const name = `${at}.${subjectKey}`;
  if (scope === "user_path") {
    const path = normalizeUserPath(subject);
    if (path.ok) return path.path;
    problems.push(`${name} ${path.reason}, as ${show(subject)} does`);
    return null;
  }
  const checked = parseSubject(scope, subject, name);
  if (checked.ok) return checked.value;
  problems.push(checked.failure.message);
  return null;
}

/** Caps may come as texts, which is what `${NAME}` leaves. A text that is no number stays, to be told as it is. */
function withNumbers(fields: Mapping): Mapping {
  const result: Record<string, unknown> = { ...fields };
  for (const key of ["period_seconds", "max_requests", "max_tokens"]) {
    if (typeof fields[key] === "string") result[key] = numberOf(fields[key]) ?? fields[key];
  }
  return result;
}

/** An environment entry replaces all that the file says about its subject. */
export function mergeRules(fromFile: readonly RuleDefinition[], fromEnv: readonly EnvRules[]): readonly RuleDefinition[] {
  const replaced = new Set(fromEnv.map(({ scope, subject }) => `${scope} ${effectiveSubject(scope, subject)}`));
  const kept = fromFile.filter(({ scope, subject }) => !replaced.has(`${scope} ${effectiveSubject(scope, subject)}`));
  return [...kept, ...fromEnv.flatMap(({ rules }) => rules)];
}
