/** The Sluice of the matrix: a daemon and a proxy, with every provider of the stand-in. */
import { admin, until } from "../support/client.js";
import { makeSite } from "../support/processes/processes.js";
import { moved, movedModels, searching } from "./providers/accounts.js";
import { hosts } from "./providers/hosts.js";
import type { StandIn } from "./providers/stand-in.js";

const masterKey = "matrix-master-key";
const bearer = { authorization: `Bearer ${masterKey}` };

/** What Sluice has recorded of a caller, and what it holds for it now. */
export interface Recorded {
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly inFlight: number;
}

/** Of base URLs that aren't as OpenAI's. */
const paths: ReadonlyMap<string, string> = new Map([
  ["azure", "/openai/v1"],
  ["gemini", "/v1beta/openai"],
]);

/** The accounts of `movedModels`, as providers of the configuration. */
function movedAccounts(url: string): string {
  return hosts
    .flatMap(({ name, settings }) => {
      const models = Object.values(movedModels).flatMap(([host, ...of]) =>
        host === name ? of : [],
      );
      if (models.length === 0) return [];
      return [1, 2].map((number) => {
        const account = `${moved}.${name}.${number}`;
        return `  ${account}: { ${settings}, base_url: "${url}/${account}${paths.get(name) ?? "/v1"}", api_key: key-of-${account}, models: ${JSON.stringify(models)}, retries: 0 }`;
      });
    })
    .join("\n");
}

/** vLLM has no search. */
export const searchHost = hosts.find(({ name }) => name === "vllm")!;

function searchingAccount(url: string): string {
  const { settings, models } = searchHost;
  return `  ${searching}: { ${settings}, base_url: "${url}/${searching}.${searchHost.name}/v1", api_key: key, models: ${JSON.stringify(models)}, retries: 0 }`;
}

export interface Gateway {
  /** Without a path. */
  readonly url: string;
  readonly standIn: StandIn;
  /** A managed key of this user path. */
  keyOf(path: string): Promise<string>;
  /** At most so many requests at a time on the path. */
  limitSlots(path: string, maxRequests: number): Promise<void>;
  /** At most so many requests a day on the path; none of them is used. */
  limitDay(path: string, maxRequests: number): Promise<void>;
  /** A hard cap on the path's output of any two seconds. */
  cap(path: string, outputTokens: number): Promise<void>;
  /** Resolves once a hard cap has ended an answer of this path. */
  cut(path: string): Promise<void>;
  recorded(key: string): Promise<Recorded>;
  /** Resolves once a request of this path has been refused for a limit. */
  refused(path: string): Promise<void>;
  /** How many have been so far. */
  refusals(path: string): number;
  /** One request of this caller that is answered. */
  use(key: string, model: string): Promise<void>;
  /** A request that goes on until it is told to end. */
  occupy(key: string, model: string): Promise<() => void>;
  close(): Promise<void>;
}

