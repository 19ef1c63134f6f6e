import fc from "fast-check";
import t from "tap";
import { outlineOf } from "../../../proxy/body/count-values.js";
import type { JsonOperation } from "../../../proxy/body/model-body.js";
import {
  conversationEnd,
  noLongTexts,
  turnsInCycleMax,
} from "../../../proxy/body/repeated-turns.js";
import { type ReportedTurn, reportedGrowth, reportedLoops } from "../../outside/loops.js";
import { conversationDialects, conversationIn } from "../../support/loop-conversations.js";

type Fields = Readonly<Record<string, unknown>>;

const atMost = (times: number, turns = 1000) => ({ times, turns });

t.test(
  "reported loops are found in each dialect, and work that looks like one isn't",
  async (t) => {
    for (const dialect of conversationDialects)
      for (const { id, turns, found, foundCalls = found } of reportedLoops) {
        const end = conversationEnd(
          dialect.operation,
          conversationIn(dialect, turns),
          noLongTexts,
          atMost(100),
        );
        t.match(end, { repeated: found, repeatedCalls: foundCalls }, `${dialect.operation} ${id}`);
      }
  },
);

t.test("a longer cycle than the longest isn't found", async (t) => {
  const [dialect] = conversationDialects;
  const cycle = (length: number): readonly ReportedTurn[] =>
    Array.from({ length }, (_, i) => ({ tool: `t${i}`, args: {}, result: "" }));
  for (const length of [turnsInCycleMax, turnsInCycleMax + 1]) {
    const turns = [1, 2, 3].flatMap(() => cycle(length));
    const { repeated = null } =
      conversationEnd(
        "chat_completions",
        conversationIn(dialect!, turns),
        noLongTexts,
        atMost(9),
      ) ?? {};
    t.match(repeated, length > turnsInCycleMax ? null : { times: 3, turns: length });
  }
});

t.test("the tools of a loop are named", async (t) => {
  const turns = [1, 2].flatMap((): ReportedTurn[] => [
    { tool: "a", args: {}, result: "" },
    { tool: "b", args: {}, result: "" },
  ]);
  for (const dialect of conversationDialects) {
    const end = conversationEnd(
      dialect.operation,
      conversationIn(dialect, turns),
      noLongTexts,
      atMost(9),
    );
    t.same(end?.repeated?.tools, ["b", "a"], dialect.operation);
  }
});

t.test("texts that are shortened in the skeleton of a body are compared as they are", async (t) => {
  const long = (end: string): string => `${"x".repeat(5000)}${end}`;
  for (const dialect of conversationDialects)
    for (const [first, second, times] of [
      [long("a"), long("a"), 2],
      [long("a"), long("b"), undefined],
      [
        `Chunk ID: 1\nWall time: 0.1 s\n${long("a")}`,
        `Chunk ID: 22\nWall time: 12.3 s\n${long("a")}`,
        2,
      ],
      [long("\nProcess Group PGID: 7\n"), long("\nProcess Group PGID: 12345\n"), 2],
    ] as const) {
      const turns = [first, second].map((result) => ({ tool: "f", args: {}, result }));
      const bytes = Buffer.from(JSON.stringify(conversationIn(dialect, turns)));
      const outline = outlineOf(bytes, false);
      t.not(outline.skeleton, bytes);
      const fields = JSON.parse(outline.skeleton.toString("latin1")) as Fields;
      const end = conversationEnd(dialect.operation, fields, outline, atMost(9));
      t.equal(end?.repeated?.times, times, `${dialect.operation} ${times}`);
      t.equal(end?.repeatedCalls?.times, 2);
    }
});

t.test("what has no end that can be compared has none", async (t) => {
  const loop = { role: "assistant", content: "x" };
  const reply = { role: "user", content: "y" };
  const table: readonly (readonly [JsonOperation, Fields])[] = [
    ["embeddings", { input: ["x", "x", "x"] }],
    ["completions", { prompt: ["x", "x"] }],
    ["responses", { input: "x" }],
    ["responses", {}],
    ["responses", { input: [{ type: "function_call_output", call_id: "1", output: "x" }] }],
    ["chat_completions", { messages: [] }],
    ["chat_completions", { messages: [reply, reply, reply] }],
    ["chat_completions", { messages: [reply, loop, reply, loop] }],
    ["chat_completions", { messages: [null, 1, "x", [], {}, { role: 5 }] }],
    ["messages", { messages: [{ role: "user", content: [null, { type: 5 }, []] }] }],
    ["generate_content", { contents: [{ role: "user", parts: "x" }] }],
    ["count_tokens", { messages: [reply, loop, reply, loop, reply] }],
  ];
  for (const [operation, fields] of table)
    t.equal(
      conversationEnd(operation, fields, noLongTexts, atMost(9)),
      null,
      JSON.stringify(fields),
    );
});

