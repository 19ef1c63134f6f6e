/**
 * The daemon's rules or budgets: fetched page by page, and narrowed. What is shown of them is in
 * `rule-table.ts` and `budget-table.ts`.
 */
import { isObject } from "../../shared/assert.js";
import { plainFailure } from "../../shared/error-code.js";
import type { DaemonClient } from "../../shared/wire/daemon-client.js";
import { answered } from "../session/answered.js";
import { refusal } from "../session/command-failure.js";

/** A rule or a budget as the admin API lists it, in the API's names. */
export type Listed = Readonly<Record<string, unknown>>;

export interface LimitList {
  readonly items: readonly Listed[];
  readonly serverTime: string;
}

/** What is listed: the operation, and what the API calls the items. */
export interface ListOf {
  readonly list: "rate-limits.list" | "budgets.list";
  readonly items: "rate_limits" | "budgets";
}

/** All of them in the API's order; throws `CommandFailure`. */
export async function listLimits(
  client: DaemonClient,
  { list, items: name }: ListOf,
): Promise<LimitList> {
  const all: Listed[] = [];
  for (let after: string | null = null; ; ) {
    const body = answered(await client.call(list, { after }));
    const { [name]: items, server_time: serverTime, next = null } = isObject(body) ? body : {};
    if (!Array.isArray(items) || !items.every(isObject) || typeof serverTime !== "string")
      throw unreadable(name);
    all.push(...items);
    if (next === null) return { items: all, serverTime };
    if (typeof next !== "string" || next === after || items.length === 0) throw unreadable(name);
    after = next;
  }
}

function unreadable(name: string): Error {
  return refusal(
    plainFailure(
      500,
      "internal_error",
      `the daemon's list of ${name} can't be read: daemon and command line are of different versions`,
    ),
  );
}

/** As the API says it, for `--json`. */
export function listBody({ items, serverTime }: LimitList, { items: name }: ListOf): string {
  return JSON.stringify({ [name]: items, server_time: serverTime });
}

/** What a list is narrowed to; null where it isn't. */
export interface ListFilter {
  readonly scope: string | null;
  /** A normal user path: what applies to a caller with it, as in /v1/usage. */
  readonly path: string | null;
}

export function filterLimits(list: LimitList, { scope, path }: ListFilter): LimitList {
  return {
    ...list,
    items: list.items.filter(
      (item) =>
        (scope === null || item["scope"] === scope) && (path === null || covers(item, path)),
    ),
  };
}

/** Those on one subject, or the one of a key. `subject` is in the form that matching uses. */
export function limitsOn(
  list: LimitList,
  {
    scope,
    subject,
    periodSeconds,
  }: { readonly scope: string; readonly subject: string; readonly periodSeconds?: number },
): LimitList {
  return {
    ...list,
    items: list.items.filter(
      (item) =>
        item["scope"] === scope &&
        item["effective_subject"] === subject &&
        (periodSeconds === undefined || item["period_seconds"] === periodSeconds),
    ),
  };
}

/** A template's own path isn't covered by it, only what lies below (CONTRACT section 3). */
function covers(item: Listed, path: string): boolean {
  const subject = item["subject"];
  if (item["scope"] !== "user_path" || typeof subject !== "string") return false;
  return path === subject
    ? item["per_child"] !== true
    : path.startsWith(subject === "/" ? "/" : `${subject}/`);
}
