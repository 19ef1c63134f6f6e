import t from "tap";
import { fitSteps, fittedBody } from "../../../../proxy/dialects/fit/fit-native.js";
import { writeKeptReasoning } from "../../../../proxy/dialects/shared/kept-reasoning.js";
import { signedId } from "../../../../proxy/dialects/shared/thought-signature.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { findPreset } from "../../../../shared/config/presets.js";
import { providerConfig } from "../../../support/provider-config.js";

function sent(host: string, body: JsonObject, untouched = false, model = "m"): unknown {
  const { responses } = findPreset(host)!;
  const provider = providerConfig({
    name: host,
    responses,
    nativeRequests: untouched ? "untouched" : "fitted",
  });
  const target = { provider, model, isNamed: true };
  const bytes = Buffer.from(JSON.stringify(body));
  const result = fittedBody(bytes, fitSteps("responses", target, bytes));
  return result === null
    ? null
    : { body: JSON.parse(result.bytes.toString()), dropped: result.dropped };
}

const user = { role: "user", content: "grüße" };
const kept = {
  type: "reasoning",
  id: "rs_1",
  summary: [],
  encrypted_content: writeKeptReasoning({ text: "hm", blocks: [] }),
};
const encrypted = { ...kept, encrypted_content: "gAAAAAB" };

t.test("fields that Groq and OpenRouter refuse are left out, with a word", async (t) => {
  const asked = {
    input: "hi",
    store: true,
    include: ["reasoning.encrypted_content"],
    truncation: "auto",
    safety_identifier: "s",
    prompt_cache_key: "k",
    max_output_tokens: 9,
  };
  t.strictSame(sent("groq", asked), {
    body: { input: "hi", max_output_tokens: 9 },
    dropped: ["store", "truncation", "include", "safety_identifier", "prompt_cache_key"],
  });
  const { store: _, ...rest } = asked;
  t.strictSame(sent("openrouter", asked), { body: rest, dropped: ["store"] });
  for (const host of ["openai", "azure", "xai", "fireworks", "bedrock"])
    t.equal(sent(host, asked), null, host);
  t.equal(sent("groq", asked, true), null, "unless the operator wants them sent");
});

t.test("what a host does anyway is left out without a word", async (t) => {
  const asked = { input: "hi", store: false, truncation: "disabled", include: [] };
  t.strictSame(sent("groq", asked), { body: { input: "hi" }, dropped: [] });
  t.strictSame(sent("openrouter", { input: "hi", store: null }), {
    body: { input: "hi" },
    dropped: [],
  });
});

t.test("OpenAI's models that don't reason aren't asked for encrypted reasoning", async (t) => {
  const include = ["reasoning.encrypted_content"];
  const asked = { input: "hi", include };
  for (const model of ["gpt-4o", "gpt-4.1", "gpt-5-chat-latest"])
    t.strictSame(sent("azure", asked, false, model), { body: { input: "hi" }, dropped: [] }, model);
  for (const model of ["gpt-5.5", "o3", "gpt-oss-120b", "kimi-k2.6", "my-deployment"])
    t.equal(sent("azure", asked, false, model), null, model);
  const others = ["message.output_text.logprobs"];
  t.strictSame(sent("openai", { input: "hi", include: [...include, ...others] }, false, "gpt-4o"), {
    body: { input: "hi", include: others },
    dropped: [],
  });
  t.equal(sent("openai", asked, true, "gpt-4o"), null, "unless the operator wants it sent");
});

t.test("reasoning that Sluice has kept for another model isn't sent to OpenAI", async (t) => {
  t.strictSame(sent("openai", { input: [user, kept, encrypted, user], big: 1 }), {
    body: { input: [user, encrypted, user], big: 1 },
    dropped: ["input[] (reasoning)"],
  });
  t.equal(sent("openai", { input: [user, encrypted] }), null);
  t.equal(sent("openai", { input: 'the word is "sluice_word"' }), null);
});

t.test("a summary that Sluice wrote is a message to OpenAI, and OpenAI's own stays", async (t) => {
  const compaction = { ...kept, type: "compaction", id: "cmp_1" };
  const own = { ...compaction, encrypted_content: "gAAAAAB" };
  const message = {
    type: "message",
    role: "user",
    content: [{ type: "input_text", text: "hm" }],
  };
  t.strictSame(sent("openai", { input: [compaction, own, user] }), {
    body: { input: [message, own, user] },
    dropped: [],
  });
});

t.test("the signature that a call of Gemini's has in its id isn't sent to OpenAI", async (t) => {
  const id = signedId("call_1", {
    extra_content: { google: { thought_signature: "CvcB".repeat(100) } },
  });
  const call = { type: "function_call", call_id: id, name: "f", arguments: "{}" };
  const output = { type: "function_call_output", call_id: id, output: "r" };
  t.strictSame(sent("openai", { input: [user, call, output] }), {
    body: { input: [user, { ...call, call_id: "call_1" }, { ...output, call_id: "call_1" }] },
    dropped: [],
  });
});
