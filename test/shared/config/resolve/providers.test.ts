import t from "tap";
import type { ProviderConfig } from "../../../../shared/config/config.js";
import { plainChat, plainResponses } from "../../../../shared/config/host-traits.js";
import { findPreset, presetAt, presets } from "../../../../shared/config/presets.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { providerConfig } from "../../../support/provider-config.js";
import { accepted, refused } from "../resolve-sample.js";

const simulator: ProviderConfig = providerConfig({
  name: "simulator",
  type: "simulator",
  baseUrl: "",
  models: ["sim-fast", "sim-slow"],
});

function openai(
  name: string,
  baseUrl: string,
  apiKey: string | null = null,
  models: readonly string[] | null = null,
): ProviderConfig {
  return providerConfig({
    name,
    baseUrl,
    apiKey,
    models,
    ...(name === "openai" ? { operations: new Set(findPreset(name)!.operations) } : {}),
    chat: findPreset(name)?.chat ?? plainChat,
    responses: findPreset(name)?.responses ?? plainResponses,
    keepAliveMs: presetAt(baseUrl) === undefined ? 3_000 : 30_000,
  });
}

t.test(
  "without a provider in the file there is a simulator, and environment keys join beside it",
  async (t) => {
    for (const text of [null, "", "log_level: warn\n", "providers:\n", "providers: {}\n"])
      t.same(accepted(text).config.providers, [simulator], JSON.stringify(text));
    t.same(accepted(null, { env: { GROQ_API_KEY: "g", OPENAI_API_KEY: "o" } }).config.providers, [
      simulator,
      openai("openai", "https://api.openai.com/v1", "o"),
      {
        ...openai("groq", "https://api.groq.com/openai/v1", "g"),
        operations: new Set(findPreset("groq")!.operations),
      },
    ]);
  },
);

t.test("with a provider in the file there is no implicit simulator", async (t) => {
  t.same(accepted("providers: { openai: }\n").config.providers, [
    openai("openai", "https://api.openai.com/v1"),
  ]);
  t.same(accepted("providers: { sim: { type: simulator, models: [m] } }\n").config.providers, [
    { ...simulator, name: "sim", account: "sim", models: ["m"] },
  ]);
});

t.test("every preset is registered by its key only", async (t) => {
  for (const preset of presets) {
    const { name, type, keyVariable, baseUrl, operations, chat, responses, listsModels } = preset;
    if (baseUrl === null) continue;
    t.same(
      accepted(null, { env: { [keyVariable]: " k\n" } }).config.providers,
      [
        simulator,
        providerConfig({
          name,
          type,
          baseUrl,
          apiKey: "k",
          operations: new Set(operations),
          chat,
          responses,
          models: listsModels ? null : [],
          keepAliveMs: type === "vllm" ? 3_000 : 30_000,
        }),
      ],
      name,
    );
    t.same(
      accepted(null, { env: { [keyVariable]: " " } }).config.providers,
      [simulator],
      `${name}, blank`,
    );
  }
});

t.test(
  "the environment's key, base URL and models beat the file's, and nothing else of it",
  async (t) => {
    const text =
      "providers: { openai: { base_url: http://old/v1, api_key: old, models: [a], idle_timeout_ms: 9 } }\n";
    const env = {
      OPENAI_API_KEY: "new",
      OPENAI_BASE_URL: "https://new/v1/",
      OPENAI_MODELS: "b, c",
    };
    t.same(accepted(text, { env }).config.providers, [
      { ...openai("openai", "https://new/v1", "new", ["b", "c"]), idleTimeoutMs: 9 },
    ]);
    t.same(accepted(text, { env: { OPENAI_BASE_URL: "https://new/v1" } }).config.providers, [
      { ...openai("openai", "https://new/v1", "old", ["a"]), idleTimeoutMs: 9 },
    ]);
    t.same(accepted(text).config.providers, [
      { ...openai("openai", "http://old/v1", "old", ["a"]), idleTimeoutMs: 9 },
    ]);
  },
);

t.test("a provider without its key stays, and sends none", async (t) => {
  const { config, warnings } = accepted(
    'providers: { openai: { api_key: "${OPENAI_API_KEY}" }, local: { base_url: http://127.0.0.1:9100/v1/, api_key: none, models: ["*"] } }\n',
  );
  t.same(config.providers, [
    openai("openai", "https://api.openai.com/v1"),
    openai("local", "http://127.0.0.1:9100/v1", null, ["*"]),
  ]);
  t.same(warnings, []);
});

