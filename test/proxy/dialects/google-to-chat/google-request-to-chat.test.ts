import t from "tap";
import { googleToChat } from "../../../../proxy/dialects/choose-dialect.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { options } from "../request-options.js";
import { asked, refusal, translated } from "./translate-google-request.js";

const messages = [{ role: "user", content: "hi" }];

t.test("JSON mode needs a message with the word", async (t) => {
  const generationConfig = { responseMimeType: "application/json" };
  const response_format = { type: "json_object" };
  const instruction = { role: "system", content: "Answer with JSON." };
  const { chat, dropped } = translated({ generationConfig });
  t.same(
    { chat, dropped },
    {
      chat: { messages: [instruction, ...messages], response_format },
      dropped: [],
    },
  );
  const contents = [{ role: "user", parts: [{ text: "in Json" }] }];
  t.same(translated({ contents, generationConfig }).chat, {
    messages: [{ role: "user", content: "in Json" }],
    response_format,
  });
});

t.test("the settings of a request", async (t) => {
  const schema = {
    type: "object",
    properties: { a: { type: "integer" } },
    required: ["a"],
    additionalProperties: false,
  };
  const cases: readonly (readonly [JsonObject, JsonObject])[] = [
    [{}, {}],
    [
      { temperature: 1.5, topP: 0.9, seed: 7, presencePenalty: 0.5, frequencyPenalty: -1 },
      { temperature: 1.5, top_p: 0.9, seed: 7, presence_penalty: 0.5, frequency_penalty: -1 },
    ],
    [{ maxOutputTokens: 100 }, { max_completion_tokens: 100 }],
    [{ max_output_tokens: 100 }, { max_completion_tokens: 100 }],
    [{ stopSequences: ["END"] }, { stop: ["END"] }],
    [{ responseMimeType: "text/plain", candidateCount: 1, responseModalities: ["TEXT"] }, {}],
    [
      { responseMimeType: "application/json", responseJsonSchema: schema },
      {
        response_format: {
          type: "json_schema",
          json_schema: { name: "answer", schema, strict: true },
        },
      },
    ],
    [
      {
        responseSchema: {
          type: "OBJECT",
          properties: { a: { type: "STRING", nullable: true, enum: ["x"], maxLength: "3" } },
          propertyOrdering: ["a"],
        },
      },
      {
        response_format: {
          type: "json_schema",
          json_schema: {
            name: "answer",
            schema: {
              type: "object",
              properties: { a: { type: ["string", "null"], enum: ["x", null], maxLength: 3 } },
            },
          },
        },
      },
    ],
    [{ thinkingConfig: { thinkingLevel: "LOW" } }, { reasoning_effort: "low" }],
    [{ thinkingConfig: { thinkingLevel: "minimal" } }, { reasoning_effort: "minimal" }],
    [{ thinkingConfig: { thinkingBudget: 0 } }, { reasoning_effort: "none" }],
    [{ thinkingConfig: { thinkingBudget: 8192 } }, { reasoning_effort: "medium" }],
    [{ thinkingConfig: { thinkingBudget: 30_000 } }, { reasoning_effort: "high" }],
    [{ thinkingConfig: { thinkingBudget: -1, includeThoughts: true } }, {}],
  ];
  for (const [generationConfig, expected] of cases) {
    const { chat, dropped } = translated({ generationConfig });
    t.strictSame(chat, { messages, ...expected }, JSON.stringify(generationConfig));
    t.strictSame(dropped, []);
  }
  t.strictSame(translated({ serviceTier: "flex" }).chat, { messages, service_tier: "flex" });
  const whole = googleToChat.request({ contents: asked }, options);
  t.ok(whole.ok && !("stream" in whole.body), "whether it streams stands in the path");
});

