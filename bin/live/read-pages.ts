/** Reads lists that the daemon answers in pages. */
import { isObject } from "../../shared/checked.js";
import { append } from "../../shared/long-lists.js";
import type { AdminOp } from "../../shared/wire/admin-op.js";
import { bodyOrThrow, unreadableAnswer } from "../session/daemon-answer.js";
import type { AdminClient } from "../session/with-daemon.js";

interface PageQuery {
  readonly op: AdminOp;
  /** The name of the items in the answer. */
  readonly items: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly pagesMax: number;
  /** Whether the next page is needed, by the items of this one. */
  readonly needsNext?: (items: readonly unknown[]) => boolean;
}

/** The items, and whether there are more. */
export async function readPages(
  client: AdminClient,
  { op, items: name, body, pagesMax, needsNext = () => true }: PageQuery,
): Promise<{ readonly items: readonly unknown[]; readonly more: boolean }> {
  const all: unknown[] = [];
  let after: unknown = null;
  for (let pages = 0; pages < pagesMax; pages++) {
    const page = bodyOrThrow(await client.call(op, after === null ? body : { ...body, after }));
    const { [name]: items, next = null } = isObject(page) ? page : {};
    if (!Array.isArray(items)) throw unreadableAnswer(`list of ${name}`);
    append(all, items);
    if (next === null || !needsNext(items)) return { items: all, more: false };
    after = next;
  }
  return { items: all, more: true };
}
