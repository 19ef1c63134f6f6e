/**
 * Real processes for the SDK tests: a daemon, a proxy, and providers of each dialect that are one
 * server.
 */
import type { Test } from "tap";
import { agesSeconds } from "../ages.js";
import { admin, type RuleItem, until } from "../client.js";
import { type ModelApi, startModelApi } from "../providers/model-api.js";
import { anthropicKey, openaiKey } from "../providers/model-api-call.js";
import { makeSite, type Part } from "./processes.js";

export const masterKey = "master";

export interface SdkSite {
  readonly api: ModelApi;
  readonly proxy: Part;
  /** The proxy's address, without a path. */
  readonly url: string;
  /** Puts a rule on a path. */
  limit(
    path: string,
    limit: { readonly period_seconds: number; readonly max_requests: number },
  ): Promise<void>;
  /** Runs it, and returns what it added to what `/` has counted, once no slot is held any more. */
  counts(
    run: () => Promise<unknown>,
  ): Promise<{ readonly requests: number; readonly tokens: number }>;
}

/**
 * Providers: `openai` speaks all of OpenAI's dialect, `chatty` only chat completions, `claude`
 * Anthropic's. `smart` stands for all three, in another order. `moreModels` are of `openai`.
 */
export async function startSdkSite(t: Test, moreModels: readonly string[] = []): Promise<SdkSite> {
  const api = await startModelApi();
  t.teardown(() => api.close());
  const site = makeSite(
    t,
    `
providers:
  openai: { type: openai, base_url: "${api.baseUrl}", api_key: ${openaiKey}, models: [${["gpt-test", ...moreModels].join()}], retries: 0 }
  chatty: { type: openai, base_url: "${api.baseUrl}", api_key: ${openaiKey}, models: [llama-test], operations: [chat_completions], retries: 0 }
  claude: { type: anthropic, base_url: "${api.baseUrl}", api_key: ${anthropicKey}, models: [claude-test], retries: 0 }
virtual_models:
  smart: { strategy: failover, targets: [{ model: chatty/llama-test }, { model: claude/claude-test }, { model: openai/gpt-test }] }
rate_limits:
  user_paths: [{ path: /, limits: [{ period_seconds: ${agesSeconds}, max_requests: 100000, max_tokens: 100000000 }, { period: concurrent, max_requests: 20 }] }]
`,
    { SLUICE_MASTER_KEY: masterKey },
  );
  await site.startDaemon();
  const proxy = await site.startProxy();
  const bearer = { authorization: `Bearer ${masterKey}` };
  const rules = async () =>
    (await admin(proxy.ready, "GET /rate-limits", undefined, bearer)).body.rate_limits.filter(
      ({ subject }) => subject === "/",
    );
  const counted = async (): Promise<RuleItem> => {
    const listed = await until(rules, (now) =>
      now.some(({ period_seconds, in_flight }) => period_seconds === 0 && in_flight === 0),
    );
    return listed.find(({ period_seconds }) => period_seconds === agesSeconds)!;
  };
  return {
    api,
    proxy,
    url: proxy.ready,
    async limit(path, limit) {
      const { status } = await admin(
        proxy.ready,
        "PUT /rate-limits",
        {
          user_path: path,
          limit_key: { period_seconds: limit.period_seconds },
          max_requests: limit.max_requests,
        },
        bearer,
      );
      if (status !== 200) throw new Error(`the rule was answered with ${status}`);
    },
    async counts(run) {
      const before = await counted();
      await run();
      const after = await counted();
      return {
        requests: after.requests_used - before.requests_used,
        tokens: after.tokens_used - before.tokens_used,
      };
    },
  };
}
