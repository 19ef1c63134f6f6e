import type { ChatCompletion } from "openai/resources/chat/completions";
import type { Response, ResponseOutputItem } from "openai/resources/responses/responses";
import t from "tap";
import { responsesToChat } from "../../../../proxy/dialects/choose-dialect.js";
import {
  type AnswerContext,
  type JsonObject,
  UntranslatableAnswer,
} from "../../../../proxy/dialects/shared/translation.js";

const context: AnswerContext = {
  model: "smart",
  nowSeconds: 1_700_000_000,
  provider: "p",
  requestId: "req_aBc-000001",
  request: { model: "smart", input: "hi" },
};

/**
 * The SDK's own type without what the SDK adds or the API leaves null, and with what the API
 * answers beside it.
 */
type ApiResponse = Omit<Response, "access_programs" | "output_text" | "usage" | "user"> & {
  access_programs: null;
  store: boolean;
  max_tool_calls: number | null;
  usage: Response["usage"] | null;
  user: string | null;
};

function answered(body: object, request: object = {}): ApiResponse {
  return responsesToChat.answer(body as JsonObject, {
    ...context,
    request: { ...context.request, ...request },
  }) as unknown as ApiResponse;
}

const completion: ChatCompletion = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1_699_999_999,
  model: "deepseek-chat",
  service_tier: "default",
  choices: [
    {
      index: 0,
      finish_reason: "stop",
      logprobs: null,
      message: { role: "assistant", content: "Bonjour", refusal: null },
    },
  ],
  usage: {
    prompt_tokens: 100,
    completion_tokens: 20,
    total_tokens: 120,
    prompt_tokens_details: { cached_tokens: 60 },
    completion_tokens_details: { reasoning_tokens: 15 },
  },
};

const message = (
  item: Partial<ChatCompletion.Choice["message"]> & JsonObject,
  finish_reason: string | null = "stop",
) => ({
  ...completion,
  choices: [{ index: 0, finish_reason, message: { role: "assistant", content: null, ...item } }],
});

const said = (text: string, fields: object = {}): ResponseOutputItem => ({
  id: "msg_aBc-000001_0",
  type: "message",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", annotations: [], logprobs: [], text }],
  ...fields,
});

t.test("an answer is a complete response with the API's defaults", async (t) => {
  const expected: ApiResponse = {
    id: "resp_aBc-000001",
    object: "response",
    created_at: 1_700_000_000,
    status: "completed",
    access_programs: null,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: "smart",
    output: [said("Bonjour")],
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    prompt_cache_retention: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: "default",
    store: false,
    temperature: null,
    text: { format: { type: "text" }, verbosity: null },
    tool_choice: "auto",
    tools: [],
    top_logprobs: 0,
    top_p: null,
    truncation: "disabled",
    usage: {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60, cache_write_tokens: 0 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 15 },
      total_tokens: 120,
    },
    user: null,
    metadata: {},
  };
  t.strictSame(answered(completion), expected);
});

t.test("the request's parameters are repeated", async (t) => {
  const request: Partial<ApiResponse> = {
    instructions: "Be brief.",
    max_output_tokens: 9,
    max_tool_calls: 2,
    parallel_tool_calls: false,
    prompt_cache_key: "k",
    prompt_cache_retention: "24h",
    reasoning: { effort: "low", summary: "auto" },
    safety_identifier: "s",
    temperature: 0,
    text: { format: { type: "json_object" }, verbosity: "high" },
    tool_choice: "none",
    tools: [{ type: "function", name: "f", parameters: null, strict: null }],
    top_logprobs: 3,
    top_p: 0.5,
    user: "u",
    metadata: { run: "7" },
  };
  t.match(answered(completion, request), request);
  t.equal(
    answered(completion, { service_tier: "flex" }).service_tier,
    "default",
    "the tier that was used, not the one that was requested",
  );
});

