/**
 * What a configuration file says, before its variables are put in: its document without the lists
 * of rules, which may be nearly all of it, and the rules of those lists, checked. It depends on the
 * bytes of the file alone, so that the next start may do without parsing them (`../kept/`).
 */
import { isObject } from "../../checked.js";
import { type DeclaredAt, type RuleDefinition, scopes } from "../../domain/rule.js";
import { listNames, ruleSection } from "./read-limit-lists.js";

export interface ParsedFile {
  readonly document: unknown;
  readonly rules: readonly RuleDefinition[];
  /** Of each of the rules, in their order. */
  readonly declaredAt: readonly DeclaredAt[];
  /** The same of the budgets, which are in the document. */
  readonly budgetsAt: readonly DeclaredAt[];
}

/**
 * Of a document that was found valid, and its rules. Null if the rules depend on variables, which
 * may be others at the next start.
 */
export function parsedFile(
  document: unknown,
  rules: readonly RuleDefinition[],
  places: Pick<ParsedFile, "declaredAt" | "budgetsAt">,
): ParsedFile | null {
  const top = isObject(document) ? document : {};
  const section = top[ruleSection.name];
  if (!isObject(section)) return { document, rules, ...places };
  const lists = listNames(ruleSection);
  const isList = ([name]: [string, unknown]): boolean => lists.includes(name);
  const entries = Object.entries(section);
  // A variable in it, or what is no variable but looks like one.
  if (JSON.stringify(entries.filter(isList)).includes("${")) return null;
  const others = Object.fromEntries(entries.filter((entry) => !isList(entry)));
  return { document: { ...top, [ruleSection.name]: others }, rules, ...places };
}

/** The rules by their fields: read back in a third of the time of as many objects. */
interface Packed {
  readonly document: unknown;
  /** As places in `scopes`. */
  readonly scopes: readonly number[];
  readonly subjects: readonly string[];
  readonly periods: readonly number[];
  readonly requests: readonly (number | null)[];
  readonly tokens: readonly (number | null)[];
  /** The numbers of the rules that are per child. */
  readonly perChild: readonly number[];
  /** The same of those by which each host counts alone; an earlier release has written none. */
  readonly hostOnly?: readonly number[];
  readonly declaredAt: readonly DeclaredAt[];
  readonly budgetsAt: readonly DeclaredAt[];
}

/** As a text. */
export function packParsed({ document, rules, ...places }: ParsedFile): string {
  const packed: Packed = {
    document,
    scopes: rules.map(({ scope }) => scopes.indexOf(scope)),
    subjects: rules.map(({ subject }) => subject),
    periods: rules.map(({ periodSeconds }) => periodSeconds),
    requests: rules.map(({ maxRequests }) => maxRequests),
    tokens: rules.map(({ maxTokens }) => maxTokens),
    perChild: rules.flatMap(({ perChild }, i) => (perChild ? [i] : [])),
    hostOnly: rules.flatMap(({ hostOnly }, i) => (hostOnly === true ? [i] : [])),
    ...places,
  };
  return JSON.stringify(packed);
}

/** Reads what `packParsed` has written; it checks nothing. */
export function unpackParsed(text: string): ParsedFile {
  const packed = JSON.parse(text) as Packed;
  const perChild = new Set(packed.perChild);
  const hostOnly = new Set(packed.hostOnly);
  const rules = packed.subjects.map(
    (subject, i): RuleDefinition => ({
      scope: scopes[packed.scopes[i]!]!,
      subject,
      periodSeconds: packed.periods[i]!,
      maxRequests: packed.requests[i]!,
      maxTokens: packed.tokens[i]!,
      perChild: perChild.has(i),
      ...(hostOnly.has(i) ? { hostOnly: true } : {}),
    }),
  );
  const { document, declaredAt, budgetsAt } = packed;
  return { document, rules, declaredAt, budgetsAt };
}
