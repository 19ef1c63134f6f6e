/**
 * A gateway that looks like one at work: simulated providers under real names, rules from a file
 * and by hand, budgets, keys, and callers of which some meet their limits. For looking at the
 * dashboard, and for its pictures and tests.
 */
import { makeSite } from "../support/processes/processes.js";

const yaml = `
entitlements: [quota_templates]
waiting: { max_seconds: 60 }
providers:
  openai: { type: simulator, models: [gpt-5.4, gpt-5.4-mini] }
  simulator: { type: simulator, models: [sim-slow] }
  anthropic: { type: simulator, models: [claude-sonnet-4-5, claude-haiku-4-5] }
  groq: { type: simulator, models: [llama-3.3-70b] }
virtual_models:
  smart:
    strategy: failover
    targets: [{ model: openai/gpt-5.4 }, { model: anthropic/claude-sonnet-4-5 }]
prices:
  openai/gpt-5.4: { input: 2500, output: 15000 }
  openai/gpt-5.4-mini: { input: 250, output: 2000 }
  anthropic/claude-sonnet-4-5: { input: 3000, output: 15000 }
  anthropic/claude-haiku-4-5: { input: 1000, output: 5000 }
  groq/llama-3.3-70b: { input: 590, output: 790 }
rate_limits:
  user_paths:
    - { path: /, limits: [{ period: minute, max_requests: 6000 }, { period: concurrent, max_requests: 200 }] }
    - { path: /search, limits: [{ period: day, max_requests: 20000, max_tokens: 4000000 }] }
  providers:
    - { name: openai, limits: [{ period: minute, max_requests: 3000, max_tokens: 450000 }] }
budgets:
  user_paths:
    - { path: /, limits: [{ period: monthly, amount: 5000 }] }
`;

const rules = [
  { user_path: "/search/ranking", limit_key: { period: "minute" }, max_requests: 300 },
  { user_path: "/support", limit_key: { period: "hour" }, max_requests: 900, max_tokens: 60000 },
  {
    user_path: "/support/agents",
    per_child: true,
    limit_key: { period: "minute" },
    max_requests: 40,
  },
  { user_path: "/support/triage", limit_key: { period: "minute" }, max_requests: 12 },
  { user_path: "/support/triage", limit_key: { period: "concurrent" }, max_requests: 4 },
  { user_path: "/research", limit_key: { period: "day" }, max_requests: 5000, max_tokens: 250000 },
  { user_path: "/research/evals", limit_key: { period: "hour" }, max_requests: 150 },
  { user_path: "/billing/reports", limit_key: { period_seconds: 900 }, max_requests: 120 },
  {
    scope: "provider",
    subject: "anthropic",
    limit_key: { period: "concurrent" },
    max_requests: 24,
  },
  {
    scope: "provider",
    subject: "groq",
    limit_key: { period: "minute" },
    max_requests: 900,
    max_tokens: 90000,
  },
  { scope: "model", subject: "openai/gpt-5.4", limit_key: { period: "minute" }, max_requests: 240 },
  {
    scope: "model",
    subject: "claude-haiku-4-5",
    limit_key: { period: "hour" },
    max_tokens: 400000,
  },
  { scope: "model", subject: "gpt-3.5-turbo", limit_key: { period: "hour" }, max_requests: 400 },
];

const budgets = [
  { user_path: "/search", budget_key: { period: "monthly" }, amount: 1200 },
  { user_path: "/support", budget_key: { period: "daily" }, amount: 40 },
  { user_path: "/research", budget_key: { period: "weekly" }, amount: 90 },
  { user_path: "/research/evals", budget_key: { period: "daily" }, amount: 6 },
  { user_path: "/support/agents", per_child: true, budget_key: { period: "daily" }, amount: 5 },
];