t.test("every kind of item", async (t) => {
  const token = { token: "a", logprob: -0.5, bytes: [97] };
  const call = (id: string | undefined, name: string, args: unknown) => ({
    id,
    type: "function",
    function: { name, arguments: args },
  });
  const cases: readonly (readonly [string, object, readonly ResponseOutputItem[]])[] = [
    [
      "a refusal",
      message({ refusal: "I won't." }),
      [
        {
          id: "msg_aBc-000001_0",
          type: "message",
          status: "completed",
          role: "assistant",
          content: [{ type: "refusal", refusal: "I won't." }],
        },
      ],
    ],
    [
      "reasoning, text and calls",
      message(
        {
          content: "Let me see.",
          reasoning_content: "Rain?",
          tool_calls: [
            call("call_1", "weather", '{"city":"Lyon"}'),
            { id: "call_2", type: "custom", custom: { name: "shell", input: "ls" } },
          ] as never,
        },
        "tool_calls",
      ),
      [
        {
          id: "rs_aBc-000001_0",
          type: "reasoning",
          status: "completed",
          summary: [],
          content: [{ type: "reasoning_text", text: "Rain?" }],
        },
        {
          id: "msg_aBc-000001_1",
          type: "message",
          status: "completed",
          role: "assistant",
          content: [{ type: "output_text", annotations: [], logprobs: [], text: "Let me see." }],
        },
        {
          id: "fc_aBc-000001_2",
          type: "function_call",
          status: "completed",
          call_id: "call_1",
          name: "weather",
          arguments: '{"city":"Lyon"}',
        },
        {
          id: "ctc_aBc-000001_3",
          type: "custom_tool_call",
          status: "completed",
          call_id: "call_2",
          name: "shell",
          input: "ls",
        } as ResponseOutputItem,
      ],
    ],
    [
      "reasoning as OpenRouter and Groq name it",
      message({ content: "x", reasoning: "y" }),
      [
        {
          id: "rs_aBc-000001_0",
          type: "reasoning",
          status: "completed",
          summary: [],
          content: [{ type: "reasoning_text", text: "y" }],
        },
        said("x", { id: "msg_aBc-000001_1" }),
      ],
    ],
    [
      "parts, as Mistral's reasoning models send them",
      message({
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
          { type: "text", text: "yes" },
        ] as never,
      }),
      [
        {
          id: "rs_aBc-000001_0",
          type: "reasoning",
          status: "completed",
          summary: [],
          content: [{ type: "reasoning_text", text: "hm" }],
        },
        said("yes", { id: "msg_aBc-000001_1" }),
      ],
    ],
    [
      "calls without ids, without arguments, with arguments that aren't text",
      message(
        { tool_calls: [call(undefined, "clock", ""), call("", "clock", { zone: 1 })] as never },
        "tool_calls",
      ),
      [
        {
          id: "fc_aBc-000001_0",
          type: "function_call",
          status: "completed",
          call_id: "call_aBc-000001_0",
          name: "clock",
          arguments: "{}",
        },
        {
          id: "fc_aBc-000001_1",
          type: "function_call",
          status: "completed",
          call_id: "call_aBc-000001_1",
          name: "clock",
          arguments: '{"zone":1}',
        },
      ],
    ],
    [
      "a call that Gemini has signed",
      message(
        {
          tool_calls: [
            {
              ...call("1", "clock", ""),
              extra_content: { google: { thought_signature: "a+/==" } },
            },
          ] as never,
        },
        "tool_calls",
      ),
      [
        {
          id: "fc_aBc-000001_0",
          type: "function_call",
          status: "completed",
          call_id: "1__signed__YSsvPT0",
          name: "clock",
          arguments: "{}",
        },
      ],
    ],
    [
      "log probabilities",
      {
        ...completion,
        choices: [
          {
            index: 0,
            finish_reason: "stop",
            logprobs: {
              content: [
                { ...token, top_logprobs: [token, { token: 1 }] },
                "x",
                { token: "b", logprob: -1, bytes: null },
              ],
            },
            message: { content: "ab" },
          },
        ],
      },
      [
        said("ab", {
          content: [
            {
              type: "output_text",
              annotations: [],
              logprobs: [
                { ...token, top_logprobs: [token] },
                { token: "b", logprob: -1, bytes: [], top_logprobs: [] },
              ],
              text: "ab",
            },
          ],
        }),
      ],
    ],
    ["nothing", message({ content: "" }), []],
  ];
  for (const [name, body, output] of cases) t.strictSame(answered(body).output, output, name);
});

t.test("the finish reason gives the status", async (t) => {
  const incomplete = (reason: string) => ["incomplete", { reason }, "incomplete"] as const;
  const cases: readonly (readonly [string | null, string, object | null, string])[] = [
    ["stop", "completed", null, "completed"],
    ["tool_calls", "completed", null, "completed"],
    [null, "completed", null, "completed"],
    ["end_turn", "completed", null, "completed"],
    ["length", ...incomplete("max_output_tokens")],
    ["model_length", ...incomplete("max_output_tokens")],
    ["content_filter", ...incomplete("content_filter")],
    ["error", "failed", null, "incomplete"],
    ["insufficient_system_resource", "failed", null, "incomplete"],
  ];
  for (const [reason, status, details, item] of cases) {
    const response = answered(message({ content: "x" }, reason));
    t.strictSame(
      [response.status, response.incomplete_details, response.error === null],
      [status, details, status !== "failed"],
      `${reason}`,
    );
    t.strictSame(response.output, [said("x", { status: item })]);
  }
});

