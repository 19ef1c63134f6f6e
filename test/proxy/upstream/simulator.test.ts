import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { type SimulatedChat, simulateChat } from "../../../proxy/upstream/simulator.js";
import { createStreamTap } from "../../../proxy/usage/tap-stream.js";
import { anyText } from "../../support/any-text.js";

interface Answer {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: number;
    readonly message?: { readonly role: string; readonly content: string };
    readonly delta?: { readonly role?: string; readonly content?: string };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
  } | null;
}

function plainOf(chat: SimulatedChat): Answer {
  return JSON.parse(chat.plain.toString()) as Answer;
}

function contentOf(chat: SimulatedChat): string {
  return plainOf(chat).choices[0]?.message?.content ?? "";
}

/** The chunks of the stream; its frame is checked on the way. */
function chunksOf(chat: SimulatedChat): readonly Answer[] {
  const data = chat.events.map((event) => /^data: ([^\n]*)\n\n$/.exec(event.toString())?.[1] ?? "");
  assert.equal(data.at(-1), "[DONE]");
  return data.slice(0, -1).map((text) => JSON.parse(text) as Answer);
}

function ask(content: unknown, more: object = {}): object {
  return {
    model: "sim-fast",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content },
    ],
    ...more,
  };
}

const notice = "This is the Sluice simulator: no model was called.";

t.test("the answer says that it is simulated and repeats the last user message", async (t) => {
  const chat = simulateChat(ask("Hello there"), "sim-fast", 1_700_000_000);
  const { id, ...rest } = plainOf(chat);
  t.match(id, /^sim-[0-9a-f]{16}$/);
  t.same(rest, {
    created: 1_700_000_000,
    model: "sim-fast",
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: `${notice} You said: Hello there`, refusal: null },
        logprobs: null,
        finish_reason: "stop",
      },
    ],
    usage: { prompt_tokens: 6, completion_tokens: 18, total_tokens: 24 },
  });
});

t.test("the events are the same answer, word by word", async (t) => {
  const chat = simulateChat(ask("Hello  there\n"), "sim-fast", 1);
  const chunks = chunksOf(chat);
  t.same(chunks[0]?.choices[0]?.delta, { role: "assistant", content: "" });
  t.equal(chunks.map((chunk) => chunk.choices[0]?.delta?.content ?? "").join(""), contentOf(chat));
  t.same(
    chunks.slice(1, 4).map((chunk) => chunk.choices[0]?.delta?.content),
    ["This", " is", " the"],
  );
  t.same(
    chunks.map((chunk) => chunk.choices[0]?.finish_reason),
    [...chunks.slice(1).map(() => null), "stop"],
  );
  t.ok(
    chunks.every(
      ({ id, object, created, model }) =>
        id === plainOf(chat).id &&
        object === "chat.completion.chunk" &&
        created === 1 &&
        model === "sim-fast",
    ),
  );
  t.ok(
    chunks.every((chunk) => !("usage" in chunk)),
    "usage wasn't requested",
  );
});

t.test("a usage chunk comes last when it was requested", async (t) => {
  const chat = simulateChat(
    ask("Hello", { stream_options: { include_usage: true } }),
    "sim-fast",
    1,
  );
  const chunks = chunksOf(chat);
  t.same(chunks.at(-1)?.choices, []);
  t.same(chunks.at(-1)?.usage, plainOf(chat).usage);
  t.ok(chunks.slice(0, -1).every(({ usage }) => usage === null));
  const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk: true });
  for (const event of chat.events) tap.push(event);
  t.equal(tap.usage.kind, "usage", "a tap can read it");
});

t.test("the answer ends where the request's limit on tokens is", async (t) => {
  for (const limit of [
    { max_tokens: 3 },
    { max_completion_tokens: 3 },
    { max_completion_tokens: 3, max_tokens: 1 },
  ]) {
    const chat = simulateChat(ask("Hello", limit), "sim-fast", 1);
    t.equal(contentOf(chat), notice.slice(0, 12), JSON.stringify(limit));
    t.equal(plainOf(chat).choices[0]?.finish_reason, "length");
    t.equal(plainOf(chat).usage?.completion_tokens, 3);
    t.equal(chunksOf(chat).at(-1)?.choices[0]?.finish_reason, "length");
  }
  for (const limit of [
    { max_tokens: 1000 },
    { max_tokens: 0 },
    { max_tokens: -1 },
    { max_tokens: 1.5 },
    { max_tokens: "3" },
    { max_tokens: null },
  ]) {
    t.equal(
      plainOf(simulateChat(ask("Hello", limit), "sim-fast", 1)).choices[0]?.finish_reason,
      "stop",
      JSON.stringify(limit),
    );
  }
});

t.test("a long message is repeated in part, and no character is cut in half", async (t) => {
  t.equal(
    contentOf(simulateChat(ask("x".repeat(500)), "m", 1)),
    `${notice} You said: ${"x".repeat(500)}`,
  );
  t.equal(
    contentOf(simulateChat(ask("x".repeat(501)), "m", 1)),
    `${notice} You said: ${"x".repeat(500)}…`,
  );
  t.equal(
    contentOf(simulateChat(ask(`${"x".repeat(499)}🎉`), "m", 1)),
    `${notice} You said: ${"x".repeat(499)}…`,
  );
});

t.test("the text parts of a message are read, and other parts are ignored", async (t) => {
  const content = [
    { type: "text", text: "one" },
    { type: "image_url", image_url: { url: "data:" } },
    { type: "text", text: "two" },
  ];
  t.equal(contentOf(simulateChat(ask(content), "m", 1)), `${notice} You said: one\ntwo`);
});

t.test("the last user message is repeated, whatever follows it", async (t) => {
  const messages = [
    { role: "user", content: "first" },
    { role: "user", content: "second" },
    { role: "assistant", content: "third" },
  ];
  t.equal(contentOf(simulateChat({ messages }, "m", 1)), `${notice} You said: second`);
  t.equal(
    contentOf(simulateChat({ messages: [{ role: "system", content: "x" }] }, "m", 1)),
    `${notice} There was no user message.`,
  );
});

t.test("the same request has the same id, another one another", async (t) => {
  const id = (body: unknown, model = "m", created = 1): string =>
    plainOf(simulateChat(body, model, created)).id;
  t.equal(id(ask("a")), id(ask("a"), "m", 2));
  t.equal(new Set([id(ask("a")), id(ask("b")), id(ask("a"), "n"), id({})]).size, 4);
});

t.test("sim-slow pauses longer than any other model", async (t) => {
  t.same(
    ["sim-fast", "sim-slow", "other"].map((model) => simulateChat({}, model, 1).pauseMs),
    [15, 250, 15],
  );
});

t.test("any body gets a complete answer", async () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.jsonValue(),
        fc.record(
          {
            messages: fc.array(
              fc.record(
                {
                  role: fc.constantFrom("user", "system"),
                  content: fc.oneof(anyText(), fc.jsonValue()),
                },
                { requiredKeys: [] },
              ),
            ),
            max_tokens: fc.jsonValue(),
          },
          { requiredKeys: [] },
        ),
      ),
      (body) => {
        const chat = simulateChat(body, "m", 1);
        assert.equal(
          chunksOf(chat)
            .map((chunk) => chunk.choices[0]?.delta?.content ?? "")
            .join(""),
          contentOf(chat),
        );
        const usage = plainOf(chat).usage!;
        assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
        assert.ok(notice.startsWith(contentOf(chat).slice(0, notice.length)));
      },
    ),
    { numRuns: 500 },
  );
});
