/** Writes a file of limits that `read-limits-file.ts` reads. Pure. */

import { plainScalar } from "../config/file/parse-yaml.js";
import { budgetSection, ruleSection } from "../config/file/read-limit-lists.js";
import { limitsPerEntryMax } from "../config/limits/declared-at.js";
import { type BudgetDefinition, compareBudgets } from "../domain/budget.js";
import { calendarFields } from "../domain/budget-calendar.js";
import type { JwtDenial } from "../domain/jwt-denial.js";
import type { LimitKey } from "../domain/limit-key.js";
import type { ExhaustedField } from "../domain/on-exhausted.js";
import { capFieldNames, compareRules, type RuleDefinition } from "../domain/rule.js";
import type { TokenWeights } from "../domain/token-weights.js";
import {
  compareDenials,
  compareKeys,
  denialEntry,
  type FileKey,
  keyEntry,
} from "./credential-entry.js";
import { budgetEntry, type EntryPeriod, ruleEntry } from "./limit-entry.js";

interface Limits {
  /** Null: the file has no such section. */
  readonly rules: readonly RuleDefinition[] | null;
  readonly budgets: readonly BudgetDefinition[] | null;
  readonly keys?: readonly FileKey[] | null;
  readonly denials?: readonly JwtDenial[] | null;
}

/** The same text for the same limits, whatever their order. */
export function writeLimitsFile({ rules, budgets, keys = null, denials = null }: Limits): string {
  const lines = [
    "# Written by sluice limits export, read by sluice limits apply.",
    ...(rules === null ? [] : ["", ...ruleLines(rules)]),
    ...(budgets === null ? [] : ["", ...budgetLines(budgets)]),
    ...(keys === null ? [] : ["", ...listLines("keys", [...keys].sort(compareKeys).map(keyEntry))]),
    ...(denials === null
      ? []
      : ["", ...listLines("denied_jwts", [...denials].sort(compareDenials).map(denialEntry))]),
  ];
  return `${lines.join("\n")}\n`;
}

function ruleLines(rules: readonly RuleDefinition[]): readonly string[] {
  return sectionLines(ruleSection, [...rules].sort(compareRules), (rule) => {
    const entry = ruleEntry(rule);
    const { limit_key: key, models, when, mode, host_only } = entry;
    return [
      periodText(key),
      ...modelsLine(models),
      ...(when === undefined ? [] : [`when: ${JSON.stringify(when)}`]),
      ...(mode === undefined ? [] : [`mode: ${mode}`]),
      ...capFieldNames.flatMap((name) => {
        if (name === "on_exhausted") return exhaustedLine(entry);
        if (name === "shares" || name === "loops") return mappingLine(name, entry[name]);
        const { [name]: value } = entry;
        if (value === undefined) return [];
        return [`${name}: ${typeof value === "object" ? weightsText(value) : value}`];
      }),
      ...(host_only === undefined ? [] : ["host_only: true"]),
    ];
  });
}

function exhaustedLine({ on_exhausted: value }: ExhaustedField): readonly string[] {
  if (value === undefined) return [];
  return [`on_exhausted: ${value === "warn" ? value : `{ use: ${JSON.stringify(value.use)} }`}`];
}

/** A mapping as JSON, which is valid YAML. */
function mappingLine(name: string, value: object | undefined): readonly string[] {
  return value === undefined ? [] : [`${name}: ${JSON.stringify(value)}`];
}

function budgetLines(budgets: readonly BudgetDefinition[]): readonly string[] {
  return sectionLines(budgetSection, [...budgets].sort(compareBudgets), (budget) => {
    const entry = budgetEntry(budget);
    const { budget_key: key, models, amount, unpriced } = entry;
    return [
      periodText(key),
      ...modelsLine(models),
      `amount: ${amount}`,
      ...(unpriced === undefined ? [] : [`unpriced: ${unpriced}`]),
      ...calendarFields.flatMap((name) =>
        entry[name] === undefined ? [] : [`${name}: ${entry[name]}`],
      ),
      ...exhaustedLine(entry),
      ...(entry.hold === undefined ? [] : [`hold: ${entry.hold}`]),
    ];
  });
}

