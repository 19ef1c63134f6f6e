import fc from "fast-check";
import t from "tap";
import { orderMessages, withTexts } from "../../../../proxy/dialects/fit/message-order.js";

const says = (role: string, content: unknown): Record<string, unknown> => ({ role, content });
const text = (said: string): object => ({ type: "text", text: said });
const picture = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
const called = { role: "assistant", content: null, tool_calls: [{ id: "c" }] };
const result = { role: "tool", tool_call_id: "c", content: "4" };

t.test("messages, as the templates of hosts take them", async (t) => {
  const cases = [
    [
      "leading system messages become one, later ones speak as the user",
      "system_first",
      [
        says("system", "a"),
        says("system", [text("b"), text("c")]),
        says("user", "d"),
        says("system", "e"),
      ],
      [says("system", "a\n\nb\n\nc"), says("user", "d"), says("user", "e")],
    ],
    [
      "one system message stays as it is",
      "system_first",
      [says("system", [text("a")]), says("user", "b")],
      [says("system", [text("a")]), says("user", "b")],
    ],
    [
      "words after a result join it",
      "alternating",
      [called, result, says("user", "go on"), says("system", "hurry")],
      [called, { ...result, content: "4\n\ngo on\n\nhurry" }],
    ],
    [
      "a picture after a result follows a turn of the assistant",
      "alternating",
      [called, result, says("user", [picture])],
      [called, result, says("assistant", "I have the result."), says("user", [picture])],
    ],
    [
      "turns of one role are one, but not those that call",
      "alternating",
      [says("user", "a"), says("user", [picture]), says("assistant", "b"), called],
      [says("user", [text("a"), picture]), says("assistant", "b"), called],
    ],
    [
      "any order",
      "any",
      [says("user", "a"), says("system", "b")],
      [says("user", "a"), says("system", "b")],
    ],
  ] as const;
  for (const [name, order, given, expected] of cases)
    t.same(orderMessages(given, order), expected, name);
});

t.test("no order loses a word", async () => {
  const message = fc.oneof(
    fc.record({ role: fc.constantFrom("system", "user"), content: fc.stringMatching(/^\w{1,5}$/) }),
    fc.constant(called),
    fc.constant(result),
  );
  const words = (messages: unknown): string[] =>
    (JSON.stringify(messages).match(/"(?:content|text)":"[^"]*"/g) ?? [])
      .flatMap((found) => found.replace(/^"\w+":/, "").match(/\w+/g) ?? [])
      .map((word) => word.replace(/^n+(?=.)/, (start) => start))
      .sort();
  fc.assert(
    fc.property(
      fc.array(message),
      fc.constantFrom("system_first", "alternating"),
      (given, order) => {
        const plain = (messages: unknown): string[] =>
          words(JSON.parse(JSON.stringify(messages).replaceAll("\\n", " ")));
        const got = plain(orderMessages(given, order as "alternating"));
        return JSON.stringify(got) === JSON.stringify(plain(given));
      },
    ),
    { numRuns: 200 },
  );
});

t.test("lists of texts become one text, lists with pictures stay", async (t) => {
  t.same(withTexts([says("user", [text("a"), text("b")]), says("user", [text("a"), picture])]), [
    says("user", "a\nb"),
    says("user", [text("a"), picture]),
  ]);
});
