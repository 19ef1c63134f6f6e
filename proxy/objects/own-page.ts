/** Of a provider's list the part that belongs to one path. */
import { isObject } from "../../shared/checked.js";
import { isObjectId } from "../../shared/wire/stored-object.js";

type Item = Readonly<Record<string, unknown>> & { readonly id: string };

/** A page of a provider's list. */
export interface ListPage {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly items: readonly Item[];
  readonly hasMore: boolean;
}

/** Null: it is no list. */
export function readPage(answer: unknown): ListPage | null {
  if (!isObject(answer) || !Array.isArray(answer["data"])) return null;
  return {
    fields: answer,
    items: answer["data"].filter((item): item is Item => isObject(item) && isObjectId(item["id"])),
    hasMore: answer["has_more"] === true,
  };
}

/**
 * The page with these of its items: it begins and ends with them, and tells of no others. Of the
 * provider's fields only those of a page: others may be of the whole account. Beyond `limit` items
 * those that stand further from the cursor are left for the next page.
 */
export function pageOf(
  { fields, hasMore }: ListPage,
  own: readonly Item[],
  { limit, goesBack }: { readonly limit: number; readonly goesBack: boolean },
): { readonly items: readonly Item[]; readonly page: object } {
  const items = goesBack ? own.slice(-limit) : own.slice(0, limit);
  const page: Record<string, unknown> = {};
  if (fields["object"] !== undefined) page["object"] = fields["object"];
  page["data"] = items;
  if (fields["first_id"] !== undefined) page["first_id"] = items[0]?.id ?? null;
  if (fields["last_id"] !== undefined) page["last_id"] = items.at(-1)?.id ?? null;
  page["has_more"] = items.length > 0 && (hasMore || items.length < own.length);
  return { items, page };
}

/** How many items of a provider's are looked at in one go, and the most that a page has. */
const itemsPerPage = 100;

/** How many items the client wants. */
export function pageLimit(query: string): number {
  const limit = Number(new URLSearchParams(query).get("limit"));
  return Number.isInteger(limit) && limit >= 1 ? Math.min(limit, itemsPerPage) : itemsPerPage;
}

/**
 * The query of the next page, from the client's: `after` null for the first. However few the client
 * wants, many are asked for: most may be others'.
 */
export function pageQuery(query: string, cursor: string, after: string | null): string {
  const parameters = new URLSearchParams(query);
  parameters.set("limit", String(itemsPerPage));
  if (after !== null) parameters.set(cursor, after);
  return parameters.toString();
}
