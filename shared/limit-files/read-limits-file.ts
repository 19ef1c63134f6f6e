/**
 * A file of rules and budgets: the sections `rate_limits` and `budgets` of a configuration file,
 * so that users can move entries between the two files
 * (docs/reference/command-line.md, "sluice limits apply"). Pure.
 */
import { isObject } from "../checked.js";
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
import { fileProblem, locateProblems, type Problem } from "../config/problems.js";
import { type Mapping, readMapping } from "../config/read-mapping.js";
import type { BudgetDefinition } from "../domain/budget.js";
import type { RuleDefinition } from "../domain/rule.js";

/** Null: the file lacks the section, so nothing of it changes. */
export interface LimitsFile {
  readonly rules: readonly RuleDefinition[] | null;
  readonly budgets: readonly BudgetDefinition[] | null;
  /** Each entry's place in the file, in the same order, such as `budgets.labels[0].limits[1]`. */
  readonly ruleAt: readonly string[];
  readonly budgetAt: readonly string[];
}

type LimitsFileRead =
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
export function readLimitsFile({ file, text, env }: Source): LimitsFileRead {
  const yaml = parseYaml(text);
  const problems: string[] = [];
  const failed = (): LimitsFileRead => ({
    ok: false,
    problems: [
      ...yaml.problems.map((problem) => fileProblem(problem, file)),
      ...locateProblems(
        problems.map((message) => ({ kind: "file", place: file, message })),
        { text, places: yaml.places },
      ),
    ],
  });
  if (yaml.document === undefined) return failed();
  const top = readTop(substituteVariables(yaml.document, env, problems), problems);
  const read = <S extends string, L extends PeriodLimit>(
    section: Parameters<typeof readLimitLists<S>>[0],
    form: LimitForm<S, L>,
  ) => {
    const lists = sectionOf(top, section, problems);
    if (lists === null) return null;
    const entries = readLimitLists(section, lists, Object.keys(form.fields), problems);
    return {
      limits: readFileLimits(form, entries, entitled, problems),
      at: entries.flatMap(({ limits }) => limits.map(({ at }) => at)),
    };
  };
  const rules = read(ruleSection, ruleForm);
  const budgets = read(budgetSection, budgetForm);
  if (rules === null && budgets === null && problems.length + yaml.problems.length === 0)
    problems.push("the file has neither rate_limits nor budgets");
  if (problems.length > 0 || yaml.problems.length > 0) return failed();
  return {
    ok: true,
    rules: rules?.limits ?? null,
    budgets: budgets?.limits ?? null,
    ruleAt: rules?.at ?? [],
    budgetAt: budgets?.at ?? [],
  };
}

/** Problems of the file, whose messages begin with a place in it. */
export function placed(
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
  const known = [ruleSection.name, budgetSection.name];
  if (document === null) return {};
  return readMapping(document, "", known, problems) ?? {};
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
