import t from "tap";
import {
  fitsOtherMessages,
  messagesForOthers,
} from "../../../../proxy/dialects/fit/fit-messages.js";
import { fittedBody } from "../../../../proxy/dialects/fit/fit-native.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { providerConfig } from "../../../support/provider-config.js";

function sent(body: JsonObject): unknown {
  const result = fittedBody(Buffer.from(JSON.stringify(body)), [messagesForOthers]);
  return result === null
    ? null
    : { body: JSON.parse(result.bytes.toString()), dropped: result.dropped };
}

const text = (text: string): JsonObject => ({ type: "text", text });
const call = { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: {} }] };
const result = { type: "tool_result", tool_use_id: "a", content: "r" };
const own = { name: "f", input_schema: { type: "object" } };
const search = { type: "web_search_20250305", name: "web_search", max_uses: 8 };

t.test("messages are fitted where the model isn't Anthropic's", async (t) => {
  const vllm = providerConfig({ name: "vllm", type: "anthropic" });
  const isFitted = (model: string, provider = vllm): boolean =>
    fitsOtherMessages({ provider, model, isNamed: true });
  t.equal(isFitted("Qwen/Qwen3.5-27B"), true);
  t.equal(isFitted("anthropic/claude-opus-4-8"), false);
  t.equal(isFitted("qwen", { ...vllm, nativeRequests: "untouched" }), false);
});

t.test("instructions between the turns speak as the user, in its turn", async (t) => {
  const cases: readonly (readonly [string, readonly JsonObject[], readonly JsonObject[]])[] = [
    [
      "after the user's words",
      [
        { role: "user", content: "hi" },
        { role: "system", content: "be kind" },
      ],
      [{ role: "user", content: [text("hi"), text("be kind")] }],
    ],
    [
      "before a result, which comes first",
      [call, { role: "system", content: [text("be kind")] }, { role: "user", content: [result] }],
      [call, { role: "user", content: [result, text("be kind")] }],
    ],
    [
      "alone",
      [{ role: "system", content: "be kind" }, call],
      [{ role: "user", content: "be kind" }, call],
    ],
    [
      "other turns stay as they are",
      [
        { role: "user", content: "a" },
        { role: "user", content: "b" },
        call,
        { role: "user", content: [result] },
        { role: "system", content: "" },
      ],
      [
        { role: "user", content: "a" },
        { role: "user", content: "b" },
        call,
        { role: "user", content: [result] },
      ],
    ],
  ];
  for (const [name, messages, expected] of cases)
    t.strictSame(
      sent({ max_tokens: 9, messages }),
      {
        body: { max_tokens: 9, messages: expected },
        dropped: [],
      },
      name,
    );
});

t.test("tools that Anthropic runs are left out, and so is the editing of contexts", async (t) => {
  const messages = [{ role: "user", content: "grüße" }];
  t.strictSame(sent({ messages, tools: [own, search], context_management: { edits: [] } }), {
    body: { messages, tools: [own] },
    dropped: ["context_management", 'tools[] ("web_search_20250305")'],
  });
  t.strictSame(
    sent({ messages, tools: [search], tool_choice: { type: "tool", name: "web_search" } }),
    { body: { messages }, dropped: ['tools[] ("web_search_20250305")', "tool_choice"] },
  );
  t.equal(sent({ messages, tools: [own, { ...own, type: "custom" }], thinking: {} }), null);
  t.equal(sent({ messages: [7], tools: [7], context_management: null }), null);
});

t.test("forty thousand turns and instructions are one turn in no time", async (t) => {
  const messages = Array.from({ length: 40_000 }, (_, i) => ({
    role: i % 2 === 0 ? "user" : "system",
    content: "a",
  }));
  const beganMs = performance.now();
  const content = messages.map(() => ({ type: "text", text: "a" }));
  t.strictSame(sent({ messages }), {
    body: { messages: [{ role: "user", content }] },
    dropped: [],
  });
  // One by one they took a minute.
  t.ok(performance.now() - beganMs < 10_000);
});