t.test("an error in place of an answer is a failed response", async (t) => {
  const cases: readonly (readonly [object, Response["error"]])[] = [
    [
      { error: { message: "overloaded", code: 503 } },
      { code: "server_error", message: "overloaded" },
    ],
    [
      { error: { message: "slow down", code: 429 }, choices: [] },
      { code: "rate_limit_exceeded", message: "slow down" },
    ],
    [
      { error: { message: "slow down", type: "rate_limit_error" } },
      { code: "rate_limit_exceeded", message: "slow down" },
    ],
    [
      { error: { message: 7 } },
      { code: "server_error", message: "the provider ended its answer with an error" },
    ],
    [
      {
        choices: [
          {
            finish_reason: "error",
            error: { code: 502, message: "gone" },
            message: { content: null },
          },
        ],
      },
      { code: "server_error", message: "gone" },
    ],
  ];
  for (const [body, error] of cases) {
    const response = answered(body);
    t.strictSame([response.status, response.error, response.output], ["failed", error, []]);
  }
});

t.test("usage has the same meaning for all providers", async (t) => {
  const usage = (reported: unknown) => answered({ ...completion, usage: reported }).usage;
  const tokens = (
    [input, cached, written]: readonly [number, number, number],
    [output, reasoning]: readonly [number, number],
  ) => ({
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  });
  t.equal(usage(undefined), null);
  t.equal(usage(null), null);
  t.equal(usage("many"), null);
  t.strictSame(usage({ prompt_tokens: 8, completion_tokens: 2 }), tokens([8, 0, 0], [2, 0]));
  t.strictSame(
    usage({
      prompt_tokens: 1000,
      completion_tokens: 50,
      total_tokens: 1200,
      completion_tokens_details: { reasoning_tokens: 150 },
    }),
    tokens([1000, 0, 0], [200, 150]),
    "xAI: only the total includes reasoning",
  );
  t.strictSame(
    usage({ prompt_tokens: 1000, completion_tokens: 200, prompt_cache_hit_tokens: 600 }),
    tokens([1000, 600, 0], [200, 0]),
    "DeepSeek",
  );
  t.strictSame(
    usage({
      prompt_tokens: 10,
      completion_tokens: 5,
      completion_tokens_details: { reasoning_tokens: 99 },
    }),
    tokens([10, 0, 0], [5, 5]),
    "never more reasoning than output",
  );
  t.strictSame(
    usage({
      prompt_tokens: 10,
      completion_tokens: 5,
      prompt_tokens_details: { cache_write_tokens: 4 },
      cost: 0.25,
    }),
    tokens([10, 0, 4], [5, 0]),
    "OpenRouter; its cost is only for Sluice's records, which read the provider's usage",
  );
  t.equal(
    usage({ prompt_tokens: -1, completion_tokens: 1e300 }),
    null,
    "an invalid usage isn't sent to the client",
  );
});

t.test("any request id can be part of an id", async (t) => {
  const answer = responsesToChat.answer(completion as unknown as JsonObject, {
    ...context,
    requestId: "team/a:7@x=é",
  });
  t.equal(answer["id"], "resp_team_a_7_x__");
});

t.test("an invalid answer throws an UntranslatableAnswer with the reason", async (t) => {
  const cases: readonly (readonly [object, string])[] = [
    [{}, "the provider's answer has no choices"],
    [{ choices: [] }, "the provider's answer has no choices"],
    [{ choices: "x" }, "the provider's answer has no choices"],
    [{ choices: [{}] }, "the answer's message is not an object"],
    [message({ content: 7 as never }), "the answer's content is not a string"],
    [
      message({ content: [{ type: "image" }] as never }),
      "the answer's content has a part that is neither text, thinking nor an image",
    ],
    [message({ refusal: {} as never }), "the answer's refusal is not a string"],
    [message({ reasoning_content: [] }), "the answer's reasoning_content is not a string"],
    [message({ tool_calls: {} as never }), "the answer's tool_calls are not an array"],
    [message({ tool_calls: ["x"] as never }), "a tool call is not an object"],
    [
      message({ tool_calls: [{ id: "c", function: "f" }] as never }),
      "a tool call's function is not an object",
    ],
    [
      message({ tool_calls: [{ id: "c", function: { arguments: "{}" } }] as never }),
      "the provider's answer calls a tool without a name",
    ],
    [
      message({ tool_calls: [{ id: 7, function: { name: "f" } }] as never }),
      "the answer's id of a tool call is not a string",
    ],
  ];
  for (const [body, text] of cases) t.throws(() => answered(body), new UntranslatableAnswer(text));
});
