import t from "tap";
import {
  failoverReason,
  isMoreUseful,
  type TargetFailure,
} from "../../../../proxy/upstream/errors/failover-reason.js";
import { mapUpstreamError } from "../../../../proxy/upstream/errors/upstream-error.js";
import { cpuMsOf } from "../../../support/cpu-time.js";

/** What an upstream answered, mapped as for the client. */
const reasonOf = (status: number, body: unknown): string | null =>
  failoverReason(
    mapUpstreamError(
      "p",
      status,
      Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
    ),
  );

const error = (message: string, code: unknown = null): unknown => ({
  error: { message, type: "invalid_request_error", param: null, code },
});

t.test(
  "another target is tried after a server error, too many requests and a timeout",
  async (t) => {
    const table: readonly (readonly [status: number, body: unknown, why: string])[] = [
      [500, error("oops"), "500"],
      [502, "<html>bad gateway</html>", "502"],
      [503, "", "503"],
      [504, "", "504"],
      [529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "529"],
      [429, error("Rate limit reached for gpt-4o", "rate_limit_exceeded"), "429"],
      [429, error("You exceeded your current quota", "insufficient_quota"), "429"],
      [408, "", "408"],
      [302, "", "502"],
      [200, error("Provider returned error", 502), "502"],
      [200, error("odd"), "502"],
      [200, error("slow down", 429), "429"],
    ];
    for (const [status, body, why] of table)
      t.equal(reasonOf(status, body), why, `${status} ${JSON.stringify(body)}`);
  },
);

t.test(
  "another target is tried for a missing, unavailable or retired model, in all its messages",
  async (t) => {
    const table: readonly (readonly [
      provider: string,
      status: number,
      body: unknown,
      why: string,
    ])[] = [
      [
        "OpenAI",
        404,
        error(
          "The model `gpt-9` does not exist or you do not have access to it.",
          "model_not_found",
        ),
        "404 model_not_found",
      ],
      [
        "OpenAI, retired",
        404,
        error(
          "The model `text-davinci-003` has been deprecated, learn more here: https://platform.openai.com/docs/deprecations",
          "model_not_found",
        ),
        "404 model_not_found",
      ],
      [
        "OpenAI, not for this project",
        403,
        error("Project `proj_x` does not have access to model `gpt-4o-mini`", "model_not_found"),
        "502 provider_credentials",
      ],
      [
        "Anthropic",
        404,
        { type: "error", error: { type: "not_found_error", message: "model: claude-9" } },
        "404",
      ],
      [
        "Groq",
        400,
        error(
          "The model `qwen-qwq-32b` has been decommissioned and is no longer supported. Please refer to https://console.groq.com/docs/deprecations",
          "model_decommissioned",
        ),
        "400 model_decommissioned",
      ],
      [
        "Gemini",
        404,
        [
          {
            error: {
              code: 404,
              message:
                "models/gemini-pro is not found for API version v1beta, or is not supported for generateContent.",
              status: "NOT_FOUND",
            },
          },
        ],
        "404",
      ],
      [
        "Gemini, retired",
        400,
        {
          error: {
            message:
              "This model models/gemini-3-pro-preview is no longer available. Please update your code to use a newer model",
          },
        },
        "400 model",
      ],
      [
        "vLLM",
        404,
        {
          object: "error",
          message: "The model `x` does not exist.",
          type: "NotFoundError",
          param: null,
          code: 404,
        },
        "404",
      ],
      ["Ollama", 404, error('model "llama9" not found, try pulling it first'), "404"],
      [
        "OpenRouter",
        404,
        {
          error: { message: "No endpoints found for stepfun/step-3.5-flash:free.", code: 404 },
          user_id: "u",
        },
        "404",
      ],
      [
        "OpenRouter, no such id",
        400,
        { error: { message: "deepseek-chat is not a valid model ID", code: 400 }, user_id: "u" },
        "400 model",
      ],
      [
        "Azure",
        404,
        {
          error: {
            code: "DeploymentNotFound",
            message: "The API deployment for this resource does not exist.",
          },
        },
        "404 DeploymentNotFound",
      ],
      [
        "DeepSeek",
        400,
        {
          error: {
            message: "Model Not Exist",
            type: "invalid_request_error",
            param: null,
            code: "invalid_request_error",
          },
        },
        "400 model",
      ],
      [
        "Mistral",
        400,
        {
          object: "error",
          message: "Invalid model: mistral-medium-9",
          type: "invalid_model",
          param: null,
          code: "1500",
        },
        "400 model",
      ],
      [
        "Perplexity",
        400,
        {
          error: {
            message: "Invalid model 'sonar-9'. Permitted models can be found in the documentation",
            type: "invalid_model",
            code: 400,
          },
        },
        "400 model",
      ],
      [
        "GitHub",
        404,
        { error: { code: "unknown_model", message: "Unknown model: /gpt-9" } },
        "404 unknown_model",
      ],
      [
        "GitHub, unavailable",
        400,
        { error: { code: "unavailable_model", message: "Unavailable model: o4-mini" } },
        "400 unavailable_model",
      ],
      ["Bedrock", 400, { message: "The provided model identifier is invalid." }, "400 model"],
      [
        "LiteLLM",
        400,
        error("400: {'error': 'Invalid model name passed in model=gpt-9'}", 400),
        "400 model",
      ],
      ["gone", 410, "", "410"],
      ["a path that isn't there", 404, "404 page not found", "404"],
      [
        "inside a 200",
        200,
        {
          error: { message: "The model `x` does not exist", code: "model_not_found", status: 400 },
        },
        "400 model_not_found",
      ],
    ];
    for (const [provider, status, body, why] of table)
      t.equal(reasonOf(status, body), why, provider);
  },
);

