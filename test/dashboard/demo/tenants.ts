/** The tenants, keys, rules and budgets of the demo. */

export interface DemoTenant {
  readonly name: string;
  readonly path: string;
  /** Null if it has no key. */
  readonly keyNumber: number | null;
}

const named = [
  "acme",
  "globex",
  "initech",
  "umbrella",
  "hooli",
  "stark",
  "wayne",
  "wonka",
  "müller-söhne",
  "東京商事",
  "חברת-אור",
  "شركة-النور",
  "rocket🚀co",
];
const tenantsMax = 100;
const keysMax = 57;

/** The busiest first. */
export const tenants: readonly DemoTenant[] = Array.from({ length: tenantsMax }, (_, i) => {
  const name = named[i] ?? `customer-${String(i).padStart(3, "0")}`;
  return { name, path: `/tenants/${name}`, keyNumber: i < keysMax ? i + 1 : null };
});

export const demoTargets = [
  ["openai", "gpt-5.4-mini"],
  ["anthropic", "claude-haiku-4-5"],
  ["openai", "gpt-5.4"],
  ["groq", "llama-3.3-70b"],
] as const;

export const demoYaml = `
entitlements: [quota_templates]
providers:
  openai: { type: simulator, models: [gpt-5.4, gpt-5.4-mini] }
  anthropic: { type: simulator, models: [claude-haiku-4-5] }
  groq: { type: simulator, models: [llama-3.3-70b] }
virtual_models:
  smart:
    strategy: failover
    targets: [{ model: openai/gpt-5.4 }, { model: anthropic/claude-haiku-4-5 }]
prices:
  openai/gpt-5.4: { input: 2500, output: 15000 }
  openai/gpt-5.4-mini: { input: 250, output: 2000 }
  anthropic/claude-haiku-4-5: { input: 1000, output: 5000 }
  groq/llama-3.3-70b: { input: 590, output: 790 }
rate_limits:
  user_paths:
    - { path: /, limits: [{ period: minute, max_requests: 6000 }] }
    - { path: /tenants, per_child: true, limits: [{ period: minute, max_requests: 60 }, { period: day, max_tokens: 400000 }] }
  providers:
    - { name: openai, limits: [{ period: minute, max_requests: 3000, max_tokens: 450000 }] }
budgets:
  user_paths:
    - { path: /, limits: [{ period: monthly, amount: 5000 }] }
    - { path: /tenants, per_child: true, limits: [{ period: monthly, amount: 25 }, { period: daily, amount: 2 }] }
`;

/** Further rules of teams, so that there are 66. */
export const demoRules = Array.from({ length: 62 }, (_, i) => ({
  user_path: `/teams/team-${String(i).padStart(2, "0")}`,
  limit_key: { period: i % 2 === 0 ? "minute" : "hour" },
  max_requests: 100 * (i + 1),
}));

export const demoKeys = tenants.slice(0, keysMax).map(({ name, path }, i) => ({
  name: `${name} backend`,
  user_path: path,
  labels: [i % 3 === 0 ? "production" : "staging"],
}));