t.test("deeply nested arguments are different ones", async (t) => {
  let deep: unknown = "x";
  for (let i = 0; i < 10_000; i++) deep = [deep];
  const turn = (input: unknown): object[] => [
    { role: "assistant", content: [{ type: "tool_use", id: "1", name: "f", input }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "x" }] },
  ];
  let same: unknown = "x";
  for (let i = 0; i < 10_000; i++) same = [same];
  const fields = { messages: [...turn(deep), ...turn(same)] };
  t.equal(conversationEnd("messages", fields, noLongTexts, atMost(9))?.repeated, null);
});

t.test("a request is known again by what matters, if it ends with results of tools", async (t) => {
  const results: ReportedTurn = { tool: "f", args: { a: 1 }, result: "x" };
  const words: ReportedTurn = { said: "x", reply: "y" };
  for (const dialect of conversationDialects) {
    const resent = (turns: readonly ReportedTurn[], more: Fields = {}): string =>
      JSON.stringify(
        conversationEnd(
          dialect.operation,
          { ...conversationIn(dialect, turns), ...more },
          noLongTexts,
          atMost(9),
        )?.resent,
      );
    const once = resent([words, results]);
    t.not(once, "null");
    t.equal(resent([words, results], { metadata: { at: 1 }, temperature: 1 }), once);
    t.not(resent([results]), once);
    t.not(resent([words, { ...results, result: "y" }]), once);
    t.not(resent([words, results], { previous_response_id: "resp_1" }), once);
    t.equal(resent([results, words]), "null", "a user may say the same twice");
  }
});

t.test("turns repeat as often as the end of their sequence says", async () => {
  const turn = fc.constantFrom("a", "b", "c");
  const property = fc.property(fc.array(turn, { minLength: 1, maxLength: 14 }), (names) => {
    const turns = names.map((tool) => ({ tool, args: {}, result: "" }));
    let most = { times: 1, turns: 0 };
    for (let length = 1; length <= turnsInCycleMax; length++) {
      const cycle = names.slice(-length).join("");
      const text = names.join("");
      let times = 0;
      while (text.endsWith(cycle.repeat(times + 1)) && (times + 1) * length <= names.length)
        times++;
      if (times > most.times) most = { times, turns: length };
    }
    for (const dialect of conversationDialects) {
      const fields = conversationIn(dialect, turns);
      const { repeated = null } =
        conversationEnd(dialect.operation, fields, noLongTexts, atMost(100)) ?? {};
      const { times = 1, turns: length = 0 } = repeated ?? {};
      if (times !== most.times || length !== most.turns) return false;
    }
    return true;
  });
  fc.assert(property, { numRuns: 300 });
});

t.test("whatever a body has in place of a conversation, nothing fails", async () => {
  const item = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.record({
      role: fc.constantFrom("user", "assistant", "model", "tool", "system"),
      type: fc.constantFrom("message", "function_call", "function_call_output", "reasoning"),
      content: fc.jsonValue({ maxDepth: 3 }),
      parts: fc.jsonValue({ maxDepth: 3 }),
      tool_calls: fc.jsonValue({ maxDepth: 3 }),
      output: fc.jsonValue({ maxDepth: 2 }),
    }),
  );
  fc.assert(
    fc.property(fc.array(item, { maxLength: 6 }), (items) => {
      for (const { operation, list } of conversationDialects)
        conversationEnd(operation, { [list]: [...items, ...items] }, noLongTexts, atMost(9));
    }),
  );
});

const callOf = (i: number, beside?: string): ReportedTurn => ({
  ...{ tool: "f", args: { i }, result: `${i}` },
  ...(beside === undefined ? {} : { beside }),
});
const calls = (count: number): readonly ReportedTurn[] =>
  Array.from({ length: count }, (_, i) => callOf(i));
const words: ReportedTurn = { said: "Done.", reply: "Go on." };