t.test("a request that is too long for a model may fit into another", async (t) => {
  const table: readonly (readonly [provider: string, status: number, body: unknown])[] = [
    [
      "OpenAI, vLLM, DeepSeek",
      400,
      error(
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
      ),
    ],
    ["a code alone", 400, error("no", "context_length_exceeded")],
    ["Groq", 413, error("Please reduce the length of the messages", "context_length_exceeded")],
    ["OpenAI's responses", 400, error("Your input exceeds the context window of this model.")],
    ["Anthropic", 400, error("prompt is too long: 210000 tokens > 200000 maximum")],
    [
      "Anthropic, with its output",
      400,
      error("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
    ],
    [
      "Gemini",
      400,
      error(
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      ),
    ],
    [
      "xAI",
      400,
      error("This model's maximum prompt length is 131072 but the request contains 200000"),
    ],
    ["Bedrock", 400, error("Input is too long for requested model.")],
    ["llama.cpp", 400, error("the request exceeds the available context size")],
    [
      "Cohere",
      422,
      error("too many tokens: total number of tokens in the prompt exceeds the limit"),
    ],
  ];
  for (const [provider, status, body] of table)
    t.equal(reasonOf(status, body), `${status} context`, provider);
});

t.test("a failure that another target would repeat goes to the client immediately", async (t) => {
  const table: readonly (readonly [status: number, body: unknown])[] = [
    [400, error("Invalid type for 'messages[0].content'")],
    [
      400,
      error("max_tokens is too large: 9000. This model supports at most 4096 completion tokens"),
    ],
    [400, error("Invalid 'messages[0].content': string too long. Expected at most 10 characters")],
    [400, error("the context of this tool is too long")],
    [
      400,
      error(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "unsupported_parameter",
      ),
    ],
    [
      400,
      error(
        "The response was filtered due to the prompt triggering content management policy.",
        "content_filter",
      ),
    ],
    [
      400,
      error(
        "Unsupported value: 'temperature' does not support 0.2 with this model.",
        "unsupported_value",
      ),
    ],
    [400, error("`temperature` is deprecated for this model.")],
    [400, error("For the model claude-x the parameter `top_k` is deprecated.")],
    [400, error("This model does not support image input.")],
    [400, error("The model `x` requires tools that are not available in this request")],
    [400, error("Unsupported parameter: 'max_tokens' is not supported with this model.")],
    [400, error("model: Field required")],
    [409, error("conflict")],
    [413, error("too large")],
    [
      422,
      {
        detail: [
          {
            type: "extra_forbidden",
            loc: ["body", "store"],
            msg: "Extra inputs are not permitted",
          },
        ],
      },
    ],
    [200, error("bad messages", 400)],
  ];
  for (const [status, body] of table)
    t.equal(reasonOf(status, body), null, `${status} ${JSON.stringify(body)}`);
});

t.test("when all have failed, the client gets the most useful failure", async (t) => {
  const sample = {
    why: "",
    isAnswered: true,
    refusesCredentials: false,
    retryAfterMs: null,
    isWorthRetrying: true,
  };
  const chosen = (
    ...failures: readonly (number | "unreachable" | "credentials" | readonly [429, number])[]
  ): number => {
    const all = failures.map((one): TargetFailure => {
      if (one === "credentials") return { ...sample, status: 502, refusesCredentials: true };
      if (one === "unreachable") return { ...sample, status: 502, isAnswered: false };
      return typeof one === "number"
        ? { ...sample, status: one }
        : { ...sample, status: one[0], retryAfterMs: one[1] };
    });
    return all.reduce((best, later, at) => (isMoreUseful(later, all[best]!) ? at : best), 0);
  };
  t.equal(chosen(500, 503), 1);
  t.equal(chosen(404, 404), 1);
  t.equal(chosen(503, 404), 0, "a retry may help");
  t.equal(chosen(404, 429), 1);
  t.equal(chosen(429, 502), 1);
  t.equal(chosen(502, [429, 9]), 1);
  t.equal(chosen([429, 30], [429, 5], [429, 60]), 1);
  t.equal(chosen([429, 30], 429), 0);
  t.equal(
    chosen(503, "unreachable"),
    0,
    "a target's response, maybe with a wait, before that one can't be reached",
  );
  t.equal(chosen("unreachable", [429, 5], "unreachable"), 1);
  t.equal(chosen(404, "unreachable"), 0);
  t.equal(chosen(503, "credentials"), 0, "a retry doesn't help with a refused key");
  t.equal(chosen("credentials", 429), 1);
  t.equal(chosen("credentials", 404), 1);
  t.equal(chosen("unreachable", "unreachable"), 1);
  t.equal(chosen(429, [429, Infinity]), 1);
});

t.test("another target is tried after a refusal of our credentials or account", async (t) => {
  const table: readonly (readonly [status: number, body: unknown])[] = [
    [401, error("Incorrect API key provided", "invalid_api_key")],
    [401, error("The model does not exist", "model_not_found")],
    [402, error("Insufficient Balance")],
    [403, error("Country, region, or territory not supported", "unsupported_country")],
    [403, error("The model was not found for your key")],
    [403, "<html>forbidden</html>"],
    [200, error("no key", 401)],
  ];
  for (const [status, body] of table)
    t.equal(
      reasonOf(status, body),
      "502 provider_credentials",
      `${status} ${JSON.stringify(body)}`,
    );
});

t.test("every wording of a model that is deprecated, retired or unavailable counts", async (t) => {
  const names = ["", " `m`", " 'acme/m-1:free'", " m-3 (2024-02-29)", ": m"];
  const ends = [
    "is deprecated",
    "is deprecated and will be shut down",
    "has been deprecated",
    "was deprecated on 2025-01-01",
    "has been retired",
    "was retired",
    "is now retired",
    "is temporarily unavailable",
    "is currently unavailable, try again later",
    "is unavailable",
    "is not available",
    "is not available in your region",
    "is currently not available",
    "isn't available",
    "is no longer available",
    "is no longer supported",
    "is not supported",
    "is overloaded",
    "is currently overloaded with other requests",
    "has been discontinued",
    "has been decommissioned",
    "has been sunset",
    "has reached end-of-life",
    "has reached its end of life",
    "does not exist",
    "was not found",
    "could not be found",
  ];
  const others: unknown[] = [];
  for (const status of [400, 409, 422, 451])
    for (const name of names)
      for (const end of ends)
        for (const subject of ["Model", "The requested model", "Error: the model"]) {
          const message = `${subject}${name} ${end}`;
          const reason = reasonOf(status, error(message));
          if (reason !== `${status} model`) others.push({ message, status, reason });
        }
  t.same(others, []);
});

t.test("no message takes long to be judged", async (t) => {
  const words = ["model ", "model: ", "models is ", "model is not ", "model a b c d ", "is was "];
  for (const word of words) {
    const message = error(word.repeat(4096));
    t.ok(cpuMsOf(() => reasonOf(400, message)) < 500, word);
  }
});