t.test("every field of a provider is read, numbers as texts too", async (t) => {
  const text =
    'providers: { a: { type: azure, base_url: "http://a", api_key: k, api_version: 2024-10-21, operations: [chat_completions, images], max_tokens_default: 5, models: [m], headers: { X-A: b, n: 1 }, proxy: "http://p:1", ca_file: /c, connect_timeout_ms: 1, first_byte_timeout_ms: "2", idle_timeout_ms: "${IDLE}", max_connections: 4, retries: 2, retry_wait_max_ms: 9, breaker_failures: 0, breaker_open_ms: 100 } }\n';
  t.same(accepted(text, { env: { IDLE: "3" } }).config.providers, [
    providerConfig({
      name: "a",
      type: "azure",
      operations: new Set(["chat_completions", "images"]),
      baseUrl: "http://a",
      apiKey: "k",
      apiVersion: "2024-10-21",
      maxTokensDefault: 5,
      models: ["m"],
      connectTimeoutMs: 1,
      firstByteTimeoutMs: 2,
      idleTimeoutMs: 3,
      connectionsMax: 4,
      headers: ["X-A", "b", "n", "1"],
      proxy: "http://p:1/",
      caFile: "/c",
      retries: 2,
      retryWaitMaxMs: 9,
      breakerFailures: 0,
      breakerOpenMs: 100,
    }),
  ]);
});

t.test("a wrong provider is reported with its place", async (t) => {
  const nameProblem = (at: string): string =>
    `${at} must be named with at most 64 lower-case letters, digits, "-", "_" and ".", beginning with a letter or digit`;
  for (const [provider, problems] of [
    ["Local: { base_url: http://x }", [nameProblem("providers.Local")]],
    ["a/b: { base_url: http://x }", [nameProblem('providers["a/b"]')]],
    [`${"a".repeat(65)}: { base_url: http://x }`, [nameProblem(`providers.${"a".repeat(65)}`)]],
    [
      "local: {}",
      [
        /^providers\.local\.base_url is required: only the names openai, anthropic, .* have one of their own$/,
      ],
    ],
    [
      "local: { base_url: 127.0.0.1 }",
      [/^providers\.local\.base_url must be an http or https URL .*, not "127\.0\.0\.1"$/],
    ],
    [
      "local: { base_url: http://x, api_key: 5 }",
      [/^providers\.local\.api_key must be a text .*or none: put it in quotes$/],
    ],
    [
      "local: { base_url: http://x, idle_timeout_ms: 0, max_connections: many }",
      [
        "providers.local.idle_timeout_ms must be an integer from 1 to 3600000, not 0",
        'providers.local.max_connections must be an integer from 1 to 65535, not "many"',
      ],
    ],
    [
      "local: { type: claude, base_url: http://x }",
      [
        'providers.local.type must be openai, anthropic, gemini, azure, ollama, vllm or simulator, not "claude"',
      ],
    ],
    [
      "local: { base_url: http://x, api_version: v1 }",
      ["providers.local.api_version is for the type azure: leave it out"],
    ],
    [
      "local: { type: azure, base_url: http://x, api_version: a b }",
      [
        'providers.local.api_version must be an API version such as 2024-10-21 or 2025-04-01-preview, not "a b"',
      ],
    ],
    ["local: { type: azure }", [/^providers\.local\.base_url is required: /]],
    ["azure: { api_key: k }", [/^providers\.azure\.base_url is required: /]],
    ["anthropic: { type: openai }", [/^providers\.anthropic\.base_url is required: /]],
    [
      "local: { base_url: http://x, operations: [chat] }",
      [
        /^providers\.local\.operations must be a list that holds nothing but chat_completions, responses, /,
      ],
    ],
    [
      "local: { base_url: http://x, timeout: 5 }",
      [/^providers\.local\.timeout is not a known key: expected type, base_url, /],
    ],
    [
      "sim: { type: simulator, base_url: http://x, api_key: k }",
      [
        "providers.sim.base_url is not for the type simulator: leave it out",
        "providers.sim.api_key is not for the type simulator: leave it out",
      ],
    ],
    [
      "local: { models: 5, api_version: v1 }",
      [
        'providers.local.models must be a list of model ids, or ["*"] for any, not 5',
        "providers.local.api_version is for the type azure: leave it out",
        /^providers\.local\.base_url is required: /,
      ],
    ],
    ["local: { base_url: x:1 }", [/^providers\.local\.base_url must be an http/]],
    ["local: 5", [/^providers\.local must be a mapping of type, .*, not 5$/]],
  ] as const) {
    const messages = refused(`providers:\n  ${provider}\n`);
    t.match(messages, problems, provider);
    t.equal(messages.length, problems.length, provider);
  }
  t.same(refused("providers: [openai]\n"), [
    "providers must be a mapping of names, not a list: write each name as a key, without -",
  ]);
});