t.test("turns since the user's last message are counted, in each dialect", async (t) => {
  for (const dialect of conversationDialects) {
    const turnsIn = (turns: readonly ReportedTurn[], most = 1000) => {
      const bytes = Buffer.from(JSON.stringify(conversationIn(dialect, turns)));
      const outline = outlineOf(bytes, false);
      const fields = JSON.parse(outline.skeleton.toString("latin1")) as Fields;
      return conversationEnd(dialect.operation, fields, outline, atMost(9, most));
    };
    for (const { source, turns } of reportedGrowth)
      t.match(turnsIn(calls(turns)), { turns, repeated: null }, `${dialect.operation} ${source}`);
    for (const [turns, count, what] of [
      [[...calls(5), words, ...calls(2)], 2, "after the user's answer"],
      [[...calls(5), words], 0, "the user has just answered"],
      [[...calls(3), callOf(4, "No, the other one."), ...calls(2)], 2, "words beside results"],
      [[callOf(1), callOf(2, ""), callOf(3)], 3, "an empty text"],
      ...[
        ...["system-reminder", "system_reminder", "environment_details", "environment_context"],
        ...["subagent_notification", "info-msg"],
      ].flatMap((name) => {
        const whole = `<${name}>\nIt is 12:00.\n</${name}>`;
        const long = `<${name}>\n${"x".repeat(3000)}\n</${name}>`;
        return [
          [[callOf(1), callOf(2, whole), callOf(3)], 3, whole],
          [[callOf(1), callOf(2, `\n${whole}\n${whole}\n`), callOf(3)], 3, `two of ${name}`],
          [[callOf(1), callOf(2, `${long}\n${whole}\n`), callOf(3)], 3, `a long ${name} first`],
          [[callOf(1), callOf(2, long), callOf(3)], 3, `a long ${name}`],
          [[callOf(1), callOf(2, `${whole}\n\nGo on.`), callOf(3)], 1, `words behind ${name}`],
          [[callOf(1), callOf(2, `${long}\n\nGo on.`), callOf(3)], 1, `words behind long ${name}`],
          [[callOf(1), callOf(2, `<${name}> came again`), callOf(3)], 1, `words on ${name}`],
        ] as const;
      }),
      [
        [
          callOf(1),
          callOf(2, "<task-notification>\n</task-notification>\nRead the file"),
          callOf(3),
        ],
        3,
        "a notification with its words",
      ],
    ] as const)
      t.equal(turnsIn(turns)?.turns, count, `${dialect.operation} ${what}`);
    t.equal(turnsIn(calls(50), 7)?.turns, 7, "no more are counted than matter");
    t.equal(turnsIn(calls(50), 0)?.turns, 0);
  }
});

t.test("pictures beside results are the agent's, those without results the user's", async (t) => {
  const picture = { role: "user", content: [{ type: "image_url", image_url: { url: "data:" } }] };
  const call = (id: string): object[] => [
    {
      role: "assistant",
      tool_calls: [{ id, type: "function", function: { name: "f", arguments: id } }],
    },
    { role: "tool", tool_call_id: id, content: id },
  ];
  const turnsOf = (...messages: readonly object[]): number | undefined =>
    conversationEnd("chat_completions", { messages }, noLongTexts, atMost(9))?.turns;
  t.equal(turnsOf(...call("1"), picture, ...call("2")), 2);
  t.equal(turnsOf(...call("1"), { role: "assistant", content: "?" }, picture, ...call("2")), 1);
});

t.test("items that the provider stores are the model's, but for messages", async (t) => {
  const turnsOf = (...input: readonly object[]): number | undefined =>
    conversationEnd("responses", { input }, noLongTexts, atMost(9))?.turns;
  const stored = (id: string): object => ({ type: "item_reference", id });
  const output = (id: string): object => ({
    type: "function_call_output",
    call_id: id,
    output: id,
  });
  const work = [stored("rs_1"), stored("fc_1"), output("1"), stored("fc_2"), output("2")];
  t.equal(turnsOf({ role: "user", content: "Do it." }, ...work), 2);
  t.equal(turnsOf(...work, stored("msg_1"), ...work), 4);
  t.equal(turnsOf(...work, stored("rs_2"), stored("msg_1"), { role: "user", content: "Go" }), 0);
});

t.test("turns that are all the same are compared once with and once without results", async (t) => {
  let reads = 0;
  const turn = (): object[] => [
    {
      role: "assistant",
      content: [{ type: "tool_use", id: "1", name: "f", input: {} }],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "x" }] },
  ];
  const messages = Array.from({ length: 10 }, turn).flat();
  for (const { content } of messages as { content: { input?: object }[] }[])
    for (const block of content)
      if (block.input !== undefined)
        block.input = {
          get a() {
            reads++;
            return 1;
          },
        };
  const end = conversationEnd("messages", { messages }, noLongTexts, atMost(20));
  t.match(end?.repeated, { times: 10, turns: 1 });
  t.equal(reads, 2 * 2 * 9);
});
