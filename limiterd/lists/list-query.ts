/**
 * The query of a list of rules, budgets or keys (docs/reference/admin-api.md, "Lists"): where to
 * begin, how many items, and which filters. Also here: the page of a sorted list that answers a
 * query.
 */

import { itemsPerPage } from "../../shared/bounds.js";
import {
  asQuery,
  bad,
  type Checked,
  good,
  isAbsent,
  isCount,
  isObject,
  show,
} from "../../shared/checked.js";
import { declaredAtText, declaredLine } from "../../shared/config/limits/declared-at.js";
import { parseUserPath } from "../../shared/domain/limit-key.js";
import type { DeclaredAt } from "../../shared/domain/rule.js";
import { whenOfText } from "../../shared/domain/rule-hours.js";
import { childOnPath, childPath, isPathWithin } from "../../shared/domain/user-path.js";
import { parseTimestamp } from "../../shared/time.js";

/** The filters in addition to `search`: each field's name with its allowed values. */
type ListChoices = Readonly<Record<string, readonly string[]>>;

export interface ListQuery {
  /** The `next` of the previous page; null for the first page. */
  readonly after: string | null;
  /** Maximum number of items of the page. */
  readonly limit: number;
  /** In lower case; an item is listed if one of its names contains it. Empty: no filter. */
  readonly search: string;
  /** Only what is on this path or below it; `/`: no filter. */
  readonly userPath: string;
  /** The required value by field; a missing field isn't a filter. */
  readonly chosen: Readonly<Record<string, string>>;
}

const searchCharsMax = 200;
/** Rules, budgets or keys that one page of a filtered list examines: about two milliseconds. */
export const itemsExaminedMax = 10_000;

/** The sources of rules and budgets. */
export const sources = ["manual", "config"] as const;

/** `use`: one page with the fullest first. */
export const orders = ["name", "use"] as const;

/**
 * Parses a list's body: `{after?, limit?, search?, user_path?}` and the fields of `choices`. A null
 * body has no filter.
 */
export function parseListQuery(body: unknown, choices: ListChoices): Checked<ListQuery> {
  const fieldNames = ["after", "limit", "search", "user_path", ...Object.keys(choices)];
  const fields = asQuery(body, fieldNames);
  if (!fields.ok) return fields;
  const { after = null, limit, search } = fields.value;
  if (after !== null && typeof after !== "string")
    return bad("after must be the next of the previous page", "after");
  const size = parseLimit(limit);
  if (!size.ok) return size;
  if (!isAbsent(search) && (typeof search !== "string" || search.length > searchCharsMax))
    return bad(`search must be a text of up to ${searchCharsMax} characters`, "search");
  const path = parsePathFilter(fields.value["user_path"]);
  if (!path.ok) return path;
  const chosen: Record<string, string> = {};
  for (const [field, values] of Object.entries(choices)) {
    const value = fields.value[field];
    if (isAbsent(value)) continue;
    if (typeof value !== "string" || !values.includes(value))
      return bad(`${field} must be one of ${values.join(", ")}, not ${show(value)}`, field);
    chosen[field] = value;
  }
  if (isByUse({ chosen }) && after !== null)
    return bad("after goes with order=name: of order=use there is one page", "after");
  return good({
    after,
    limit: size.value,
    search: isAbsent(search) ? "" : search.toLowerCase(),
    userPath: path.value,
    chosen,
  });
}

/** The path to filter by; `/`, which filters nothing, if it isn't given. */
export function parsePathFilter(raw: unknown): Checked<string> {
  return isAbsent(raw) ? good("/") : parseUserPath(raw, "user_path");
}

/** The number of items on a page; `itemsPerPage` if it isn't given. */
export function parseLimit(limit: unknown): Checked<number> {
  if (isAbsent(limit)) return good(itemsPerPage);
  return isCount(limit, 1) && limit <= itemsPerPage
    ? good(limit)
    : bad(`limit must be an integer from 1 to ${itemsPerPage}, not ${show(limit)}`, "limit");
}

/** The numeric key from which a page continues back in time; null for the first page. */
export function parsePosition(after: unknown): Checked<number | null> {
  const position = isAbsent(after) ? null : Number(after);
  return position === null || isCount(position)
    ? good(position)
    : bad("after must be the next of the previous page", "after");
}

/** A moment such as 2026-02-01T12:00:00Z; null if it isn't given. */
export function parseMoment(value: unknown, field: string): Checked<number | null> {
  if (isAbsent(value)) return good(null);
  const ms = typeof value === "string" ? parseTimestamp(value) : null;
  return ms === null
    ? bad(`${field} must be a time such as 2026-02-01T12:00:00Z, not ${show(value)}`, field)
    : good(ms);
}

