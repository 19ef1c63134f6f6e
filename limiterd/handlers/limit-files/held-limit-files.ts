/**
 * Limit files, which arrive in pieces. Each piece is checked when it arrives; nothing is applied
 * before the file is complete. The files are only in memory.
 */

import { limitFilesHeldMax, limitsPerFileMax } from "../../../shared/bounds.js";
import {
  bad,
  type Checked,
  good,
  isAbsent,
  isCount,
  isObject,
  show,
} from "../../../shared/checked.js";
import { ruleName } from "../../../shared/config/limits/rule-limits.js";
import type { UseProblem } from "../../../shared/config/model-to-use.js";
import {
  type BudgetDefinition,
  budgetId,
  budgetName,
  parseBudgetWrite,
} from "../../../shared/domain/budget.js";
import { type JwtDenial, jwtNameKey } from "../../../shared/domain/jwt-denial.js";
import type { Exhaustible } from "../../../shared/domain/on-exhausted.js";
import { parseRuleWrite, type RuleDefinition, ruleId } from "../../../shared/domain/rule.js";
import { type Failure, failure, invalid } from "../../../shared/error-code.js";
import { tooManyLimits } from "../../../shared/limit-files/apply-limits.js";
import {
  type FileKey,
  parseDenialEntry,
  parseKeyEntry,
} from "../../../shared/limit-files/credential-entry.js";
import type { LimitChangeItem, LimitCounts } from "../../../shared/limit-files/limits-plan.js";
import type { DenialChange, KeyChange } from "./plan-credentials.js";
import type { LimitChange, PlanOptions } from "./plan-limits.js";

/** A section of a file: its entries by their ids. */
type Section<D> = Map<string, D>;

/** The last plan of a file. */
export interface HeldPlan {
  readonly options: PlanOptions;
  readonly changes: readonly LimitChangeItem[];
  readonly counts: LimitCounts;
  readonly revision: string;
  /**
   * The version of the limits, and the number of pieces of the file, from which the plan was made.
   */
  readonly madeOf: { readonly limitsVersion: number; readonly part: number };
  /** The changes in the form in which they are applied. */
  readonly rules: readonly LimitChange<RuleDefinition>[];
  readonly budgets: readonly LimitChange<BudgetDefinition>[];
  readonly keys: readonly KeyChange[];
  readonly denials: readonly DenialChange[];
}

export interface HeldLimitFile {
  /** The number of the next piece. */
  part: number;
  /** Null: the file has no such section. */
  rules: Section<RuleDefinition> | null;
  budgets: Section<BudgetDefinition> | null;
  keys: Section<FileKey> | null;
  denials: Section<JwtDenial> | null;
  plan: HeldPlan | null;
}

interface PlanContext {
  readonly perChildEntitled: boolean;
  readonly useProblem: UseProblem;
}

export class HeldLimitFiles {
  /**
   * Grows with each change of rules, budgets, keys or denied JWTs, which may outdate earlier plans.
   */
  limitsVersion = 0;
  /** The least recently used file is first. */
  readonly #files = new Map<string, HeldLimitFile>();

  get size(): number {
    return this.#files.size;
  }

  /**
   * Adds a piece. The body: {id, part, rate_limits?, budgets?, keys?, denied_jwts?}; pieces come in
   * order, and part 0 begins a file.
   */
  take(body: unknown, entitled: PlanContext): Checked<HeldLimitFile> {
    const fields = isObject(body) ? body : {};
    const { id, part, rate_limits: rules, budgets } = fields;
    if (typeof id !== "string" || !/^[\w-]{1,64}$/.test(id))
      return bad(`id must be a text of up to 64 letters, not ${show(id)}`, "id");
    if (!isCount(part)) return bad(`part must be an integer from 0, not ${show(part)}`, "part");
    if (part === 0) this.#begin(id);
    const file = this.find(id);
    if (file === null || file.part < part) return { ok: false, failure: unknownFile };
    // The piece was added before, but its answer was lost.
    if (part < file.part) return good(file);
    const problem =
      addRules(file, rules, entitled) ??
      addBudgets(file, budgets, entitled) ??
      addKeys(file, fields["keys"]) ??
      addDenials(file, fields["denied_jwts"]) ??
      (sizeOf(file) > limitsPerFileMax ? tooManyLimits : null);
    if (problem !== null) {
      this.drop(id);
      return { ok: false, failure: problem };
    }
    file.part++;
    return good(file);
  }

