/** The children of templates that have used most, below their templates in a list. */
import { isObject } from "../../shared/checked.js";
import { answered, unreadableAnswer } from "../session/daemon-answer.js";
import type { AdminClient } from "../session/with-daemon.js";
import type { LimitKind } from "./limit-kind.js";
import type { LimitList, Listed } from "./list-limits.js";

/** Each template followed by up to `count` of its children, which have its cap. */
export async function withChildren<S extends string>(
  client: AdminClient,
  { list: listOp, flags }: LimitKind<S>,
  list: LimitList,
  count: number,
): Promise<LimitList> {
  const op = listOp === "budgets.list" ? "budgets.children" : "rate-limits.children";
  const items: Listed[] = [];
  let otherHosts = 0;
  for (const item of list.items) {
    items.push(item);
    if (item["per_child"] !== true) continue;
    const { scope, subject, period_seconds: seconds } = item;
    const body = { scope, subject, period_seconds: seconds, limit: count };
    const answer = answered(await client.call(op, body));
    const { children = null, other_hosts: others } = isObject(answer) ? answer : {};
    if (typeof others === "number") otherHosts = Math.max(otherHosts, others);
    if (!Array.isArray(children) || !children.every(isObject))
      throw unreadableAnswer(`children of ${flags.grammar.plural}`);
    // A child is shown without what it has of its template.
    for (const child of children) items.push({ ...item, ...child, template: subject });
  }
  return { ...list, items, otherHosts };
}
