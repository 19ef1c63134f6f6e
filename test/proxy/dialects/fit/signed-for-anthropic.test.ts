import t from "tap";
import { fitSteps, fittedBody } from "../../../../proxy/dialects/fit/fit-native.js";
import { wrapReasoning } from "../../../../proxy/dialects/shared/thinking-blocks.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { providerConfig } from "../../../support/provider-config.js";

const claude = providerConfig({ name: "anthropic", type: "anthropic" });
const unsigned = { type: "thinking", thinking: "hm", signature: "unsigned" };
const signed = { type: "thinking", thinking: "hm", signature: "c2ln" };
const call = { type: "tool_use", id: "a", name: "f", input: {} };
const user = { role: "user", content: "grüße" };

function sent(body: JsonObject, model = "claude-opus-4-8", provider = claude): unknown {
  const bytes = Buffer.from(JSON.stringify(body));
  const target = { provider, model, isNamed: true };
  const result = fittedBody(bytes, fitSteps("messages", target, bytes));
  return result === null
    ? null
    : { body: JSON.parse(result.bytes.toString()), dropped: result.dropped };
}

t.test("thinking that Anthropic didn't sign is left out", async (t) => {
  const foreign = [
    unsigned,
    wrapReasoning("gAAA", "hm", "openai"),
    wrapReasoning("gAAA", "", "openai"),
  ];
  for (const block of foreign)
    t.strictSame(
      sent({
        model: "m",
        messages: [
          user,
          { role: "assistant", content: [block, signed, call] },
          { role: "assistant", content: [block] },
        ],
      }),
      {
        body: { model: "m", messages: [user, { role: "assistant", content: [signed, call] }] },
        dropped: ["messages[].content[] (thinking)"],
      },
    );
  const kept = [
    { messages: [user, { role: "assistant", content: [signed, call] }] },
    { messages: [{ role: "user", content: 'the signature is "unsigned"' }] },
    { messages: 7, odd: "unsigned" },
  ];
  for (const body of kept) t.equal(sent(body), null, JSON.stringify(body));
  const body = { messages: [{ role: "assistant", content: [unsigned] }] };
  t.equal(sent(body, "m", { ...claude, nativeRequests: "untouched" }), null);
});

t.test("other makers' models get thinking back without a signature", async (t) => {
  const router = providerConfig({ name: "router", type: "openai" });
  const messages = [
    user,
    { role: "assistant", content: [unsigned, wrapReasoning("gAAA", "", "openai"), call] },
    { role: "assistant", content: [signed, wrapReasoning("gAAA", "why", "openai")] },
    { role: "assistant", content: [wrapReasoning("gAAA", "", "openai")] },
    { role: "user", content: "unsigned" },
  ];
  t.strictSame(sent({ messages }, "m", router), {
    body: {
      messages: [
        user,
        { role: "assistant", content: [{ type: "thinking", thinking: "hm" }, call] },
        { role: "assistant", content: [signed, { type: "thinking", thinking: "why" }] },
        { role: "user", content: "unsigned" },
      ],
    },
    dropped: ["messages[].content[] (thinking)"],
  });
  t.equal(sent({ messages: [user, null, 7], odd: "unsigned" }, "m", router), null);
});

t.test("citations that Anthropic didn't make are left out", async (t) => {
  const cites = (...indices: string[]) => ({
    type: "text",
    text: "a",
    citations: indices.map((encrypted_index) => ({ encrypted_index })),
  });
  const answer = (...content: object[]) => ({ messages: [{ role: "assistant", content }] });
  t.strictSame(sent(answer(cites("unsigned"), cites("unsigned", "c2ln"), cites("c2ln"))), {
    body: answer({ type: "text", text: "a" }, cites("c2ln"), cites("c2ln")),
    dropped: [],
  });
});

t.test(
  "a model that thinks by a budget doesn't think on after calls without thinking",
  async (t) => {
    const thinking = { type: "enabled", budget_tokens: 2000 };
    const body = {
      max_tokens: 8000,
      thinking,
      messages: [user, { role: "assistant", content: [unsigned, call] }],
    };
    const messages = [user, { role: "assistant", content: [call] }];
    t.strictSame(sent(body, "claude-sonnet-4-5"), {
      body: { max_tokens: 8000, messages },
      dropped: ["messages[].content[] (thinking)", "thinking"],
    });
    t.match(sent({ ...body, thinking: { type: "adaptive" } }), {
      body: { messages, thinking: { type: "adaptive" } },
    });
  },
);