const bill = {
  ...{ provider: "openai", source: "openai", start_date: "2026-02-02", end_date: "2026-02-08" },
  ...{ recorded_usd: "812.4", billed_usd: "861.15", difference_usd: "48.75" },
  ...{ gap_usd: "48.75", gap_percent: 5.67 },
  causes: { past_sluice: "41.5", stale_price: "7.25" },
  models: [
    {
      ...{ project: null, model: "gpt-5.4", recorded_usd: "700", billed_usd: "748.75" },
      causes: { past_sluice: "41.5", stale_price: "7.25" },
    },
  ],
  quantities: [
    ...["requests", "input", "output"].map((kind) => ({
      ...{ model: "gpt-5.4", tier: "standard", kind, recorded: 51_000, billed: 54_020 },
    })),
  ],
  unknown_lines: [{ text: "Adjustment of January", billed_usd: "0.4" }],
  prices: ["prices:", '  "openai/gpt-5.4": { input: 2500, output: 15000 }'],
  notes: ["the bill has usage but no cost yet on 2026-02-08: try again later"],
};
const bills = [
  { ...bill, start_date: "2026-01-26", end_date: "2026-02-01", gap_percent: 0.2 },
  bill,
  {
    ...{ ...bill, provider: "anthropic", source: "anthropic", billed_usd: "812.4" },
    ...{ difference_usd: "0", gap_usd: "0", gap_percent: 0, causes: {}, models: [] },
    ...{ quantities: [], unknown_lines: [], prices: [], notes: [] },
  },
];

const keys = [
  { name: "search-backend", user_path: "/search", labels: ["production"] },
  { name: "support-bot", user_path: "/support/triage", labels: ["production"] },
  { name: "ranking-experiments", user_path: "/search/ranking" },
  { name: "notebook-mara", user_path: "/research/evals", labels: ["notebook"] },
];

/** Who calls what, and how often in a round. */
const callers: readonly (readonly [path: string, model: string, share: number])[] = [
  ["/search", "gpt-5.4-mini", 9],
  ["/search/ranking", "llama-3.3-70b", 12],
  ["/support/triage", "claude-haiku-4-5", 4],
  ["/support/agents/lena", "smart", 3],
  ["/support/agents/omar", "smart", 2],
  ["/support/agents/yuki", "claude-sonnet-4-5", 1],
  ["/research/evals", "gpt-5.4", 3],
  ["/billing/reports", "gpt-5.4-mini", 1],
];

interface SeededGateway {
  readonly url: string;
  readonly masterKey: string | null;
  /** One chat on this path. */
  call(path: string, model: string): Promise<void>;
  /** Sends so many rounds of requests, one after the other. */
  sendRounds(rounds: number): Promise<void>;
  /** Goes on sending, one round after the other with a pause; ends with what it returns. */
  keepSending(pauseMs: number): () => void;
  /** Kills the daemon, so that the pages can be seen without one. */
  killDaemon(): Promise<void>;
  /** After it was killed. */
  startDaemon(): Promise<void>;
}

/** `site`: ends it. `masterKey` null: an open gateway. */
export async function startSeededGateway(
  site: Parameters<typeof makeSite>[0],
  masterKey: string | null,
): Promise<SeededGateway> {
  const made = makeSite(site, yaml, masterKey === null ? {} : { SLUICE_MASTER_KEY: masterKey });
  let daemon = await made.startDaemon();
  const url = (await made.startProxy()).ready;
  const headers = masterKey === null ? {} : { authorization: `Bearer ${masterKey}` };
  const ask = async (method: string, path: string, body: unknown): Promise<void> => {
    const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  for (const rule of rules) await ask("PUT", "/admin/rate-limits", rule);
  for (const budget of budgets) await ask("PUT", "/admin/budgets", budget);
  for (const bill of bills) await ask("POST", "/admin/reconciliations", bill);
  if (masterKey !== null) for (const key of keys) await ask("POST", "/admin/auth-keys", key);
  const call = async (path: string, model: string): Promise<void> => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json", "x-sluice-user-path": path },
      body: JSON.stringify({
        model,
        messages: [{ role: "user", content: `Summarize the last incident for ${path}.` }],
      }),
    });
    await answer.arrayBuffer();
  };
  const sendRound = (): Promise<unknown> =>
    Promise.all(
      callers.flatMap(([path, model, share]) =>
        Array.from({ length: share }, () => call(path, model)),
      ),
    );
  return {
    url,
    masterKey,
    call,
    async sendRounds(count) {
      for (let round = 0; round < count; round++) await sendRound();
    },
    keepSending(pauseMs) {
      const timer = setInterval(() => void sendRound().catch(() => undefined), pauseMs);
      return () => clearInterval(timer);
    },
    killDaemon: () => daemon.kill("SIGKILL"),
    async startDaemon() {
      daemon = await made.startDaemon();
    },
  };
}
