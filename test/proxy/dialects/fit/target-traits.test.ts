import t from "tap";
import {
  chatTraitsOf,
  messagesTraitsOf,
  namesModel,
} from "../../../../proxy/dialects/fit/target-traits.js";
import { openaiChat, plainChat } from "../../../../shared/config/host-traits.js";
import type { OwnModelTraits } from "../../../../shared/config/model-traits.js";

const nothing: OwnModelTraits = {
  models: ["*"],
  like: null,
  outputTokensMax: null,
  efforts: null,
  reasoningWithTools: null,
  sampling: null,
  thinking: null,
  takesOutputSchema: null,
  takesImages: null,
  takesForcedCalls: null,
};

t.test("what the operator says comes before the family and the host", async (t) => {
  const family = chatTraitsOf({ chat: openaiChat, modelTraits: [] }, "gpt-5.4");
  const cases: readonly (readonly [Partial<OwnModelTraits>, object])[] = [
    [{}, family],
    [{ outputTokensMax: 5 }, { ...family, outputTokensMax: 5 }],
    [{ efforts: [] }, { ...family, efforts: [] }],
    [{ sampling: "none" }, { ...family, sampling: "none" }],
    [{ takesImages: false }, { ...family, takesImages: false }],
    [{ takesForcedCalls: false }, { ...family, takesForcedCalls: false }],
    [{ takesOutputSchema: false }, { ...family, takesOutputSchema: false }],
    [{ reasoningWithTools: "chat" }, { ...family, onlyInResponses: "nothing" }],
    [
      { reasoningWithTools: "none" },
      { ...family, onlyInResponses: "reasoning_with_tools", reasoningWithTools: "refused" },
    ],
    [
      { like: "gpt-5.6", efforts: ["low"] },
      {
        ...chatTraitsOf({ chat: openaiChat, modelTraits: [] }, "gpt-5.6"),
        efforts: ["low"],
        takesMaxInResponses: false,
      },
    ],
    [{ like: "gpt-4o" }, chatTraitsOf({ chat: openaiChat, modelTraits: [] }, "gpt-4o")],
    [{ models: ["other"], sampling: "none" }, family],
  ];
  for (const [own, traits] of cases)
    t.same(
      chatTraitsOf({ chat: openaiChat, modelTraits: [{ ...nothing, ...own }] }, "gpt-5.4"),
      traits,
      JSON.stringify(own),
    );
});

t.test("the first entry that names the model applies, in any letters", async (t) => {
  const modelTraits = [
    { ...nothing, models: ["a", "prod-*"], outputTokensMax: 1 },
    { ...nothing, outputTokensMax: 2 },
  ];
  const limitOf = (model: string): number | null =>
    chatTraitsOf({ chat: plainChat, modelTraits }, model).outputTokensMax;
  t.same([limitOf("A"), limitOf("Prod-1"), limitOf("b")], [1, 1, 2]);
});

t.test("a host that isn't known has the Responses API where the operator says so", async (t) => {
  const own = { ...nothing, reasoningWithTools: "responses" as const };
  const { onlyInResponses, reasoningWithTools } = chatTraitsOf(
    { chat: plainChat, modelTraits: [own] },
    "m",
  );
  t.same([onlyInResponses, reasoningWithTools], ["reasoning_with_tools", "in_responses"]);
  t.equal(
    chatTraitsOf({ chat: plainChat, modelTraits: [{ ...own, like: "gpt-5-codex" }] }, "m")
      .onlyInResponses,
    "all",
  );
});

t.test("and for Anthropic's dialect", async (t) => {
  t.equal(messagesTraitsOf({ modelTraits: [] }, "glm-5"), null);
  const family = messagesTraitsOf({ modelTraits: [] }, "claude-opus-4-6");
  const of = (own: Partial<OwnModelTraits>, model = "claude-opus-4-6"): unknown =>
    messagesTraitsOf({ modelTraits: [{ ...nothing, ...own }] }, model);
  t.same(of({}), family);
  t.same(of({ thinking: "none" }), { ...family, thinking: "none" });
  t.match(of({ thinking: "budget" }, "claude-opus-5"), { thinkingOff: "disabled" });
  t.same(of({ like: "claude-opus-4-6" }, "my-deployment"), family);
  t.match(of({ outputTokensMax: 7 }, "glm-5"), { outputTokensMax: 7, thinking: "both" });
});

t.test("an asterisk matches any characters", async (t) => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ["gpt-5.4", "gpt-5.4", true],
    ["gpt-5.4", "gpt-5.4-mini", false],
    ["gpt-5.4*", "gpt-5.4-mini", true],
    ["*", "", true],
    ["*-mini", "gpt-mini", true],
    ["*-mini", "gpt-mini-2", false],
    ["a*b*c", "a-b-b-c", true],
    ["a*b*c", "ac", false],
    ["ab*ba", "aba", false],
    ["a**b", "ab", true],
    ["gpt.5", "gpt-5", false],
  ];
  for (const [pattern, name, matches] of cases)
    t.equal(namesModel(pattern, name), matches, `${pattern} ${name}`);
  const long = "a".repeat(20_000);
  t.equal(namesModel(`${"a*".repeat(100)}b`, long), false);
});
