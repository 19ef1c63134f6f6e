/**
 * Fetches the daemon's rules or budgets page by page, and filters them. `rule-table.ts` and
 * `budget-table.ts` show them.
 */

import { isObject } from "../../shared/checked.js";
import type { LimitKey } from "../../shared/domain/limit-key.js";
import type { LimitedModels } from "../../shared/domain/limited-models.js";
import { hoursOf } from "../../shared/domain/rule-hours.js";
import { isPathWithin } from "../../shared/domain/user-path.js";
import { append } from "../../shared/long-lists.js";
import { bodyOrThrow, unreadableAnswer } from "../session/daemon-answer.js";
import type { AdminClient } from "../session/with-daemon.js";

/** A rule or a budget as the admin API lists it, with the names of the API. */
export type ListedLimit = Readonly<Record<string, unknown>>;

export interface LimitList {
  readonly items: readonly ListedLimit[];
  readonly serverTime: string;
  /** Other hosts, which may have served children that aren't listed. */
  readonly otherHosts?: number;
}

/** The operation that lists them, and the API's name for the items. */
export interface ListOf {
  readonly list: "rate-limits.list" | "budgets.list";
  readonly items: "rate_limits" | "budgets";
}

/**
 * All of them in the API's order, or by use: the fullest, children of templates included, as many
 * as fit on a page. Throws `CommandFailure`.
 */
export async function listLimits(
  client: AdminClient,
  { list, items: name }: ListOf,
  byUse = false,
): Promise<LimitList> {
  const all: ListedLimit[] = [];
  for (let after: string | null = null; ; ) {
    const query = byUse ? { order: "use" } : { after };
    const body = bodyOrThrow(await client.call(list, query));
    const { [name]: items, server_time: serverTime, next = null } = isObject(body) ? body : {};
    if (!Array.isArray(items) || !items.every(isObject) || typeof serverTime !== "string")
      throw unreadableAnswer(`list of ${name}`);
    append(all, items);
    if (next === null) return { items: all, serverTime };
    if (typeof next !== "string" || next === after || items.length === 0)
      throw unreadableAnswer(`list of ${name}`);
    after = next;
  }
}

/** The API's object, for `--json`. */
export function listBody({ items, serverTime }: LimitList, { items: name }: ListOf): string {
  return JSON.stringify({ [name]: items, server_time: serverTime });
}

/** Which items to keep; null keeps all. */
export interface ListFilter {
  readonly scope: string | null;
  /** A normalized user path: keeps what is on it and below it, its own child of a template too. */
  readonly path: string | null;
  /** A normalized user path: keeps what applies to a caller with it, as in /v1/usage. */
  readonly caller: string | null;
}

export function filterLimits(list: LimitList, { scope, path, caller }: ListFilter): LimitList {
  return {
    ...list,
    items: list.items.filter(
      (item) =>
        (scope === null || item["scope"] === scope) &&
        (path === null || isOn(item, path)) &&
        (caller === null || covers(item, caller)),
    ),
  };
}

/** Whether it is a budget of which each session has the amount. */
export function isOfSessions({ period_label: period }: ListedLimit): boolean {
  return period === "session";
}

function isOn(item: ListedLimit, path: string): boolean {
  const { scope, subject, template, per_child: perChild } = item;
  if (scope !== "user_path" || typeof subject !== "string") return false;
  return (
    isPathWithin(subject, path) ||
    (perChild === true &&
      !isOfSessions(item) &&
      template === undefined &&
      subject === parentOf(path))
  );
}

function parentOf(path: string): string | null {
  return path === "/" ? null : path.slice(0, path.lastIndexOf("/")) || "/";
}

/** The items on one subject, in the form that matching uses. */
export function limitsOn(
  list: LimitList,
  { scope, subject }: { readonly scope: string; readonly subject: string },
): LimitList {
  return {
    ...list,
    items: list.items.filter(
      (item) => item["scope"] === scope && item["effective_subject"] === subject,
    ),
  };
}

/** The key of an item, in the names of the API. */
export function keyOfItem(item: ListedLimit): ListedLimit {
  const { scope, subject, period_seconds, models, when, mode } = item;
  return {
    scope,
    subject,
    period_seconds,
    ...(models ? { models } : {}),
    ...(when ? { when } : {}),
    ...(mode ? { mode } : {}),
  };
}

/** The item of a key, whose subject has the form that matching uses; or none. */
export function limitOf(list: LimitList, key: LimitKey<string>): LimitList {
  const onSubject = limitsOn(list, key);
  const items = onSubject.items.filter(
    ({ period_seconds: seconds, models, when, mode }) =>
      seconds === key.periodSeconds &&
      modelsText(models) === key.models &&
      hoursOf(when) === key.when &&
      mode === key.mode,
  );
  return { ...onSubject, items };
}

/** The models of an item as in a key. */
function modelsText(models: unknown): LimitedModels | undefined {
  return Array.isArray(models) ? models.join(" ") : undefined;
}

/** A template doesn't cover its own path, only the paths below it (docs/reference/http-api.md). */
function covers(item: ListedLimit, path: string): boolean {
  const subject = item["subject"];
  if (item["scope"] !== "user_path" || typeof subject !== "string") return false;
  return path === subject
    ? item["per_child"] !== true || item["template"] !== undefined
    : path.startsWith(subject === "/" ? "/" : `${subject}/`);
}
