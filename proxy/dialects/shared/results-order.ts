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
  /** The indexes of each call's results, by the call's id; the last one first. */
  const results = new Map<unknown, number[]>();
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i];
    if (!isObject(message) || message["role"] !== "tool") continue;
    const id = message["tool_call_id"];
    const resultsOfCall = results.get(id);
    if (resultsOfCall === undefined) results.set(id, [i]);
    else resultsOfCall.push(i);
  }
  const order = new Set<number>();
  messages.forEach((message, i) => {
    if (order.has(i)) return;
    order.add(i);
    for (const id of callIds(message)) {
      const resultsOfCall = results.get(id) ?? [];
      let next = resultsOfCall.pop();
      // A result before the call, or one that an earlier call with the same id has.
      while (next !== undefined && (next < i || order.has(next))) next = resultsOfCall.pop();
      if (next !== undefined) order.add(next);
    }
  });
  return [...order];
}

function isInOrder(messages: readonly unknown[]): boolean {
  let open: ReadonlySet<unknown> = new Set();
  for (const message of messages) {
    if (!isObject(message)) return true;
    if (message["role"] !== "tool") open = new Set(callIds(message));
    else if (!open.has(message["tool_call_id"])) return false;
  }
  return true;
}

function callIds(message: unknown): readonly unknown[] {
  const calls = isObject(message) ? message["tool_calls"] : null;
  return Array.isArray(calls)
    ? calls.map((call: unknown) => (isObject(call) ? call["id"] : undefined))
    : [];
}
