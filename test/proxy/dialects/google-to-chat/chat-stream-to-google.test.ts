import t from "tap";
import { googleStreamToChat } from "../../../../proxy/dialects/choose-dialect.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { assembleGoogle } from "../assemble-stream.js";
import { context as sampleContext } from "../sample-answers.js";

const context = { ...sampleContext, request: { stream: true, includeThoughts: true } };
const delta = (fields: JsonObject, finish: string | null = null): JsonObject => ({
  id: "chatcmpl-1",
  choices: [{ index: 0, delta: fields, finish_reason: finish }],
});
const piece = (index: number | null, text: string, id?: string, name?: string): JsonObject => ({
  ...(index === null ? {} : { index }),
  ...(id === undefined ? {} : { id }),
  function: { ...(name === undefined ? {} : { name }), arguments: text },
});

/** The chunks for the client. */
function streamed(chunks: readonly (JsonObject | string)[]): readonly JsonObject[] {
  const events = googleStreamToChat.events(context);
  const given = chunks.flatMap((chunk) =>
    events.push(null, typeof chunk === "string" ? chunk : JSON.stringify(chunk)),
  );
  return [...given, ...events.end()].map(({ event, data }) => {
    t.equal(event, null);
    return JSON.parse(data) as JsonObject;
  });
}

function partsOf(chunks: readonly (JsonObject | string)[]): unknown {
  const events = streamed(chunks).map((chunk) => ({ event: null, data: JSON.stringify(chunk) }));
  const [candidate] = assembleGoogle(events)["candidates"] as [{ content: { parts: unknown } }];
  return candidate.content.parts;
}

t.test("each chunk has the new parts; the last one the reason and the usage", async (t) => {
  const usage = { prompt_tokens: 4, completion_tokens: 5, total_tokens: 9 };
  const chunks = streamed([
    delta({ role: "assistant", content: "" }),
    delta({ reasoning_content: "h" }),
    delta({ reasoning_content: "m" }),
    delta({ content: "we" }),
    delta({ content: "ll" }, "stop"),
    { id: "chatcmpl-1", choices: [], usage },
    "[DONE]",
    delta({ content: "never" }),
  ]);
  const candidate = (part: JsonObject): JsonObject => ({
    candidates: [{ content: { role: "model", parts: [part] }, index: 0 }],
    modelVersion: "smart",
    responseId: "chatcmpl-1",
  });
  t.strictSame(chunks.slice(0, -1), [
    candidate({ text: "h", thought: true }),
    candidate({ text: "m", thought: true }),
    candidate({ text: "we" }),
    candidate({ text: "ll" }),
  ]);
  t.match(
    chunks.at(-1),
    exactly({
      candidates: [
        {
          content: {
            role: "model",
            parts: [{ text: "", thought: true, thoughtSignature: String }],
          },
          finishReason: "STOP",
        },
      ],
      usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 5, totalTokenCount: 9 },
    }),
  );
});

t.test("a call is sent when it is complete, however its pieces come", async (t) => {
  const f = { functionCall: { id: "a", name: "f", args: { x: 1 } } };
  const g = { functionCall: { id: "b", name: "g", args: {} } };
  const cases: readonly (readonly [string, readonly JsonObject[]])[] = [
    [
      "one after the other",
      [
        delta({ tool_calls: [piece(0, "", "a", "f")] }),
        delta({ tool_calls: [piece(0, '{"x"')] }),
        delta({ tool_calls: [piece(0, ":1}")] }),
        delta({ tool_calls: [piece(1, "{}", "b", "g")] }, "tool_calls"),
      ],
    ],
    [
      "in turns",
      [
        delta({ tool_calls: [piece(0, '{"x"', "a", "f"), piece(1, "{", "b", "g")] }),
        delta({ tool_calls: [piece(0, ":1}"), piece(1, "}")] }, "tool_calls"),
      ],
    ],
    [
      "with one index for all",
      [
        delta({ tool_calls: [piece(0, '{"x":1}', "a", "f")] }),
        delta({ tool_calls: [piece(0, "{}", "b", "g")] }, "tool_calls"),
      ],
    ],
    [
      "without an index",
      [
        delta({ tool_calls: [piece(null, '{"x":1}', "a", "f")] }),
        delta({ tool_calls: [piece(null, "", "b", "g")] }, "tool_calls"),
      ],
    ],
  ];
  for (const [name, chunks] of cases) t.strictSame(partsOf(chunks), [f, g], name);
  t.strictSame(
    partsOf([
      delta({ tool_calls: [piece(0, '{"x":1}', "a", "f")] }),
      delta({ content: "and" }),
      delta({}, "stop"),
    ]),
    [f, { text: "and" }, { text: "" }],
    "a text after it",
  );
});

t.test("a stream that fails ends with an error in Google's form", async (t) => {
  const begun = delta({ content: "a" });
  const cases: readonly (readonly [readonly (JsonObject | string)[], JsonObject])[] = [
    [
      [begun, { error: { type: "rate_limit_error", message: "slow down" } }],
      { code: 429, status: "RESOURCE_EXHAUSTED", message: "slow down" },
    ],
    [[begun], { code: 500, status: "INTERNAL", message: /ended before the answer was complete/ }],
    [["[DONE]"], { code: 500, message: /ended without an answer/ }],
    [[begun, "{"], { code: 500, message: /not a JSON object/ }],
    [[begun, delta({}, "error")], { code: 500, message: /ended its answer with an error/ }],
    [
      [
        delta({ tool_calls: [piece(0, "{", "a", "f")] }),
        delta({ content: "b" }),
        delta({ tool_calls: [piece(0, "}")] }),
      ],
      { code: 500, message: /continues a tool call/ },
    ],
  ];
  for (const [chunks, error] of cases) t.match(streamed(chunks).at(-1), { error });
});

t.test("what is held of a stream is known", async (t) => {
  const events = googleStreamToChat.events(context);
  t.equal(events.heldBytes, 0);
  events.push(null, JSON.stringify(delta({ content: "x".repeat(5000) })));
  t.equal(events.heldBytes, 0, "texts pass");
  events.push(null, JSON.stringify(delta({ reasoning_content: "x".repeat(5000) })));
  events.push(null, JSON.stringify(delta({ tool_calls: [piece(0, "x".repeat(5000), "a", "f")] })));
  t.ok(events.heldBytes >= 10_000);
});
