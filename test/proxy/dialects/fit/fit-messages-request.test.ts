import t from "tap";
import { fitMessagesRequest } from "../../../../proxy/dialects/fit/fit-messages-request.js";
import { messagesTraitsOf } from "../../../../proxy/dialects/fit/target-traits.js";
import { RequestCheck } from "../../../../proxy/dialects/shared/request-check.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { exactly } from "../../../support/patterns/exactly.js";

const messages = [{ role: "user", content: "hi" }];
const calls = [
  ...messages,
  { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: {} }] },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "a" }] },
];
const adaptive = { type: "adaptive" };
const shown = { ...adaptive, display: "summarized" };
const off = { type: "disabled" };
const schema = { type: "object", additionalProperties: false };

interface Case {
  readonly name: string;
  readonly model: string;
  readonly given: JsonObject;
  readonly sent: JsonObject;
  readonly dropped?: readonly string[];
}

const cases: readonly Case[] = [
  {
    name: "the limit is no higher than the model's",
    model: "claude-3-5-haiku-latest",
    given: {},
    sent: { max_tokens: 8192 },
  },
  {
    name: "an older model thinks by a budget, in the room that there is",
    model: "claude-sonnet-4-5",
    given: { thinking: adaptive, output_config: { effort: "low" } },
    sent: { thinking: { type: "enabled", budget_tokens: 4096 } },
  },
  {
    name: "in half of the room",
    model: "claude-sonnet-4-5",
    given: { thinking: adaptive, output_config: { effort: "high" }, max_tokens: 6000 },
    sent: { thinking: { type: "enabled", budget_tokens: 3000 }, max_tokens: 6000 },
  },
  {
    name: "without room it doesn't think",
    model: "claude-sonnet-4-5",
    given: { thinking: adaptive, max_tokens: 1000 },
    sent: { max_tokens: 1000 },
    dropped: ["thinking"],
  },
  {
    name: "nor after calls that came without thinking",
    model: "claude-sonnet-4-5",
    given: { thinking: adaptive, messages: calls },
    sent: { messages: calls },
    dropped: ["thinking"],
  },
  {
    name: "a newer one does",
    model: "claude-opus-4-7",
    given: { thinking: adaptive, messages: calls, output_config: { effort: "xhigh" } },
    sent: { thinking: shown, messages: calls, output_config: { effort: "xhigh" } },
  },
  {
    name: "no model thinks where it must call",
    model: "claude-opus-4-7",
    given: { thinking: adaptive, tool_choice: { type: "any" } },
    sent: { tool_choice: { type: "any" } },
    dropped: ["thinking"],
  },
  {
    name: "a budget at a model that takes none",
    model: "claude-opus-4-7",
    given: { thinking: { type: "enabled", budget_tokens: 2048 } },
    sent: { thinking: shown },
  },
  {
    name: "a model that always thinks",
    model: "claude-opus-5-5",
    given: { thinking: off, tool_choice: { type: "tool", name: "f" } },
    sent: { tool_choice: { type: "auto" } },
    dropped: ["tool_choice", "thinking"],
  },
  {
    name: "one that thinks by default, without the efforts that need thinking",
    model: "claude-opus-5",
    given: { thinking: { type: "between_tools" }, output_config: { effort: "max" } },
    sent: { thinking: off, output_config: { effort: "high" } },
  },
  {
    name: "one that turns off only thinking ahead",
    model: "claude-sonnet-5-5",
    given: { thinking: off, output_config: { effort: "low" } },
    sent: { thinking: { type: "between_tools" }, output_config: { effort: "low" } },
  },
  {
    name: "one that thinks only if asked",
    model: "claude-opus-4-8",
    given: { thinking: off },
    sent: {},
  },
  {
    name: "a model that can't think",
    model: "claude-3-haiku-20240307",
    given: { thinking: adaptive, output_config: { effort: "low" }, max_tokens: 100 },
    sent: { max_tokens: 100 },
    dropped: ["thinking", "output_config.effort"],
  },
  {
    name: "sampling at a model that takes none",
    model: "claude-opus-4-7",
    given: { temperature: 0.2, top_p: 1 },
    sent: {},
    dropped: ["temperature"],
  },
  {
    name: "one of two",
    model: "claude-sonnet-4-5",
    given: { temperature: 0.2, top_p: 0.9 },
    sent: { temperature: 0.2 },
    dropped: ["top_p"],
  },
  {
    name: "both",
    model: "claude-sonnet-4-20250514",
    given: { temperature: 0.2, top_p: 0.9 },
    sent: { temperature: 0.2, top_p: 0.9 },
  },
  {
    name: "a schema",
    model: "claude-haiku-4-5",
    given: { output_config: { format: { type: "json_schema", schema } } },
    sent: { output_config: { format: { type: "json_schema", schema } } },
  },
  {
    name: "a schema at a model without",
    model: "claude-sonnet-4-0",
    given: { output_config: { format: { type: "json_schema", schema } } },
    sent: {
      system: [
        {
          type: "text",
          text: `Answer with one JSON object that follows this JSON schema, and nothing else:\n${JSON.stringify(schema)}`,
        },
      ],
    },
    dropped: ["output_config.format"],
  },
  {
    name: "a model of another maker is left as it is",
    model: "kimi-k2",
    given: { thinking: adaptive, temperature: 0.2, output_config: { effort: "max" } },
    sent: { thinking: adaptive, temperature: 0.2, output_config: { effort: "max" } },
  },
];

t.test("requests, by model", async (t) => {
  for (const { name, model, given, sent, dropped = [] } of cases) {
    const check = new RequestCheck(false);
    const body = { max_tokens: 32_000, messages, ...given };
    t.same(
      check.result(
        fitMessagesRequest(body, model, messagesTraitsOf({ modelTraits: [] }, model), check),
      ),
      { ok: true, body: { max_tokens: 32_000, messages, ...sent, model }, dropped },
      name,
    );
  }
});

t.test("a model that can't see, or isn't forced to call", async (t) => {
  const traits = messagesTraitsOf({ modelTraits: [] }, "claude-opus-4-6")!;
  const fitted = (own: object, given: object): unknown => {
    const check = new RequestCheck(false);
    const body = { max_tokens: 100, messages, ...given };
    return check.result(fitMessagesRequest(body, "m", { ...traits, ...own }, check));
  };
  const image = { type: "image", source: {} };
  const result = { type: "tool_result", tool_use_id: "a", content: [image] };
  for (const block of [image, result])
    t.match(fitted({ takesImages: false }, { messages: [{ role: "user", content: [block] }] }), {
      failure: {
        param: "messages",
        message: "messages must hold no images: the model doesn't take any",
      },
    });
  t.match(fitted({ takesImages: false }, {}), { ok: true });
  const tool_choice = { type: "tool", name: "f", disable_parallel_tool_use: true };
  t.match(
    fitted({ takesForcedCalls: false }, { tool_choice }),
    exactly({
      body: { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
      dropped: ["tool_choice"],
    }),
  );
});
