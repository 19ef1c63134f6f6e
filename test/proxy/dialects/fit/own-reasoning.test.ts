import t from "tap";
import { fittedBody } from "../../../../proxy/dialects/fit/fit-native.js";
import {
  ownReasoningStep,
  withoutFieldsStep,
} from "../../../../proxy/dialects/fit/own-reasoning.js";
import { makerOf, markingOf } from "../../../../proxy/dialects/shared/made-by.js";
import { RequestCheck } from "../../../../proxy/dialects/shared/request-check.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import type { Operation } from "../../../../shared/operation.js";
import { providerConfig } from "../../../support/provider-config.js";

const other = "acme/eu";

/** The answer as a client gets it from an account. */
function marked(operation: Operation, answer: string, account: string): string {
  const { pattern, mark } = markingOf(operation, account)!;
  return answer.replace(pattern, `$&${mark}`);
}

interface Read {
  readonly body: JsonObject;
  readonly dropped: readonly string[];
}

function read(operation: Operation, body: string, isRefused = false): Read {
  const bytes = Buffer.from(body);
  const provider = providerConfig({ name: "own", type: "anthropic" });
  const target = { provider, model: "claude-sonnet-4-5" };
  const step = ownReasoningStep(operation, target, { bytes, isRefused });
  const fitted = step === null ? null : fittedBody(bytes, [step]);
  return fitted === null
    ? { body: JSON.parse(body) as JsonObject, dropped: [] }
    : { body: JSON.parse(fitted.bytes.toString()) as JsonObject, dropped: fitted.dropped };
}

const user = { role: "user", content: "grüße" };
const call = { type: "function_call", id: "fc_1", call_id: "a", name: "f", arguments: "{}" };
const { id: _, ...anonymous } = call;

interface Case {
  readonly name: string;
  readonly operation: Operation;
  /** A request, as if its parts were an answer. */
  readonly given: JsonObject;
  /** At another account. */
  readonly elsewhere: JsonObject;
  readonly dropped: readonly string[];
}

const cases: readonly Case[] = [
  {
    name: "reasoning items go, and the ids by which they belong to calls",
    operation: "responses",
    given: { input: [user, { type: "reasoning", id: "rs_1", encrypted_content: "gAAA" }, call] },
    elsewhere: { input: [user, anonymous] },
    dropped: ["input[] (reasoning)"],
  },
  {
    name: "what was compacted goes, and the model learns of it",
    operation: "compact",
    given: { input: [user, { type: "compaction", id: "cmp_1", encrypted_content: "gAAA" }] },
    elsewhere: {
      input: [
        user,
        {
          type: "message",
          role: "developer",
          content: [
            {
              type: "input_text",
              text: "An earlier part of this conversation was compacted by another provider, and can't be read here.",
            },
          ],
        },
      ],
    },
    dropped: ["input[] (compaction)"],
  },
  {
    name: "thinking goes, and a budget where the last calls came without it",
    operation: "messages",
    given: {
      thinking: { type: "enabled", budget_tokens: 2000 },
      messages: [
        user,
        { role: "assistant", content: [{ type: "redacted_thinking", data: "EqQB" }] },
        user,
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: 'say "hm"', signature: "EqQB" },
            { type: "tool_use", id: "a", name: "f", input: { signature: "f(x)" } },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "a" }] },
      ],
    },
    elsewhere: {
      messages: [
        user,
        user,
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "a", name: "f", input: { signature: "f(x)" } }],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "a" }] },
      ],
    },
    dropped: ["messages[].content[] (thinking)", "thinking"],
  },
  {
    name: "a signature becomes Google's value for calls of other models",
    operation: "generate_content",
    given: {
      contents: [
        { role: "model", parts: [{ functionCall: { name: "f" }, thoughtSignature: "EqQB" }] },
      ],
    },
    elsewhere: {
      contents: [
        {
          role: "model",
          parts: [
            {
              functionCall: { name: "f" },
              thoughtSignature: "skip_thought_signature_validator",
            },
          ],
        },
      ],
    },
    dropped: [],
  },
  {
    name: "in chat completions too",
    operation: "chat_completions",
    given: {
      messages: [
        {
          role: "assistant",
          tool_calls: [{ id: "a", extra_content: { google: { thought_signature: "EqQB" } } }],
        },
      ],
    },
    elsewhere: {
      messages: [
        {
          role: "assistant",
          tool_calls: [
            {
              id: "a",
              extra_content: { google: { thought_signature: "skip_thought_signature_validator" } },
            },
          ],
        },
      ],
    },
    dropped: [],
  },
  ...[
    { type: "reasoning.encrypted", data: "EqQB", format: "google-gemini-v1", id: "a", index: 0 },
    { type: "reasoning.text", text: 'a "b"', format: null, index: 0, signature: "EqQB" },
  ].map((detail): Case => {
    const call = { role: "assistant", tool_calls: [{ id: "a" }] };
    const told = { type: "reasoning.text", text: "hm", index: 0 };
    return {
      name: `in OpenRouter's details too: ${detail.type}`,
      operation: "chat_completions",
      given: { messages: [{ ...call, reasoning_details: [told, detail] }] },
      // Google's value for calls of other models takes the place of Gemini's signature.
      elsewhere: {
        messages: [
          detail.format === null
            ? call
            : {
                ...call,
                reasoning_details: [{ ...detail, data: "skip_thought_signature_validator" }],
              },
        ],
      },
      dropped: [],
    };
  }),
];