t.test("what chat completions don't have is dropped with a word, or refused", async (t) => {
  const { dropped } = translated({
    safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "OFF" }],
    labels: { team: "a" },
    generationConfig: { topK: 40, mediaResolution: "MEDIA_RESOLUTION_LOW" },
    tools: [{ googleSearch: {} }, { codeExecution: {} }],
    somethingNew: 1,
  });
  t.strictSame(dropped, [
    "safetySettings",
    "somethingNew",
    "generationConfig.topK",
    "generationConfig.mediaResolution",
    "tools[].googleSearch",
    "tools[].codeExecution",
  ]);
  const cases: readonly (readonly [JsonObject, RegExp])[] = [
    [{ cachedContent: "cachedContents/a" }, /^cachedContent must be empty: .*cached at Google/],
    [{ generationConfig: { candidateCount: 2 } }, /^generationConfig.candidateCount must be 1:/],
    [{ generationConfig: { responseModalities: ["AUDIO"] } }, /\[0\] must be TEXT or IMAGE/],
    [{ generationConfig: { responseMimeType: "text/x.enum" } }, /not "text\/x.enum"/],
    [{ generationConfig: { temperature: "1" } }, /temperature must be a number, not a string/],
    [{ generationConfig: { thinkingConfig: { thinkingBudget: 1.5 } } }, /thinkingBudget must be/],
    [{ generationConfig: { thinkingConfig: { thinkingLevel: "ALL" } } }, /must be one of .*"ALL"/],
    [{ generationConfig: [] }, /^generationConfig must be an object, not an array/],
    [{ contents: [] }, /^contents must hold at least one content/],
    [{ contents: [{ role: "user", parts: [] }] }, /^contents must hold at least one part/],
    [{ contents: [{ role: "system", parts: [] }] }, /^contents\[0\].role must be user or model/],
    [{ contents: [{ parts: [7] }] }, /^contents\[0\].parts\[0\] must be an object, not/],
  ];
  for (const [body, message] of cases) t.match(refusal(body), message);
  t.match(refusal({ safetySettings: [{}] }, true), /^safetySettings must be empty: /);
});

t.test("functions become tools, under names that chat completions take", async (t) => {
  const parameters = { type: "object", properties: { path: { type: "string" } } };
  const declared = [
    { name: "read", description: "Reads.", parametersJsonSchema: parameters },
    {
      name: "mcp.write",
      parameters: { type: "OBJECT", properties: { path: { type: "STRING" } } },
    },
    { name: "list" },
  ];
  const read = {
    type: "function",
    function: { name: "read", description: "Reads.", parameters },
  };
  const write = { type: "function", function: { name: "mcp_write_25b151ba", parameters } };
  const list = { type: "function", function: { name: "list" } };
  const tools = [
    { functionDeclarations: declared.slice(0, 2) },
    { function_declarations: declared.slice(2) },
  ];
  const all = [read, write, list];
  const cases: readonly (readonly [JsonObject | null, readonly JsonObject[], unknown])[] = [
    [null, all, undefined],
    [{ mode: "AUTO" }, all, undefined],
    [{ mode: "NONE" }, all, "none"],
    [{ mode: "ANY" }, all, "required"],
    [{ mode: "VALIDATED", allowedFunctionNames: ["read", "list"] }, [read, list], undefined],
    [{ mode: "ANY", allowedFunctionNames: ["read", "list"] }, [read, list], "required"],
    [
      { mode: "ANY", allowed_function_names: ["mcp.write"] },
      [write],
      { type: "function", function: { name: "mcp_write_25b151ba" } },
    ],
  ];
  for (const [functionCallingConfig, expected, choice] of cases) {
    const toolConfig = functionCallingConfig === null ? {} : { functionCallingConfig };
    const { chat } = translated({ tools, toolConfig });
    t.strictSame(chat["tools"], expected, JSON.stringify(toolConfig));
    t.strictSame(chat["tool_choice"], choice, JSON.stringify(toolConfig));
  }
  t.strictSame(translated({ tools: [], toolConfig: {} }).chat, { messages });
  t.match(
    refusal({ toolConfig: { functionCallingConfig: { mode: "ANY" } } }),
    /^toolConfig.functionCallingConfig.mode must not be ANY without a function/,
  );
  t.match(refusal({ tools: [{ computerUse: {} }] }), /^tools\[0\].computerUse must be left out/);
});
