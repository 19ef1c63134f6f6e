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

/** The page with these of its items: it begins and ends with them, and tells of no others. */
export function pageOf({ fields, hasMore }: ListPage, items: readonly Item[]): object {
  const page: Record<string, unknown> = { ...fields, data: items, has_more: hasMore };
  if (fields["first_id"] !== undefined) page["first_id"] = items[0]?.id ?? null;
  if (fields["last_id"] !== undefined) page["last_id"] = items.at(-1)?.id ?? null;
  if (items.length === 0) page["has_more"] = false;
  return page;
}

/** How many items of a provider's a page looks at. */
const itemsPerPage = 100;

/** The query of the next page, from the client's: `after` null for the first. */
export function pageQuery(query: string, cursor: string, after: string | null): string {
  const parameters = new URLSearchParams(query);
  const limit = Number(parameters.get("limit") ?? itemsPerPage);
  if (!(limit <= itemsPerPage)) parameters.set("limit", String(itemsPerPage));
  else if (!parameters.has("limit")) parameters.set("limit", String(itemsPerPage));
  if (after !== null) parameters.set(cursor, after);
  return parameters.toString();
}
