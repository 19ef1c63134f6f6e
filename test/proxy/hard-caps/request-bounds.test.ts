import t from "tap";
import { meteredAt, requestBounds } from "../../../proxy/hard-caps/request-bounds.js";
import type { Price } from "../../../shared/domain/price.js";
import type { Operation } from "../../../shared/operation.js";

type Json = Readonly<Record<string, unknown>>;

function boundsOf(operation: Operation, body: Json, isStream = false) {
  const bytes = Buffer.from(JSON.stringify(body));
  return requestBounds({ operation, body: bytes, bytes: 0, isStream });
}

const lengthOf = (body: Json): number => Buffer.byteLength(JSON.stringify(body));

t.test(
  "a prompt has at most a token for each byte, and constants for tools and files",
  async (t) => {
    const text = { messages: [{ role: "user", content: "größe 日本" }] };
    t.equal(boundsOf("chat_completions", text).promptTokens, lengthOf(text));
    const tools = { ...text, tools: [{ type: "function", function: { name: "f" } }] };
    t.equal(boundsOf("chat_completions", tools).promptTokens, lengthOf(tools) + 500);
    const parts = [
      { type: "image_url", image_url: { url: "https://a.example/a.png" } },
      { type: "text", text: '"type":"image_url"' },
    ];
    const linked = { messages: [{ role: "user", content: parts }] };
    t.equal(boundsOf("chat_completions", linked).promptTokens, lengthOf(linked) + 6000);
    const data = `data:image/png;base64,${"A".repeat(9000)}`;
    const inlined = {
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: data } }] }],
    };
    const { promptTokens, hasFiles } = boundsOf("chat_completions", inlined);
    t.equal(promptTokens, lengthOf(inlined) - data.length + 6000);
    t.ok(hasFiles);
    const gemini = {
      contents: [{ parts: [{ inlineData: { mimeType: "image/png", data: "AA" } }] }],
    };
    t.equal(boundsOf("generate_content", gemini).promptTokens, lengthOf(gemini) + 6000);
    const unread = {
      operation: "chat_completions",
      body: null,
      bytes: 70_000,
      isStream: true,
    } as const;
    t.match(requestBounds(unread), { promptTokens: 70_000, outputMax: null, isStreamed: true });
  },
);

t.test("the maximum of output is the request's, for all of its answers", async (t) => {
  const rows: readonly (readonly [Operation, Json, number | null])[] = [
    ["chat_completions", {}, null],
    ["chat_completions", { max_tokens: 50, n: 2 }, 100],
    ["messages", { max_tokens: 50 }, 50],
    ["responses", { max_output_tokens: 50 }, 50],
    ["generate_content", { generationConfig: { maxOutputTokens: 50, candidateCount: 3 } }, 150],
    ["embeddings", {}, 0],
    ["moderations", {}, 0],
    ["images", { n: 2 }, 14_000],
    ["speech", {}, 4096],
  ];
  for (const [operation, body, expected] of rows)
    t.equal(boundsOf(operation, body).outputMax, expected, operation);
});

t.test("an answer is cut while it flows if its dialect has an end for that", async (t) => {
  const rows: readonly (readonly [Operation, Json, boolean, boolean])[] = [
    ["chat_completions", {}, true, true],
    ["chat_completions", {}, false, false],
    ["messages", {}, true, true],
    ["responses", {}, true, true],
    ["responses", { background: true }, true, false],
    ["stream_generate_content", {}, true, true],
    ["stream_generate_content", {}, false, false],
    ["speech", {}, true, false],
  ];
  for (const [operation, body, isStream, expected] of rows)
    t.equal(boundsOf(operation, body, isStream).isStreamed, expected, operation);
  const wanted = { stream: true, stream_options: { include_usage: true } };
  t.ok(boundsOf("chat_completions", wanted, true).wantsUsage);
  t.notOk(boundsOf("chat_completions", { stream: true }, true).wantsUsage);
  t.equal(boundsOf("chat_completions", { n: 4 }, true).choices, 4);
});

t.test("the rates are of the dearest tokens that the request can have", async (t) => {
  const price: Price = {
    rates: {
      input: 100,
      output: 400,
      cachedInput: 10,
      cacheWrite: 125,
      kinds: { cacheWrite1h: 200, audioInput: 900, reasoning: 500 },
    },
    tiers: [
      {
        aboveInputTokens: 1000,
        rates: { input: 200, output: 800, cachedInput: null, cacheWrite: null },
      },
    ],
    perRequest: 0,
    serviceTiers: { priority: { input: 2000, output: 2000, cachedInput: 2000, cacheWrite: 2000 } },
  };
  const target = { provider: "a", model: "m" };
  const at = (body: Json) =>
    meteredAt(boundsOf("chat_completions", body), [target, target], (of) =>
      of === target ? price : null,
    ).rates;
  t.same(at({}), [
    { input: 200, output: 500 },
    { input: 200, output: 500 },
  ]);
  t.same(at({ messages: ["x".repeat(2000)] })[0], { input: 200, output: 800 });
  t.same(at({ service_tier: "priority" })[0], { input: 400, output: 1000 });
  const sound = { messages: [{ content: [{ type: "input_audio" }] }] };
  t.equal(at(sound)[0]!.input, 200, "the tier above 1000 tokens has no rate of its own for sound");
  const unpriced = meteredAt(boundsOf("chat_completions", {}), [target], () => null);
  t.same(unpriced, { promptTokens: 2, outputMax: null, isStreamed: false, rates: [null] });
});