/** A list of entries, each field on its own line, so that a diff shows what changed. */
function listLines(name: string, entries: readonly object[]): readonly string[] {
  if (entries.length === 0) return [`${name}: []`];
  return [
    `${name}:`,
    ...entries.flatMap((entry) =>
      Object.entries(entry).map(
        ([field, value], i) => `  ${i === 0 ? "-" : " "} ${field}: ${valueText(value)}`,
      ),
    ),
  ];
}

function valueText(value: unknown): string {
  return Array.isArray(value)
    ? `[${(value as string[]).map(plainOrQuoted).join(", ")}]`
    : plainOrQuoted(value as string);
}

function weightsText(weights: TokenWeights): string {
  const pairs = Object.entries(weights).map(([kind, weight]) => `${kind}: ${weight}`);
  return `{ ${pairs.join(", ")} }`;
}

function modelsLine(models: readonly string[] | undefined): readonly string[] {
  return models === undefined ? [] : [`models: [${models.map(quoted).join(", ")}]`];
}

function periodText(key: EntryPeriod): string {
  return "period" in key ? `period: ${key.period}` : `period_seconds: ${key.period_seconds}`;
}

interface Section {
  readonly name: string;
  readonly lists: readonly {
    readonly list: string;
    readonly scope: string;
    readonly subjectKey: string;
  }[];
}

/** The lines of limits in their order, in which those on one subject are together. */
function sectionLines<D extends LimitKey<string> & { readonly perChild: boolean }>(
  { name, lists }: Section,
  limits: readonly D[],
  fieldsOf: (limit: D) => readonly string[],
): readonly string[] {
  if (limits.length === 0) return [`${name}: {}`];
  const lines = [`${name}:`];
  for (const { list, scope, subjectKey } of lists) {
    const ofScope = limits.filter((limit) => limit.scope === scope);
    if (ofScope.length === 0) continue;
    lines.push(`  ${list}:`);
    for (const entry of entriesOf(ofScope)) {
      const [{ subject, perChild }] = entry;
      lines.push(`    - ${subjectKey}: ${plainOrQuoted(subject)}`);
      if (perChild) lines.push("      per_child: true");
      lines.push("      limits:");
      for (const limit of entry) lines.push(`        - { ${fieldsOf(limit).join(", ")} }`);
    }
  }
  return lines;
}

/** The limits grouped into entries of the list: one for a subject, or for each of its children. */
function entriesOf<D extends LimitKey<string> & { readonly perChild: boolean }>(
  limits: readonly D[],
): readonly [D, ...D[]][] {
  const entries: [D, ...D[]][] = [];
  const open = new Map<string, [D, ...D[]]>();
  for (const limit of limits) {
    const key = `${limit.perChild}\n${limit.subject}`;
    const entry = open.get(key);
    if (entry !== undefined && entry.length < limitsPerEntryMax) entry.push(limit);
    else {
      const firstLimits: [D, ...D[]] = [limit];
      open.set(key, firstLimits);
      entries.push(firstLimits);
    }
  }
  return entries;
}

/** A text for which YAML returns the same text, and in which no variable is replaced. */
function plainOrQuoted(text: string): string {
  const isPlain = /^[/A-Za-z][\w./-]*$/.test(text) && plainScalar(text) === text;
  return isPlain ? text : quoted(text);
}

/** As `plainOrQuoted`, always in quotes. */
function quoted(text: string): string {
  // `$NAME` as a whole, as shells write a variable, has one more `$`.
  const escaped = /^\s*\$+[A-Z][A-Z0-9_]*\s*$/.test(text)
    ? text.replace("$", () => "$$")
    : text.replaceAll("${", () => "$${");
  return JSON.stringify(escaped).replaceAll(
    unseen,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Characters that a reviewer couldn't see, or would see in another order. */
const unseen =
  /[\u007f-\u00a0\u00ad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\uffff]/g;
