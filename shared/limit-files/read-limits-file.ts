/**
 * Reads a file of limits: the sections `rate_limits` and `budgets` of a configuration file, so that
 * users can move entries between the two files, and the lists `keys` and `denied_jwts`
 * (docs/limits-in-git.md). Pure.
 */
import { type Checked, isObject, showKind } from "../checked.js";
import type { Environment } from "../config/environment.js";
import { parseYaml } from "../config/file/parse-yaml.js";
import {
  budgetSection,
  listNames,
  readLimitLists,
  ruleSection,
} from "../config/file/read-limit-lists.js";
import { substituteVariables } from "../config/file/substitute-variables.js";
import { budgetForm } from "../config/limits/budget-limits.js";
import { readFileLimits } from "../config/limits/file-limits.js";
import type { LimitForm, PeriodLimit } from "../config/limits/limit-form.js";
import { ruleForm } from "../config/limits/rule-limits.js";
import {
  fileProblem,
  locateProblems,
  type Problem,
  withoutConsequences,
} from "../config/problems.js";
import { type Mapping, readMapping } from "../config/read-mapping.js";
import type { BudgetDefinition } from "../domain/budget.js";
import { type JwtDenial, jwtNameKey } from "../domain/jwt-denial.js";
import type { RuleDefinition } from "../domain/rule.js";
import type { Failure } from "../error-code.js";
import { sectionNames } from "./apply-limits.js";
import {
  denialEntryFields,
  type FileKey,
  keyEntryFields,
  parseDenialEntry,
  parseKeyEntry,
} from "./credential-entry.js";

/** Null sections are missing in the file, so nothing of them changes. */
export interface LimitsFile {
  readonly rules: readonly RuleDefinition[] | null;
  readonly budgets: readonly BudgetDefinition[] | null;
  readonly keys: readonly FileKey[] | null;
  readonly denials: readonly JwtDenial[] | null;
  /** Each entry's place in the file, in the same order, such as `budgets.labels[0].limits[1]`. */
  readonly ruleAt: readonly string[];
  readonly budgetAt: readonly string[];
}

type ReadLimitsFile =
  | ({ readonly ok: true } & LimitsFile)
  | { readonly ok: false; readonly problems: readonly Problem[] };

interface Source {
  /** The name of the file in problems. */
  readonly file: string;
  readonly text: string;
  /** For `${NAME}`, as in the configuration. */
  readonly env: Environment;
}

/** The daemon checks the entitlement. */
const entitled = { perChildEntitled: true };

/** All problems together, each with its line and column. */
export function readLimitsFile({ file, text, env }: Source): ReadLimitsFile {
  const yaml = parseYaml(text);
  const problems: string[] = [];
  const failed = (): ReadLimitsFile => ({
    ok: false,
    problems: [
      ...yaml.problems.map((problem) => fileProblem(problem, file)),
      ...locateProblems(
        withoutConsequences(problems).map((message) => ({ kind: "file", place: file, message })),
        { text, places: yaml.places },
      ),
    ],
  });
  if (yaml.document === undefined) return failed();
  const top = readTop(substituteVariables(yaml.document, env, problems), problems);
  const readSection = <S extends string, L extends PeriodLimit>(
    section: Parameters<typeof readLimitLists<S>>[0],
    form: LimitForm<S, L>,
  ) => {
    const lists = sectionOf(top, section, problems);
    if (lists === null) return null;
    const entries = readLimitLists(section, lists, Object.keys(form.fields), problems);
    return {
      limits: readFileLimits(form, entries, entitled, problems),
      at: entries.flatMap(({ limits }) => limits.map(({ path }) => path)),
    };
  };
  const rules = readSection(ruleSection, ruleForm);
  const budgets = readSection(budgetSection, budgetForm);
  const keys = readEntries(top, keyList, problems);
  const denials = readEntries(top, denialList, problems);
  const isEmpty = [rules, budgets, keys, denials].every((section) => section === null);
  if (isEmpty && problems.length + yaml.problems.length === 0)
    problems.push(`the file has none of ${sectionNames.join(", ")}`);
  if (problems.length > 0 || yaml.problems.length > 0) return failed();
  return {
    ok: true,
    rules: rules?.limits ?? null,
    budgets: budgets?.limits ?? null,
    keys,
    denials,
    ruleAt: rules?.at ?? [],
    budgetAt: budgets?.at ?? [],
  };
}

/** Problems of the file, whose messages begin with a place in it. */
export function problemsOfFile(
  file: string,
  text: string,
  messages: readonly string[],
): readonly Problem[] {
  return locateProblems(
    messages.map((message) => ({ kind: "file", place: file, message })),
    { text, places: parseYaml(text).places },
  );
}

function readTop(document: unknown, problems: string[]): Mapping {
  const fieldNames = [ruleSection.name, budgetSection.name, keyList.name, denialList.name];
  if (document === null) return {};
  return readMapping(document, "", fieldNames, problems) ?? {};
}

interface EntryList<D> {
  readonly name: string;
  readonly fields: readonly string[];
  readonly parse: (entry: unknown) => Checked<D>;
  readonly idOf: (entry: D) => string;
}

const keyList: EntryList<FileKey> = {
  name: "keys",
  fields: keyEntryFields,
  parse: parseKeyEntry,
  idOf: ({ hash }) => hash,
};

const denialList: EntryList<JwtDenial> = {
  name: "denied_jwts",
  fields: denialEntryFields,
  parse: parseDenialEntry,
  idOf: jwtNameKey,
};

/** Null if the file has no such list. Each entry's place is its index. */
function readEntries<D>(
  top: Mapping,
  { name, fields, parse, idOf }: EntryList<D>,
  problems: string[],
): readonly D[] | null {
  if (!Object.hasOwn(top, name)) return null;
  const list = top[name];
  if (!Array.isArray(list)) {
    problems.push(`${name} must be a list; [] for none, not ${showKind(list)}`);
    return [];
  }
  const byName = new Map<string, { readonly entry: D; readonly at: string }>();
  for (const [i, raw] of (list as unknown[]).entries()) {
    const path = `${name}[${i}]`;
    const before = problems.length;
    const entry = readMapping(raw, path, fields, problems);
    if (entry === null || problems.length > before) continue;
    const parsed = parse(entry);
    if (!parsed.ok) {
      problems.push(placedAt(path, entry, parsed.failure));
      continue;
    }
    const id = idOf(parsed.value);
    const first = byName.get(id);
    if (first === undefined) byName.set(id, { entry: parsed.value, at: path });
    else problems.push(`${path} says the same as ${first.at}: keep one of them`);
  }
  return [...byName.values()].map(({ entry }) => entry);
}

/** The problem with an entry, which begins with the place in the file. */
function placedAt(path: string, entry: Mapping, { message, param }: Failure): string {
  const field = /^\w+/.exec(param ?? "")?.[0];
  if (field === undefined || !Object.hasOwn(entry, field)) return `${path}: ${message}`;
  return message.startsWith(field) ? `${path}.${message}` : `${path}.${field}: ${message}`;
}

/**
 * Null if it is absent. A section without a value is an error: `--prune` would remove everything.
 */
function sectionOf(
  top: Mapping,
  section: Parameters<typeof listNames>[0],
  problems: string[],
): Mapping | null {
  const { name } = section;
  if (!Object.hasOwn(top, name)) return null;
  const names = listNames(section);
  if (isObject(top[name])) return readMapping(top[name], name, names, problems) ?? {};
  problems.push(`${name} must be a mapping of ${names.join(", ")}; {} for none`);
  return null;
}
