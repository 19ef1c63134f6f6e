/**
 * The lists of models as clients read them: Anthropic's and Google's SDKs page through them and
 * find the models' sizes, and Claude Code finds the models of a gateway.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import t from "tap";
import { until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";
import {
  replyJson,
  startPassthroughProvider,
} from "../../support/providers/passthrough-provider.js";

const provider = await startPassthroughProvider();
t.teardown(() => provider.close());
provider.answer = (received) => {
  const { url = "" } = received.request;
  if (url.startsWith("/vllm/models"))
    return replyJson(received, { object: "list", data: [{ id: "qwen", max_model_len: 32_768 }] });
  if (url.startsWith("/router/models"))
    return replyJson(received, {
      data: [
        { id: "a/b", context_length: 64_000, top_provider: { max_completion_tokens: 8000 } },
        { id: "a/odd", context_length: "many", top_provider: null },
      ],
    });
  received.response.writeHead(404).end();
};
const site = makeSite(
  t,
  `
providers:
  anthropic: { type: anthropic, base_url: "${provider.origin}/a", api_key: k, models: [claude-sonnet-4-5, claude-opus-4-6] }
  vllm: { type: vllm, base_url: "${provider.origin}/vllm" }
  router: { type: openai, base_url: "${provider.origin}/router", api_key: k }
virtual_models:
  claude-or-qwen: { targets: [{ model: anthropic/claude-opus-4-6 }, { model: vllm/qwen }] }
`,
  { SLUICE_MASTER_KEY: masterKey },
);
await site.startDaemon();
const { ready: url } = await site.startProxy();
const anthropic = new Anthropic({ baseURL: url, apiKey: masterKey, maxRetries: 0 });
const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: masterKey, maxRetries: 0 });
await until(
  async () => (await openai.models.list()).data.length,
  (models) => models === 6,
);

/** By model: the context window and the most output. */
const sizes: Readonly<Record<string, readonly [number | null, number | null]>> = {
  "claude-or-qwen": [32_768, 128_000],
  "anthropic/claude-sonnet-4-5": [200_000, 64_000],
  "anthropic/claude-opus-4-6": [1_000_000, 128_000],
  "vllm/qwen": [32_768, null],
  "router/a/b": [64_000, 8000],
  "router/a/odd": [null, null],
};

t.test("Anthropic's SDK pages through the models and reads their sizes", async (t) => {
  const seen: Record<string, unknown> = {};
  for await (const model of anthropic.models.list({ limit: 2 })) {
    seen[model.id] = [model.max_input_tokens, model.max_tokens];
    t.same(await anthropic.models.retrieve(model.id), model, "one is listed as it is alone");
  }
  t.same(seen, sizes);
  const last = await anthropic.models.list({ limit: 2, before_id: "router/a/odd" });
  t.same([last.data.map(({ id }) => id), last.has_more], [["vllm/qwen", "router/a/b"], true]);
});

t.test("OpenAI's list has the names of OpenRouter, vLLM and Groq", async (t) => {
  for (const model of (await openai.models.list()).data) {
    const [context, output] = sizes[model.id]!;
    const { context_length, max_model_len, max_completion_tokens } = model as unknown as Record<
      string,
      unknown
    >;
    t.same(
      [context_length, max_model_len, max_completion_tokens],
      [context ?? undefined, context ?? undefined, output ?? undefined],
      model.id,
    );
  }
});

t.test("Google's list has its limits and pages", async (t) => {
  interface GoogleList {
    readonly models: readonly Readonly<Record<string, unknown>>[];
    readonly nextPageToken?: string;
  }
  const seen: Record<string, unknown> = {};
  for (let token: string | undefined = ""; token !== undefined; ) {
    const response = await fetch(`${url}/v1beta/models?pageSize=4&pageToken=${token}`, {
      headers: { "x-goog-api-key": masterKey },
    });
    const page = (await response.json()) as GoogleList;
    for (const { name, inputTokenLimit, outputTokenLimit } of page.models)
      seen[String(name).slice("models/".length)] = [
        inputTokenLimit ?? null,
        outputTokenLimit ?? null,
      ];
    token = page.nextPageToken && encodeURIComponent(page.nextPageToken);
  }
  t.same(seen, sizes);
});

// As version 2.1.332 sends it: three seconds, no redirect, ids that contain `claude`.
t.test("Claude Code finds the models of a gateway", async (t) => {
  const response = await fetch(`${url}/v1/models?limit=1000`, {
    redirect: "error",
    signal: AbortSignal.timeout(3000),
    headers: { authorization: `Bearer ${masterKey}`, "anthropic-version": "2023-06-01" },
  });
  const { data } = (await response.json()) as {
    readonly data: readonly { readonly id: string; readonly display_name: string }[];
  };
  t.same(
    data.filter(({ id }) => /claude|anthropic/i.test(id)).map((model) => model.display_name),
    ["claude-or-qwen", "anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-6"],
  );
});

t.test("and opens its connection without a key", async (t) => {
  const head = await fetch(`${url}/api/hello`, { method: "HEAD" });
  t.same([head.status, await head.text()], [200, ""]);
  t.same(await (await fetch(`${url}/api/hello`)).json(), { message: "hello" });
  t.equal((await fetch(`${url}/api/hello`, { method: "POST" })).status, 405);
});