/**
 * Parses the body of a list of children: the template's key, and `{limit?, search?}`. In a URL's
 * query, models and hours are one text each.
 */
export function parseChildrenQuery(
  body: unknown,
): Checked<{ readonly key: object; readonly query: ListQuery }> {
  const { limit = null, search = null, ...keyFields } = isObject(body) ? body : {};
  const query = parseListQuery({ limit, search }, {});
  if (!query.ok) return query;
  const { models } = keyFields;
  const { when } = keyFields;
  const key = {
    ...keyFields,
    ...(typeof models === "string" ? { models: models.split(",") } : {}),
    ...(typeof when === "string" ? { when: whenOfText(when) } : {}),
  };
  return good({ key, query: query.value });
}

/** Whether the query asks for the fullest items instead of the first by name. */
export function isByUse({ chosen }: Pick<ListQuery, "chosen">): boolean {
  return chosen["order"] === "use";
}

/** Whether a name contains the query's text, ignoring case. */
export function matches(query: Pick<ListQuery, "search">, name: string): boolean {
  return query.search === "" || name.toLowerCase().includes(query.search);
}

/** Whether a child's path contains the query's text and is in its subtree. */
export function matchesChild(
  query: Pick<ListQuery, "search" | "userPath">,
  { definition: { subject } }: ListedLimit,
  child: string,
): boolean {
  if (query.search === "" && query.userPath === "/") return true;
  const path = childPath(subject, child);
  return isPathWithin(path, query.userPath) && matches(query, path);
}

/** A rule or a budget. */
interface ListedLimit {
  readonly definition: {
    readonly scope: string;
    readonly subject: string;
    readonly perChild?: boolean;
  };
  readonly source: string;
}

/** The fields that say where the configuration declares a rule or a budget; empty if unknown. */
export function declaredPlace(
  { definition, source, declaredAt }: ListedLimit & { readonly declaredAt: DeclaredAt | null },
  where: DeclaredIn,
): DeclaredPlace {
  return source === "config" ? placeFields(definition, declaredAt, where) : {};
}

interface DeclaredIn {
  readonly file: string | null;
  readonly section: string;
}

interface DeclaredPlace {
  readonly declared_at?: string;
  readonly declared_line?: number;
}

/** As `declaredPlace`, for the configuration's rule or budget that a manual one overrides. */
export function placeFields(
  { scope }: ListedLimit["definition"],
  at: DeclaredAt | null,
  where: DeclaredIn,
): DeclaredPlace {
  if (at === null) return {};
  const line = declaredLine(at);
  return {
    declared_at: declaredAtText(at, { ...where, scope }),
    ...(line === null ? {} : { declared_line: line }),
  };
}

/** Whether a rule or a budget satisfies a query. */
export function isListed(item: ListedLimit, query: ListQuery): boolean {
  const { scope, subject } = item.definition;
  if (query.userPath !== "/" && !(scope === "user_path" && isPathWithin(subject, query.userPath)))
    return false;
  return hasChosen(item, query) && matches(query, subject);
}

/**
 * The name of the template's child whose path is exactly the query's path; null if there is none.
 * The list has this child even if it has used nothing.
 */
export function childAtQueryPath(item: ListedLimit, query: ListQuery): string | null {
  const { perChild, subject } = item.definition;
  const { userPath: path } = query;
  if (perChild !== true || !isPathWithin(path, subject)) return null;
  const child = childOnPath(path, subject);
  return child !== null && childPath(subject, child) === path && isListedChild(item, query, child)
    ? child
    : null;
}

function isListedChild(item: ListedLimit, query: ListQuery, child: string): boolean {
  return hasChosen(item, query) && matchesChild(query, item, child);
}

/** Whether a rule or a budget has the scope and source that the query chooses. */
export function hasChosen({ definition, source }: ListedLimit, query: ListQuery): boolean {
  const { scope = definition.scope, source: chosenSource = source } = query.chosen;
  return definition.scope === scope && source === chosenSource;
}

interface Page<T> {
  readonly items: readonly T[];
  /** The last examined item if more items follow it; null at the end of the list. */
  readonly last: T | null;
}

/**
 * Up to `limit` items that satisfy `isListed`, from an index on. It examines a bounded number of
 * items, so a page may be short or empty although it isn't the last.
 */
export function pageOf<T>(
  sorted: readonly T[],
  from: number,
  limit: number,
  isListed: (item: T) => boolean,
): Page<T> {
  const items: T[] = [];
  const end = Math.min(sorted.length, from + itemsExaminedMax);
  let index = from;
  while (index < end && items.length < limit) {
    const item = sorted[index++]!;
    if (isListed(item)) items.push(item);
  }
  return { items, last: index < sorted.length ? sorted[index - 1]! : null };
}
