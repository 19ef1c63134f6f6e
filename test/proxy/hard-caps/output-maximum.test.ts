import t from "tap";
import { withOutputMaximum } from "../../../proxy/hard-caps/output-maximum.js";
import type { Operation } from "../../../shared/operation.js";

type Json = Readonly<Record<string, unknown>>;

function capped(operation: Operation, body: Json, tokens = 100, choices = 1): unknown {
  const granted = { tokens, choices, chatField: "max_tokens" } as const;
  const bytes = Buffer.from(JSON.stringify(body));
  return JSON.parse(withOutputMaximum(operation, bytes, granted).toString());
}

t.test("a maximum that is larger than the grant is lowered, a smaller one stays", async (t) => {
  const rows: readonly (readonly [Operation, Json, Json])[] = [
    ["chat_completions", { max_tokens: 500 }, { max_tokens: 100 }],
    ["chat_completions", { max_completion_tokens: 500 }, { max_completion_tokens: 100 }],
    ["chat_completions", { max_completion_tokens: 50 }, { max_completion_tokens: 50 }],
    [
      "chat_completions",
      { max_tokens: 50, max_completion_tokens: 500 },
      { max_tokens: 50, max_completion_tokens: 100 },
    ],
    ["chat_completions", { max_tokens: null, a: 1 }, { max_tokens: 100, a: 1 }],
    ["chat_completions", { messages: ["größe"] }, { messages: ["größe"], max_tokens: 100 }],
    ["completions", { prompt: "a" }, { prompt: "a", max_tokens: 100 }],
    ["messages", { max_tokens: 32_000 }, { max_tokens: 100 }],
    ["responses", { input: "a" }, { input: "a", max_output_tokens: 100 }],
    ["responses", { max_output_tokens: 50 }, { max_output_tokens: 50 }],
    ["generate_content", {}, { generationConfig: { maxOutputTokens: 100 } }],
    [
      "generate_content",
      { generationConfig: { maxOutputTokens: 500, topK: 3 } },
      { generationConfig: { maxOutputTokens: 100, topK: 3 } },
    ],
    [
      "stream_generate_content",
      { generation_config: { temperature: 0 }, contents: [] },
      { generation_config: { temperature: 0, maxOutputTokens: 100 }, contents: [] },
    ],
    ["interactions", { input: "a" }, { input: "a", generation_config: { max_output_tokens: 100 } }],
    ["embeddings", { input: "a" }, { input: "a" }],
  ];
  for (const [operation, body, expected] of rows) t.same(capped(operation, body), expected);
});

t.test("several answers share the grant", async (t) => {
  t.same(capped("chat_completions", { n: 3 }, 100, 3), { n: 3, max_tokens: 33 });
  t.same(capped("chat_completions", { n: 3 }, 2, 3), { n: 3, max_tokens: 1 });
});

t.test("OpenAI's least maximum of a response is kept", async (t) => {
  t.same(capped("responses", {}, 3), { max_output_tokens: 16 });
});

t.test("Anthropic's budget of thinking stays below the maximum", async (t) => {
  const thinking = { type: "enabled", budget_tokens: 8000, display: "omitted" };
  t.same(capped("messages", { max_tokens: 9000, thinking }, 5000), {
    max_tokens: 5000,
    thinking: { ...thinking, budget_tokens: 4999 },
  });
  t.same(capped("messages", { max_tokens: 9000, thinking }, 500), {
    max_tokens: 500,
    thinking: { type: "disabled" },
  });
  t.same(capped("messages", { max_tokens: 9000, thinking }, 8500), {
    max_tokens: 8500,
    thinking,
  });
  const adaptive = { type: "adaptive" };
  t.same(capped("messages", { max_tokens: 9000, thinking: adaptive }, 500), {
    max_tokens: 500,
    thinking: adaptive,
  });
});

t.test("all other bytes stay as they are", async (t) => {
  const body = Buffer.from(
    '{ "n" : 12345678901234567890, "max_tokens" : 7e9 , "t":"größe\\u00e9"}',
  );
  const granted = { tokens: 9, choices: 1, chatField: "max_tokens" } as const;
  t.equal(
    withOutputMaximum("chat_completions", body, granted).toString(),
    '{ "n" : 12345678901234567890, "max_tokens" : 9 , "t":"größe\\u00e9"}',
  );
});