t.test("wrong variables of a provider are reported by their names, without the key", async (t) => {
  t.match(
    refused(null, {
      env: { OPENAI_API_KEY: "my secret key", OPENAI_BASE_URL: "example.com", OPENAI_MODELS: "/x" },
    }),
    exactly([
      /^OPENAI_API_KEY must be a text of visible ASCII characters [^\n]*or none: it has a space in it$/,
      /^OPENAI_BASE_URL must be .* not "example\.com"$/,
      /^OPENAI_MODELS must be a list of model ids/,
    ]),
  );
});

t.test("variables without effect cause warnings", async (t) => {
  t.same(accepted(null, { env: { GROQ_BASE_URL: "https://x", XAI_MODELS: "m" } }).warnings, [
    "GROQ_BASE_URL has no effect without GROQ_API_KEY or a provider groq in the file",
    "XAI_MODELS has no effect without XAI_API_KEY or a provider xai in the file",
  ]);
  for (const [end, named] of [
    ["/v1/chat/completions", "/chat/completions"],
    ["/v1/messages/", "/messages"],
    ["/v1/embeddings", "/embeddings"],
    ["/my-models", null],
    ["/models/v1", null],
    ["/v1", null],
  ] as const) {
    t.same(
      accepted(`providers: { local: { base_url: "http://127.0.0.1:1${end}" } }`).warnings,
      named === null
        ? []
        : [
            `the base URL of the provider local ends in ${named}, which is appended to every base URL: leave it out`,
          ],
      end,
    );
  }
  const { config, warnings } = accepted("providers: { openai: { type: simulator } }\n", {
    env: { OPENAI_API_KEY: "k" },
  });
  t.same(warnings, ["OPENAI_API_KEY is ignored: the file's provider openai is a simulator"]);
  t.same(config.providers, [{ ...simulator, name: "openai", account: "openai" }]);
});

t.test(
  "a type has its own address and its own way to show the key; a name from the presets has its type",
  async (t) => {
    const first = (text: string): ProviderConfig =>
      accepted(`providers:\n  ${text}\n`).config.providers[0]!;
    t.same(
      first("claude: { type: anthropic, api_key: k }"),
      providerConfig({
        name: "claude",
        type: "anthropic",
        baseUrl: "https://api.anthropic.com/v1",
        apiKey: "k",
      }),
    );
    t.same(
      first("anthropic: { api_key: k }"),
      providerConfig({
        name: "anthropic",
        type: "anthropic",
        baseUrl: "https://api.anthropic.com/v1",
        apiKey: "k",
      }),
    );
    t.same(
      first("anthropic: { type: openai, base_url: http://relay/v1 }"),
      providerConfig({ name: "anthropic", baseUrl: "http://relay/v1" }),
    );
    t.same(first("here: { type: ollama }").baseUrl, "http://127.0.0.1:11434/v1");
    t.same(
      first("eu: { type: azure, base_url: https://eu.openai.azure.com/openai/v1, api_key: k }"),
      providerConfig({
        name: "eu",
        type: "azure",
        baseUrl: "https://eu.openai.azure.com/openai/v1",
        apiKey: "k",
        models: [],
      }),
    );
  },
);

t.test(
  "a provider's quirks are recognized by its address, and behind a relay by its name",
  async (t) => {
    const takes = (text: string): boolean =>
      accepted(`providers:\n  ${text}\n`).config.providers[0]!.chat.takesStreamOptions;
    t.equal(takes("eu: { base_url: https://api.mistral.ai/v1 }"), false);
    t.equal(takes("mistral: { base_url: http://relay/v1 }"), false);
    t.equal(takes("mistral: { base_url: https://api.groq.com/openai/v1 }"), true);
    t.equal(takes("local: { base_url: http://relay/v1 }"), true);
  },
);

t.test(
  "a provider without a key is registered by its address or models; one without a default address needs one",
  async (t) => {
    const names = (env: Record<string, string>): readonly string[] =>
      accepted(null, { env })
        .config.providers.slice(1)
        .map(({ name, baseUrl }) => `${name} ${baseUrl}`);
    t.same(names({ OLLAMA_MODELS: "llama3" }), ["ollama http://127.0.0.1:11434/v1"]);
    t.same(names({ VLLM_BASE_URL: "http://gpu:8000/v1" }), ["vllm http://gpu:8000/v1"]);
    t.same(
      names({
        AZURE_OPENAI_API_KEY: "k",
        AZURE_OPENAI_BASE_URL: "https://x.openai.azure.com/openai/v1",
      }),
      ["azure https://x.openai.azure.com/openai/v1"],
    );
    const { config, warnings } = accepted(null, { env: { AZURE_OPENAI_API_KEY: "k" } });
    t.same(
      [config.providers.length, warnings],
      [
        1,
        [
          "AZURE_OPENAI_API_KEY has no effect without AZURE_OPENAI_BASE_URL: azure has no default address",
        ],
      ],
    );
  },
);

