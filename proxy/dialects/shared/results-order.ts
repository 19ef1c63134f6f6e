/**
 * Moves the results of tool calls directly after their calls. Clients put warnings, and the next
 * calls, between them; the hosts of open models and Anthropic then refuse the rest of the
 * conversation.
 */
import { isObject } from "../../../shared/checked.js";

/**
 * The order of a chat's messages, as their indices. Each call's result follows the message with the
 * call, and messages between them come after the result. Null if the messages are in order, which
 * is the usual case.
 */
export function orderWithResults(messages: readonly unknown[]): readonly number[] | null {
  if (isInOrder(messages)) return null;
  const results = new Map<unknown, number[]>();
  messages.forEach((message, i) => {
    if (!isObject(message) || message["role"] !== "tool") return;
    const id = message["tool_call_id"];
    results.set(id, [...(results.get(id) ?? []), i]);
  });
  const order = new Set<number>();
  messages.forEach((message, i) => {
    if (order.has(i)) return;
    order.add(i);
    for (const id of callIds(message)) {
      // A later call may use an id again.
      const next = results.get(id)?.find((result) => result > i && !order.has(result));
      if (next !== undefined) order.add(next);
    }
  });
  return [...order];
}

function isInOrder(messages: readonly unknown[]): boolean {
  let open: readonly unknown[] = [];
  for (const message of messages) {
    if (!isObject(message)) return true;
    if (message["role"] !== "tool") open = callIds(message);
    else if (!open.includes(message["tool_call_id"])) return false;
  }
  return true;
}

function callIds(message: unknown): readonly unknown[] {
  const calls = isObject(message) ? message["tool_calls"] : null;
  return Array.isArray(calls)
    ? calls.map((call: unknown) => (isObject(call) ? call["id"] : undefined))
    : [];
}