  /** Null if the file isn't in memory. */
  find(id: unknown): HeldLimitFile | null {
    const file = typeof id === "string" ? this.#files.get(id) : undefined;
    if (file === undefined) return null;
    this.#files.delete(String(id));
    this.#files.set(String(id), file);
    return file;
  }

  drop(id: unknown): void {
    this.#files.delete(String(id));
  }

  #begin(id: string): void {
    if (this.#files.has(id)) return;
    const [oldest] = this.#files.keys();
    if (this.#files.size >= limitFilesHeldMax) this.#files.delete(oldest!);
    this.#files.set(id, {
      part: 0,
      rules: null,
      budgets: null,
      keys: null,
      denials: null,
      plan: null,
    });
  }
}

/** The error for a file that a restart or the bound on files has dropped. */
export const unknownFile: Failure = failure(
  "overloaded",
  "nothing was changed: the daemon has restarted or received too many files meanwhile; try again",
);

function addRules(file: HeldLimitFile, list: unknown, entitled: PlanContext): Failure | null {
  if (isAbsent(list)) return null;
  file.rules ??= new Map();
  return addAll(file.rules, list, {
    field: "rate_limits",
    parse: (entry) => withKnownModel(parseRuleWrite(entry, entitled), entitled),
    idOf: ruleId,
    nameOf: ruleName,
  });
}

function addBudgets(file: HeldLimitFile, list: unknown, entitled: PlanContext): Failure | null {
  if (isAbsent(list)) return null;
  file.budgets ??= new Map();
  return addAll(file.budgets, list, {
    field: "budgets",
    parse: (entry) => withKnownModel(parseBudgetWrite(entry, entitled), entitled),
    idOf: budgetId,
    nameOf: budgetName,
  });
}

function addKeys(file: HeldLimitFile, list: unknown): Failure | null {
  if (isAbsent(list)) return null;
  file.keys ??= new Map();
  return addAll(file.keys, list, {
    field: "keys",
    parse: parseKeyEntry,
    idOf: ({ hash }) => hash,
    nameOf: () => "a key with this hash",
  });
}

function addDenials(file: HeldLimitFile, list: unknown): Failure | null {
  if (isAbsent(list)) return null;
  file.denials ??= new Map();
  return addAll(file.denials, list, {
    field: "denied_jwts",
    parse: parseDenialEntry,
    idOf: jwtNameKey,
    nameOf: ({ claim, value }) => `${claim} ${show(value)}`,
  });
}

function sizeOf({ rules, budgets, keys, denials }: HeldLimitFile): number {
  return [rules, budgets, keys, denials].reduce((sum, section) => sum + (section?.size ?? 0), 0);
}

function withKnownModel<D extends Exhaustible>(
  parsed: Checked<D>,
  { useProblem }: PlanContext,
): Checked<D> {
  const problem = parsed.ok ? useProblem(parsed.value) : null;
  return problem === null ? parsed : { ok: false, failure: problem };
}

function addAll<D>(
  section: Section<D>,
  list: unknown,
  {
    field,
    parse,
    idOf,
    nameOf,
  }: {
    readonly field: string;
    readonly parse: (entry: unknown) => Checked<D>;
    readonly idOf: (limit: D) => string;
    readonly nameOf: (limit: D) => string;
  },
): Failure | null {
  if (!Array.isArray(list)) return invalid(`${field} must be a list`, field);
  for (const entry of list) {
    const place = `${field}[${section.size}]`;
    if (!isObject(entry)) return invalid(`${place} must be an object, not ${show(entry)}`, place);
    const parsed = parse(entry);
    if (!parsed.ok) {
      const { message, param } = parsed.failure;
      return {
        ...parsed.failure,
        message: `${place}: ${message}`,
        param: param === null ? place : `${place}.${param}`,
      };
    }
    const id = idOf(parsed.value);
    if (section.has(id)) return invalid(`${place}: ${nameOf(parsed.value)} is there twice`, place);
    section.set(id, parsed.value);
  }
  return null;
}