t.test("a key is in one place, and the environment's is in place of it", async (t) => {
  const keysOf = (text: string, env = {}): object => {
    const at = `providers: { openai: { ${text} } }\n`;
    const [provider] = accepted(at, { env }).config.providers;
    const { apiKey, apiKeys, apiKeyFile, apiKeyCommand } = provider!;
    return { apiKey, apiKeys, apiKeyFile, apiKeyCommand };
  };
  const none = { apiKey: null, apiKeys: null, apiKeyFile: null, apiKeyCommand: null };
  t.same(keysOf("api_keys: [a, { key: b, weight: 3 }]"), {
    ...none,
    apiKeys: [
      { key: "a", weight: 1 },
      { key: "b", weight: 3 },
    ],
  });
  t.match(keysOf("api_keys: [{ key: b, name: prod }, { key_file: /k, name: test.2 }]"), {
    apiKeys: exactly([{ name: "prod" }, { name: "test.2" }]),
  });
  t.same(keysOf("api_keys: [{ key_file: key }, { key_file: /other, weight: 3 }, c]"), {
    ...none,
    apiKeys: [
      { keyFile: "/srv/key", weight: 1 },
      { keyFile: "/other", weight: 3 },
      { key: "c", weight: 1 },
    ],
  });
  t.same(keysOf("api_key_file: key"), { ...none, apiKeyFile: "/srv/key" });
  t.same(keysOf("api_key_command: print key"), { ...none, apiKeyCommand: "print key" });
  t.same(keysOf("api_keys: [a]", { OPENAI_API_KEY: "e" }), { ...none, apiKey: "e" });
  t.same(keysOf("api_key: a", { OPENAI_API_KEY_FILE: "key" }), { ...none, apiKeyFile: "/srv/key" });
  t.match(accepted(null, { env: { GROQ_API_KEY_FILE: "/key" } }).config.providers[1], {
    name: "groq",
    apiKeyFile: "/key",
  });
  t.same(refused(null, { env: { OPENAI_API_KEY: "a", OPENAI_API_KEY_FILE: "b" } }), [
    "OPENAI_API_KEY and OPENAI_API_KEY_FILE are both set: keep one of them",
  ]);
  for (const [text, problem] of [
    ["api_key: a, api_key_file: b", /at most one of api_key, .*not api_key and api_key_file$/],
    ["api_keys: []", /api_keys must be a list of 1 to 100 keys/],
    ["api_keys: [{ key: secret-a, wait: 1 }]", /api_keys must be a list/],
    ["api_keys: [{ key: secret-a, weight: 0 }]", /api_keys must be a list/],
    ["api_keys: [{ key: secret-a, name: a b }]", /api_keys must be a list/],
    ["api_keys: [secret a]", /api_keys must be a list/],
    ["api_keys: [{ key: secret-a, key_file: /k }]", /api_keys must be a list/],
    ["api_keys: [{ key_file: ~/secret }]", /api_keys must be a list/],
    ["api_keys: [{ weight: 2 }]", /api_keys must be a list/],
    ["headers: { a: { file: /k, name: secret } }", /headers must be a mapping/],
    ["headers: { a: { file: [secret] } }", /headers must be a mapping/],
    ["headers: { Host: secret }", /headers must be a mapping/],
    ["headers: { a b: secret }", /headers must be a mapping/],
    ['headers: { a: "secret\\n" }', /headers must be a mapping/],
    ["headers: [secret]", /headers must be a mapping/],
    ["type: simulator, api_keys: [secret]", /api_keys is not for the type simulator/],
  ] as const) {
    const problems = refused(`providers: { openai: { ${text} } }\n`);
    t.match(problems, exactly([problem]), text);
    t.notMatch(problems.join(), /secret/);
  }
});

t.test("a header's value may be in a file, beside those that are written", async (t) => {
  const text = "{ x-a: one, x-b: { file: two }, x-c: { file: '${CREDENTIALS_DIRECTORY}/c' } }";
  const { config } = accepted(`providers: { openai: { headers: ${text} } }\n`);
  const { headers, headerFiles } = config.providers[0]!;
  t.same(headers, ["x-a", "one"]);
  t.same(headerFiles, [
    { name: "x-b", path: "/srv/two" },
    { name: "x-c", path: "/srv/${CREDENTIALS_DIRECTORY}/c" },
  ]);
});