t.test("reasoning goes back to the account that made it, and to no other", async (t) => {
  for (const { name, operation, given, elsewhere, dropped } of cases) {
    const json = JSON.stringify(given);
    const own = marked(operation, json, "own");
    t.not(own, json, "the client's copy is marked");
    t.equal(makerOf(Buffer.from(own)), "own");
    t.same(read(operation, own), { body: given, dropped: [] }, "to the same account");
    const foreign = marked(operation, json, other);
    t.equal(makerOf(Buffer.from(foreign)), other);
    t.same(read(operation, foreign), { body: elsewhere, dropped }, name);
    t.same(read(operation, json, true), { body: elsewhere, dropped }, "once refused");
    t.same(read(operation, json), { body: given, dropped: [] }, "unmarked");
  }
});

t.test("a client's imitation of a mark does no harm", async (t) => {
  for (const text of ["made_by:", "made_by:%:", "made_by", "x"])
    t.equal(makerOf(Buffer.from(JSON.stringify({ text }))), null, text);
  const body = { input: "made_by:own:" };
  t.same(read("responses", JSON.stringify(body)), { body, dropped: [] });
});

t.test("refused fields are left out, and reported unless Sluice added them", async (t) => {
  const body = Buffer.from(
    '{"seed":1, "stream_options":{}, "reasoning":{"summary":"auto","effort":"low"}, "text":{"verbosity":"low"}}',
  );
  const step = withoutFieldsStep(
    ["seed", "stream_options", "reasoning.summary", "text.verbosity", "user", "seed.x"],
    (field) => field === "stream_options",
  );
  const { bytes, dropped } = fittedBody(body, [step!])!;
  t.equal(bytes.toString(), '{"reasoning":{"effort":"low"}}');
  t.same(dropped, ["seed", "reasoning.summary", "text.verbosity"]);
  const tools = Buffer.from(
    '{"tools":[{"strict":true,"input_schema":{"properties":{"strict":{}}}},{"function":{"strict":false}},7]}',
  );
  const inTools = withoutFieldsStep(["tools[].strict", "system[].scope"], () => false)!;
  t.equal(
    fittedBody(tools, [inTools])!.bytes.toString(),
    '{"tools":[{"input_schema":{"properties":{"strict":{}}}},{"function":{}},7]}',
  );
  const none = withoutFieldsStep([], () => false);
  t.equal(none, null);
});

t.test("fields in lists are found in one walk, however many are refused", async (t) => {
  let walked = 0;
  const tool = new Proxy(
    { strict: true, cache_control: {}, name: "f" },
    {
      ownKeys(target) {
        walked++;
        return Reflect.ownKeys(target);
      },
    },
  );
  const paths = ["strict", "cache_control", "scope", "ttl", "phase"].map((f) => `tools[].${f}`);
  const check = new RequestCheck(false);
  const left = withoutFieldsStep(paths, () => false)!({ tools: [tool] }, check);
  t.same(JSON.parse(JSON.stringify(left)), { tools: [{ name: "f" }] });
  // Once to find the fields, and once to copy the others.
  t.equal(walked, 2);
});
