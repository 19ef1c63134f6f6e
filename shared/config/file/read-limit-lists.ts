/**
 * Reads the lists of limits in the file: rules under `rate_limits`, budgets under `budgets`.
 * `../limits/file-limits.ts` checks the limits.
 */
import type { BudgetScope } from "../../domain/budget.js";
import type { Scope } from "../../domain/rule.js";
import { boolean } from "../kinds/choice-kinds.js";
import { limitsPerEntryMax } from "../limits/declared-at.js";
import type { DeclaredLimits } from "../limits/limit-form.js";
import { type Mapping, readMapping } from "../read-mapping.js";
import {
  type FieldSchemas,
  type LocatedValue,
  listField,
  optional,
  readFields,
  readItems,
  textField,
} from "./read-fields.js";

/** A list of subjects and their limits, below a section. */
interface SubjectList<S extends string> {
  readonly list: string;
  readonly scope: S;
  /** The key of an entry's subject, and the values that it may have. */
  readonly subjectKey: string;
  readonly expected: string;
}

/** A section with lists of subjects, each scope in a list of its own. */
interface LimitSection<S extends string> {
  readonly name: string;
  readonly lists: readonly SubjectList<S>[];
}

export const ruleSection: LimitSection<Scope> = {
  name: "rate_limits",
  lists: [
    {
      list: "user_paths",
      scope: "user_path",
      subjectKey: "path",
      expected: "must be a path such as /team/app",
    },
    {
      list: "providers",
      scope: "provider",
      subjectKey: "name",
      expected: "must be a provider's name",
    },
    { list: "models", scope: "model", subjectKey: "model", expected: "must be a model id" },
  ],
};

export const budgetSection: LimitSection<BudgetScope> = {
  name: "budgets",
  lists: [
    {
      list: "user_paths",
      scope: "user_path",
      subjectKey: "path",
      expected: "must be a path such as /team/app",
    },
    {
      list: "labels",
      scope: "label",
      subjectKey: "label",
      expected: "must be a text, in quotes if it looks like a number",
    },
    {
      list: "providers",
      scope: "provider",
      subjectKey: "name",
      expected: "must be a provider's name",
    },
    { list: "models", scope: "model", subjectKey: "model", expected: "must be a model id" },
  ],
};

export function listNames({ lists }: LimitSection<string>): readonly string[] {
  return lists.map(({ list }) => list);
}

/** All entries of a section. `limitKeys` are the fields of each limit. */
export function readLimitLists<S extends string>(
  { name, lists }: LimitSection<S>,
  section: Mapping,
  limitKeys: readonly string[],
  problems: string[],
): readonly DeclaredLimits<S>[] {
  return lists.flatMap((subjects) => {
    const schemas = subjectSchemas(subjects);
    const list = { raw: section[subjects.list], path: `${name}.${subjects.list}` };
    return readItems(list, problems).map((entry) => {
      const fields = readFields(schemas, entry, problems) ?? {};
      const limits = { raw: fields["limits"], path: `${entry.path}.limits` };
      const subject = fields[subjects.subjectKey];
      return {
        path: entry.path,
        scope: subjects.scope,
        subject: typeof subject === "string" ? subject : null,
        subjectKey: subjects.subjectKey,
        perChild: fields["per_child"] === true,
        limits: readItems(limits, problems).flatMap((limit) =>
          readLimit(limit, limitKeys, problems),
        ),
      };
    });
  });
}

const limitList = listField("must be a list of limits", {
  min: 1,
  max: limitsPerEntryMax,
  noun: "limits",
});

function subjectSchemas<S extends string>(subjects: SubjectList<S>): FieldSchemas {
  const subject = { [subjects.subjectKey]: textField(subjects.expected) };
  return subjects.scope === "user_path"
    ? { ...subject, per_child: optional(boolean, false), limits: limitList }
    : { ...subject, limits: limitList };
}

/** Empty if the limit is no mapping. */
function readLimit(
  { raw, path }: LocatedValue,
  limitKeys: readonly string[],
  problems: string[],
): DeclaredLimits<string>["limits"] {
  const fields = readMapping(raw, path, limitKeys, problems);
  return fields === null ? [] : [{ path, fields }];
}
