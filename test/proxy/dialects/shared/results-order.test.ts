import t from "tap";
import { orderWithResults } from "../../../../proxy/dialects/shared/results-order.js";

const user = { role: "user", content: "x" };
const calls = (...ids: string[]): object => ({
  role: "assistant",
  tool_calls: ids.map((id) => ({ id })),
});
const result = (id: string): object => ({ role: "tool", tool_call_id: id });

t.test("each result follows its call, everything else keeps its order", async (t) => {
  const table: Readonly<Record<string, readonly [readonly unknown[], readonly number[] | null]>> = {
    "in order": [[user, calls("a", "b"), result("b"), result("a"), user], null],
    "a message between": [
      [calls("a"), user, result("a"), user],
      [0, 2, 1, 3],
    ],
    "calls in a row": [
      [calls("a"), calls("b"), result("a"), result("b")],
      [0, 2, 1, 3],
    ],
    "an id used again": [
      [calls("a"), user, result("a"), calls("a"), result("a")],
      [0, 2, 1, 3, 4],
    ],
    "a result before its call": [
      [result("a"), calls("a")],
      [0, 1],
    ],
    "a result without a call": [
      [user, result("a"), user],
      [0, 1, 2],
    ],
  };
  for (const [name, [messages, right]] of Object.entries(table))
    t.same(orderWithResults(messages), right, name);
});

t.test("many results of one id, and of one message, are no more work each", async (t) => {
  const many = 100_000;
  const ids = Array.from({ length: many }, (_, i) => `${i}`);
  const oneId = [user, ...ids.flatMap(() => [calls("a"), user, result("a")])];
  t.equal(orderWithResults(oneId)?.length, oneId.length);
  t.equal(orderWithResults([calls(...ids), ...ids.map(result)]), null);
});
