import t from "tap";
import { translateOneApi } from "../../../bin/import/one-api-config.js";
import { exactly } from "../../support/patterns/exactly.js";
import { newApiTables, oneApiTables } from "./one-api-exports.js";

t.test("channels of one-api become providers, models and prices", async (t) => {
  const { config, notes } = translateOneApi("one-api", oneApiTables());
  t.same(config, {
    server: { master_key: "${SLUICE_MASTER_KEY}" },
    providers: {
      openai: { api_key: "sk-openai-key-1", models: ["gpt-4o", "gpt-4o-mini"] },
      azure: {
        base_url: "https://NAME.openai.azure.com/openai",
        api_key: "azure-key",
        api_version: "2024-10-21",
        models: ["gpt-4o"],
      },
      anthropic: { api_key: "sk-ant-1", models: ["claude-sonnet-4-5"] },
      "own-vllm": {
        type: "openai",
        base_url: "http://10.0.0.5:8000/v1",
        api_key: "sk-own",
        models: ["llama"],
      },
    },
    virtual_models: {
      "gpt-4o": {
        strategy: "failover",
        targets: [{ model: "openai/gpt-4o" }, { model: "azure/gpt-4o" }],
      },
    },
    aliases: {
      "gpt-4o-mini": "openai/gpt-4o-mini",
      "claude-sonnet-4-5": "anthropic/claude-sonnet-4-5",
      "claude-latest": "anthropic/claude-sonnet-4-5",
      llama: "own-vllm/llama",
    },
    // 0.5 is half of $0.002 for 1,000 tokens.
    prices: { "own-vllm/llama": { input: 1, output: 2 } },
  });
  t.match(
    notes,
    exactly([
      /^channel 6 \(deepseek off\): off: left out$/,
      /^channel 4 \(own vllm\): system_prompt has no counterpart$/,
      /^channel 5 \(bedrock\): its type 33 has no counterpart: left out$/,
      /^model gpt-4o: its channels differ by group/,
      /^option GroupRatio: .* vip by 0.8$/,
    ]),
  );
});

t.test("channels of new-api have other types, several keys, weights and overrides", async (t) => {
  const { config, notes } = translateOneApi("new-api", newApiTables());
  t.same(config["providers"], {
    openai: {
      // The second key is off.
      api_keys: ["sk-one", "sk-three"],
      headers: { "OpenAI-Organization": "org-1", "X-Team": "a" },
      proxy: "http://10.1.1.1:3128",
      per_model: [{ models: ["*"], set: { temperature: 0 } }],
      models: ["gpt-4o", "gpt-4o-mini"],
    },
    "openai-2": {
      type: "openai",
      base_url: "https://api.openai.com/v1",
      api_key: "sk-four",
      models: ["gpt-4o"],
    },
    deepseek: { api_key: "sk-ds", models: ["deepseek-chat", "deepseek-reasoner"] },
    custom: {
      type: "openai",
      base_url: "https://llm.example.com/api/v1",
      api_key: "sk-c",
      models: ["house"],
    },
    ollama: { base_url: "http://10.0.0.7:11434/v1", models: ["llama3.2"] },
  });
  t.same(config["virtual_models"], {
    "gpt-4o": {
      strategy: "round_robin",
      targets: [
        { model: "openai/gpt-4o", weight: 3 },
        { model: "openai-2/gpt-4o", weight: 1 },
      ],
    },
  });
  t.match(config["aliases"], { r1: "deepseek/deepseek-reasoner", house: "custom/house" });
  t.same(config["prices"], { "custom/house": { input: 5, output: 15 } });
  t.match(
    notes,
    exactly([
      /setting thinking_to_content has no counterpart$/,
      /header_override X-Key has no counterpart$/,
      /status_code_mapping has no counterpart$/,
      /^channel 5 \(suno\): its type 36 has no counterpart: left out$/,
      /^option ModelRequestRateLimitGroup: /,
      /^option RetryTimes: /,
      /^option GroupRatio: /,
      "options without a counterpart: SMTPToken, Footer",
    ]),
  );
});

t.test("what is missing or can't be said becomes a note", async (t) => {
  const channel = { id: 9, name: "x", status: "1", models: "m", group: "" };
  const tables = (fields: object) => ({
    channels: [{ ...channel, ...fields }],
    tokens: [],
    users: [],
    options: [],
  });
  for (const [fields, note] of [
    [{ type: "8", key: "k", base_url: "" }, "channel 9 (x): it has no base_url: left out"],
    [{ type: "1", key: "" }, "channel 9 (x): it has no key"],
    [
      { type: 1, key: "k", param_override: '{"operations":[]}' },
      "channel 9 (x): operations of param_override: see per_model of the provider",
    ],
  ] as const)
    t.same(translateOneApi("new-api", tables(fields)).notes, [note]);

  const two = (priorities: readonly number[]) => ({
    ...tables({}),
    channels: priorities.map((priority, i) => ({
      ...channel,
      id: i,
      type: 1,
      key: "$k",
      priority,
    })),
  });
  const { config, notes } = translateOneApi("one-api", two([0, 5, 5]));
  t.same(config["virtual_models"], {
    m: {
      strategy: "failover",
      targets: [{ model: "openai-2/m" }, { model: "openai-3/m" }, { model: "openai/m" }],
    },
  });
  t.match(notes, exactly([/^model m: channels of one priority are tried in order/]));
  t.match(config["providers"], { openai: { api_key: "$$k" } }, "a dollar is no variable");
});