/** `searches`: whether Sluice searches the web for a provider that can't. */
export async function startGateway(standIn: StandIn, searches = false): Promise<Gateway> {
  const endings: (() => unknown)[] = [];
  const site = makeSite(
    { teardown: (ending: () => unknown) => void endings.push(ending) },
    `
providers:
${hosts.map((host) => `  ${host.name}: { ${host.settings}, base_url: "${standIn.url}/${host.name}${paths.get(host.name) ?? "/v1"}", api_key: key-of-${host.name}, models: ${JSON.stringify(host.models)}, retries: 0 }`).join("\n")}
${movedAccounts(standIn.url)}
${searches ? searchingAccount(standIn.url) : ""}
virtual_models:
${Object.entries(movedModels)
  .map(
    ([dialect, [host, ...models]]) =>
      `  ${moved}/${dialect}: { strategy: failover, targets: [${models.map((model, i) => `{ model: ${moved}.${host}.${i + 1}/${model} }`).join(", ")}] }`,
  )
  .join("\n")}
${searches ? `tools: { web_search: { provider: tavily, base_url: "${standIn.url}/tavily", api_key: key-of-tavily } }` : ""}
rate_limits:
  user_paths: [{ path: /, limits: [{ period: concurrent, max_requests: 100 }] }]
`,
    { SLUICE_MASTER_KEY: masterKey, LOG_LEVEL: "debug" },
  );
  await site.startDaemon();
  const proxy = await site.startProxy();
  const url = proxy.ready;
  const ask = async (
    operation: string,
    body: unknown,
  ): Promise<Readonly<Record<string, unknown>>> => {
    const { status, body: answer } = await admin(url, operation, body, bearer);
    if (status >= 300) throw new Error(`${operation}: ${status} ${JSON.stringify(answer)}`);
    return answer;
  };
  const chat = (key: string, model: string, content: string, signal?: AbortSignal) =>
    fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify({ model, messages: [{ role: "user", content }], stream: true }),
      ...(signal === undefined ? {} : { signal }),
    });
  return {
    url,
    standIn,
    async keyOf(path) {
      const { value } = await ask("POST /auth-keys", { name: path.slice(1), user_path: path });
      return String(value);
    },
    async limitSlots(path, maxRequests) {
      const limit = { user_path: path, limit_key: { period: "concurrent" } };
      await ask("PUT /rate-limits", { ...limit, max_requests: maxRequests });
    },
    async limitDay(path, maxRequests) {
      const limit = { user_path: path, limit_key: { period: "day" } };
      await ask("PUT /rate-limits", { ...limit, max_requests: maxRequests });
      await ask("POST /rate-limits/reset-one", { user_path: path, period: "day" });
    },
    async cap(path, outputTokens) {
      const cap = {
        user_path: path,
        limit_key: { period_seconds: 2 },
        max_output_tokens: outputTokens,
      };
      await ask("PUT /rate-limits", { ...cap, hold: "hard" });
    },
    cut: (path) =>
      proxy.printed(new RegExp(`"user_path":"${path}".*"cut_by":"the .* output token limit of`)),
    async recorded(key) {
      const response = await fetch(`${url}/v1/usage`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const { usage, rate_limits: rules } = (await response.json()) as {
        readonly usage: Readonly<Record<string, number>>;
        readonly rate_limits: readonly { readonly in_flight: number }[];
      };
      return {
        requests: usage["total_requests"]!,
        inputTokens: usage["total_input_tokens"]!,
        outputTokens: usage["total_output_tokens"]!,
        inFlight: Math.max(...rules.map((rule) => rule.in_flight)),
      };
    },
    refused: (path) => proxy.printed(new RegExp(refusal(path))),
    refusals: (path) => [...proxy.output().matchAll(new RegExp(refusal(path), "g"))].length,
    async use(key, model) {
      const response = await chat(key, model, "hi");
      await response.text();
      if (!response.ok) throw new Error(`a first request was answered with ${response.status}`);
    },
    async occupy(key, model) {
      const abort = new AbortController();
      const response = await chat(key, model, "[[SLOWLY]]", abort.signal);
      if (!response.ok) throw new Error(`a slow request was answered with ${response.status}`);
      // It is read to its end: a response that nobody holds is given up with the garbage.
      response.text().catch(() => "");
      return () => abort.abort();
    },
    async close() {
      for (const end of endings) await end();
    },
  };
}

/** Its line in the log. */
const refusal = (path: string): string => `"status":4(?:29|02),.*"user_path":"${path}"`;

/** For what takes a moment, on a machine with much else to do. */
export const patienceMs = 120_000;

/** Asks until Sluice holds nothing for this caller any more. */
export async function settled(gateway: Gateway, key: string): Promise<Recorded> {
  const deadline = performance.now() + patienceMs;
  const recorded = await until(
    () => gateway.recorded(key),
    ({ inFlight }) => inFlight === 0 || performance.now() >= deadline,
  );
  if (recorded.inFlight === 0) return recorded;
  throw new Error(`Sluice still holds ${recorded.inFlight} requests after ${patienceMs} ms`);
}
