import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { conversationIn, conversationOf, withOwnFirst } from "../../../proxy/routing/affinity.js";
import type { WeightedTarget } from "../../../proxy/routing/resolve-model.js";
import { jsonDepthMax } from "../../../shared/bounds.js";
import { fieldsOf } from "../body/fields-of.js";

const target = (model: string, weight = 1): WeightedTarget => ({ provider: "p", model, weight });
const targets = ["a", "b", "c", "d"].map((model) => target(model));
const own = (of: readonly WeightedTarget[], conversation: string): string =>
  withOwnFirst(of, conversation)[0]!.model;
const conversations = Array.from({ length: 4000 }, (_, i) => `conversation ${i}`);

t.test("a conversation has one target, whatever the order; the others keep theirs", async () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.shuffledSubarray(targets, { minLength: targets.length }),
      (conversation, shuffled) => {
        const first = own(targets, conversation);
        const ordered = withOwnFirst(shuffled, conversation);
        assert.equal(ordered[0]!.model, first);
        assert.deepEqual(
          ordered.slice(1),
          shuffled.filter(({ model }) => model !== first),
        );
      },
    ),
  );
});

t.test("conversations are shared by weight", async (t) => {
  const weighted = [target("a", 1), target("b", 3)];
  const atB = conversations.filter((each) => own(weighted, each) === "b").length;
  t.ok(Math.abs(atB / conversations.length - 0.75) < 0.03, `${atB} of ${conversations.length}`);
  for (const { model } of targets) {
    const count = conversations.filter((each) => own(targets, each) === model).length;
    t.ok(Math.abs(count / conversations.length - 0.25) < 0.03, `${model}: ${count}`);
  }
});

t.test("when a target goes, only its own conversations move", async (t) => {
  const left = targets.filter(({ model }) => model !== "c");
  const moved = conversations.filter((each) => own(targets, each) !== own(left, each));
  t.ok(moved.length > 0);
  t.ok(moved.every((each) => own(targets, each) === "c"));
});

t.test("two releases agree, since proxies of both run while a cluster is upgraded", async (t) => {
  const chosen = conversations.slice(0, 40).map((each) => own(targets, each));
  t.equal(chosen.join(""), "cdddccbdcbaadbbbcdcbbdaddbdccbccacbcdcbd");
  t.equal(own(targets, "é 漢字 🙂"), "d");
  t.equal(own(targets, "conversation 1001"), "a", "by the last bits, too: c is close");
});

t.test("the lowest and the highest of all hashes are shares, too", async (t) => {
  // At b, the one has the hash 0, and the other the hash 2 ** 32 - 1.
  t.equal(own([target("a"), target("b")], "rmfnaa2y"), "a");
  t.equal(own([target("a"), target("b", 1000)], "rmfnaa2y"), "b", "it has a share of its weight");
  t.equal(own([target("a", 1000), target("b")], "41pqabb8"), "b");
});

t.test("of targets whose hash is the same the name decides, not the order", async (t) => {
  const alike = [target("m93vu"), target("mgtea")];
  t.equal(own(alike, "ann"), "m93vu");
  t.equal(own(alike.toReversed(), "ann"), "m93vu");
});

const hello = [{ role: "user", content: "hello" }];

t.test("a conversation is known by what says it best", async (t) => {
  const cases: readonly (readonly [object, string | null])[] = [
    [{ metadata: { user_id: "user_1" }, user: "u", messages: hello }, "user_1"],
    [{ metadata: { user_id: 5 }, user: "u", messages: hello }, "u"],
    [{ metadata: null, user: "", messages: hello }, '"hello"'],
    [{ messages: [{ role: "user", content: null }] }, "null"],
    [{ messages: hello }, '"hello"'],
    [{ input: hello }, '"hello"'],
    [{ input: "hello" }, "hello"],
    [{ input: "" }, null],
    [{ contents: [{ role: "user", parts: [{ text: "hello" }] }] }, '[{"text":"hello"}]'],
    [{ messages: [] }, null],
    [{ messages: [null, 5, { role: "user" }] }, null],
    [{ prompt: "hello" }, null],
    [{ metadata: "none" }, null],
  ];
  for (const [fields, expected] of cases)
    t.equal(conversationIn(fields as Record<string, unknown>), expected, JSON.stringify(fields));
});

t.test("later turns, and other instructions, are the same conversation", async (t) => {
  const first = conversationIn({ messages: [{ role: "system", content: "a" }, ...hello] });
  t.equal(
    conversationIn({
      system: "b",
      messages: [...hello, { role: "assistant", content: "hi" }, { role: "user", content: "more" }],
    }),
    first,
  );
  t.not(conversationIn({ messages: [{ role: "user", content: "hello!" }] }), first);
  t.ok((conversationIn({ input: "x".repeat(1e6) }) ?? "").length < 100_000);
});

t.test("a first message of any depth and size is read, or no conversation", async (t) => {
  const nested = (levels: number): string | null =>
    conversationOf(
      "",
      fieldsOf(
        `{"messages":[{"role":"user","content":${"[".repeat(levels)}${"]".repeat(levels)}}]}`,
      ),
    );
  t.type(nested(jsonDepthMax), "string");
  t.equal(nested(jsonDepthMax + 1), null);
  t.equal(nested(100_000), null);
  const withText = (text: string, image = "x".repeat(1e6)): string | null =>
    conversationIn({
      messages: [{ role: "user", content: [{ text }, { url: image }, { text: "last" }] }],
    });
  t.equal(withText("a")?.length, 65_536);
  t.equal(withText("a", "x"), '[{"text":"a"},{"url":"x"},{"text":"last"}]');
  t.not(withText("a"), withText("b"));
  t.not(withText("a", "x"), withText("a", "y"));
});

t.test("a session says it before the body, whose texts needn't be ASCII", async (t) => {
  const body = fieldsOf(Buffer.from('{"messages":[{"role":"user","content":"grüße"}]}'));
  const other = fieldsOf(Buffer.from('{"messages":[{"role":"user","content":"gruße"}]}'));
  t.equal(conversationOf("a", body), "a");
  t.not(conversationOf("", body), conversationOf("", other));
  t.equal(conversationOf("", fieldsOf(Buffer.from("{}"))), null);
  t.equal(conversationOf("a", body, false), "a");
  t.equal(conversationOf("", body, false), null, "not by the message");
});

t.test("of a body's bytes as much is read as of its value", async (t) => {
  for (const body of [
    '{"user":"a","user":"b"}',
    '{"metadata":{"user_id":"u"},"messages":[{"role":"user","content":"x"}]}',
    '{"messages":[{"role":"system"},7,{"role":"user","content":"x"},{"role":"user"}]}',
    '{"messages":null,"input":[{"role":"user","content":[{"text":"a"}]}]}',
    '{"messages":[],"input":"more"}',
    '{"input":"more"}',
    '{"contents":{}}',
    "{}",
  ])
    t.equal(
      conversationOf("", fieldsOf(body)),
      conversationIn(JSON.parse(body) as Record<string, unknown>),
      body,
    );
});

t.test("of lists of tokens' ids nothing is parsed", async (t) => {
  const body = fieldsOf(`{"input":[[1,2,3],[4,5,6],7,{"role":"system"},{"role":"user"}]}`);
  const parse = t.capture(JSON, "parse", JSON.parse);
  conversationOf("", body);
  t.same(
    parse().map(({ args }) => args[0]),
    ['{"role":"system"}', '{"role":"user"}'],
  );
});
