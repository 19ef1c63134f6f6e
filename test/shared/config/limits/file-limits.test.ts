import fc from "fast-check";
import t from "tap";
import {
  declaredAtText,
  declaredLine,
  placeInFile,
} from "../../../../shared/config/limits/declared-at.js";
import type { RuleDefinition } from "../../../../shared/domain/rule.js";
import { accepted, refused } from "../resolve-sample.js";

const rule = (
  scope: RuleDefinition["scope"],
  subject: string,
  periodSeconds: number,
  caps: Partial<RuleDefinition>,
): RuleDefinition => ({
  ...{ scope, subject, periodSeconds, maxRequests: null, maxTokens: null, perChild: false },
  ...caps,
});

t.test("the three lists of rules are read, in their order", async (t) => {
  const text = `
entitlements: [quota_templates]
rate_limits:
  user_paths:
    - path: " team//App/ "
      per_child: yes
      limits: [ { period: minute, max_requests: 1, max_tokens: 2 }, { period: "300", max_requests: 3 } ]
    - { path: "", limits: [ { period: concurrent, max_requests: 4 } ] }
    - { path: "/", limits: [ { period: concurrent, max_requests: 1, models: ["\${MODEL}", "!GPT-4o", "*"] } ] }
  providers:
    - { name: OpenAI, limits: [ { period_seconds: 3600, max_tokens: "\${CAP}" } ] }
  models:
    - { model: openai/gpt-4o, limits: [ { period: Daily, max_requests: 6, host_only: "\${ALONE}" } ] }
    - { model: gpt-4o, limits: [ { period: day, max_requests: 7, host_only: no } ] }
`;
  const { rules, declaredAt } = accepted(text, {
    env: { CAP: "5", ALONE: "yes", MODEL: "openai/o*", OPENAI_API_KEY: "k" },
  }).config.rateLimits;
  const place = { file: "/s.yaml", section: "rate_limits" };
  t.same(
    rules.map(({ scope }, i) => declaredAtText(declaredAt[i]!, { ...place, scope })),
    [
      "/s.yaml: rate_limits.user_paths[0].limits[0]",
      "/s.yaml: rate_limits.user_paths[0].limits[1]",
      "/s.yaml: rate_limits.user_paths[1].limits[0]",
      "/s.yaml: rate_limits.user_paths[2].limits[0]",
      "/s.yaml: rate_limits.providers[0].limits[0]",
      "/s.yaml: rate_limits.models[0].limits[0]",
      "/s.yaml: rate_limits.models[1].limits[0]",
    ],
  );
  t.same(declaredAt.map(declaredLine), [7, 7, 8, 9, 11, 13, 14]);
  t.same(rules, [
    rule("user_path", "/team/App", 60, { maxRequests: 1, maxTokens: 2, perChild: true }),
    rule("user_path", "/team/App", 300, { maxRequests: 3, perChild: true }),
    rule("user_path", "/", 0, { maxRequests: 4 }),
    rule("user_path", "/", 0, { maxRequests: 1, models: "* openai/o* !gpt-4o" }),
    rule("provider", "OpenAI", 3600, { maxTokens: 5 }),
    rule("model", "openai/gpt-4o", 86_400, { maxRequests: 6, hostOnly: true }),
    rule("model", "gpt-4o", 86_400, { maxRequests: 7 }),
  ]);
});

t.test(
  "an environment entry replaces the complete file entry of its path or provider, and no other",
  async (t) => {
    const text = `
rate_limits:
  user_paths:
    - { path: /team, limits: [ { period: minute, max_requests: 1 }, { period: hour, max_requests: 2 } ] }
    - { path: /team/, limits: [ { period: day, max_requests: 3 } ] }
    - { path: /Team, limits: [ { period: minute, max_requests: 4 } ] }
    - { path: /team/a, limits: [ { period: minute, max_requests: 5 } ] }
    - { path: /gone, limits: [ { period: minute, max_requests: 6 } ] }
    - { path: /kept, limits: [ { period: minute, max_requests: 7 } ] }
  providers:
    - { name: My-LLM, limits: [ { period: minute, max_requests: 8 } ] }
`;
    const env = {
      SET_RATE_LIMIT_TEAM: "rpd=9",
      SET_RATE_LIMIT_GONE: "[]",
      SET_RATE_LIMIT_KEPT: " ",
      SET_PROVIDER_RATE_LIMIT_MY_LLM: "rpm=10",
    };
    const { rules, declaredAt } = accepted(text, { env }).config.rateLimits;
    const variables = ["SET_PROVIDER_RATE_LIMIT_MY_LLM", "SET_RATE_LIMIT_TEAM"];
    t.same(declaredAt, [
      placeInFile(2, 0, 6),
      placeInFile(3, 0, 7),
      placeInFile(5, 0, 9),
      ...variables,
    ]);
    t.same(rules, [
      rule("user_path", "/Team", 60, { maxRequests: 4 }),
      rule("user_path", "/team/a", 60, { maxRequests: 5 }),
      rule("user_path", "/kept", 60, { maxRequests: 7 }),
      rule("provider", "my-llm", 60, { maxRequests: 10 }),
      rule("user_path", "/team", 86_400, { maxRequests: 9 }),
    ]);
  },
);

t.test("the same identity in two places is a problem that names both", async (t) => {
  const text = `
rate_limits:
  user_paths:
    - { path: /team, limits: [ { period: minute, max_requests: 1 } ] }
    - { path: team/, limits: [ { period: hour, max_requests: 1 }, { period_seconds: 60, max_tokens: 1 } ] }
  providers:
    - { name: OpenAI, limits: [ { period: minute, max_requests: 1 } ] }
    - { name: openai, limits: [ { period: min, max_requests: 1 } ] }
  models:
    - { model: openai, limits: [ { period: minute, max_requests: 1 } ] }
`;
  t.same(refused(text), [
    "rate_limits.user_paths[1].limits[1] declares the same rule as rate_limits.user_paths[0].limits[0] (/team minute): keep one of them",
    "rate_limits.providers[1].limits[0] declares the same rule as rate_limits.providers[0].limits[0] (provider openai minute): keep one of them",
  ]);
});

t.test("per_child without the entitlement is a problem that names the path", async (t) => {
  const text =
    "rate_limits: { user_paths: [ { path: team, per_child: true, limits: [ { period: minute, max_requests: 1 } ] } ] }\n";
  t.same(refused(text), [
    "rate_limits.user_paths[0]: per_child on /team requires the entitlement quota_templates: add the line entitlements: [quota_templates]",
  ]);
  t.equal(
    accepted(text, { env: { SLUICE_ENTITLEMENTS: "quota_templates" } }).config.rateLimits.rules[0]
      ?.perChild,
    true,
  );
});

t.test("a wrong rule is reported with its place", async (t) => {
  const good = "limits: [ { period: minute, max_requests: 1 } ]";
  for (const [entry, problems] of [
    [`user_paths: [ { ${good} } ]`, ["rate_limits.user_paths[0].path is required"]],
    [
      `user_paths: [ { path: 5, ${good} } ]`,
      ["rate_limits.user_paths[0].path must be a path such as /team/app, not 5"],
    ],
    [
      `user_paths: [ { path: " \\t", ${good} } ]`,
      ['rate_limits.user_paths[0].path must be a path such as /team/app, not " \\t"'],
    ],
    [
      `user_paths: [ { path: a/../b, ${good} } ]`,
      ['rate_limits.user_paths[0].path must not hold the segment .., as "a/../b" does'],
    ],
    [
      `user_paths: [ { path: /a, per_child: maybe, ${good} } ]`,
      [
        'rate_limits.user_paths[0].per_child must be true or false (or yes, no, on, off, 1, 0), not "maybe"',
      ],
    ],
    ["user_paths: [ { path: /a } ]", ["rate_limits.user_paths[0].limits is required"]],
    [
      "user_paths: [ { path: /a, limits: [] } ]",
      ["rate_limits.user_paths[0].limits must hold from 1 to 1000 limits, not 0"],
    ],
    [
      "user_paths: [ { path: /a, limits: { period: minute } } ]",
      [
        'rate_limits.user_paths[0].limits must be a list of limits, not {"period":"minute"}: begin each entry with -',
      ],
    ],
    [
      "user_paths: { path: /a }",
      ["rate_limits.user_paths must be a list, not a mapping: begin each entry with -"],
    ],
    [
      `providers: [ { name: a/b, ${good} } ]`,
      [
        'rate_limits.providers[0].name must be a provider\'s name, without a slash or white space, not "a/b"',
      ],
    ],
    [
      `providers: [ { name: a, per_child: true, ${good} } ]`,
      ["rate_limits.providers[0].per_child is not a known key: expected name, limits"],
    ],
    [
      `models: [ { model: /a, ${good} } ]`,
      [
        'rate_limits.models[0].model must be a model id without a leading or trailing slash, not "/a"',
      ],
    ],
    [
      `models: [ { name: a, ${good} } ]`,
      ["rate_limits.models[0].name is not a known key; did you mean model?"],
    ],
    [
      "models: [ { model: a, limits: [ 5 ] } ]",
      [
        "rate_limits.models[0].limits[0] must be a mapping of period, period_seconds, models, when, mode, max_requests, max_tokens, max_input_tokens, max_output_tokens, max_cost, max_tool_calls, max_enqueued_tokens, token_weights, host_only, on_exhausted, hold, shares, loops, not 5",
      ],
    ],
  ] as const) {
    t.same(refused(`rate_limits: { ${entry} }\n`), problems, entry);
  }
});

t.test("everything wrong with a limit is reported with its place", async (t) => {
  const at = "rate_limits.user_paths[0].limits[1]";
  const good = '{ period: "7", max_requests: 1 }';
  const expected = "must be minute, hour, day, concurrent or a number of seconds";
  for (const [limit, problems] of [
    ["period: minute, max_requests: 0", [`${at}.max_requests must be greater than 0, not 0`]],
    [
      "period: minute, max_requests: 0, max_tokens: 5, models: [o3]",
      [`${at}.max_tokens can't be combined with max_requests 0, which allows no request`],
    ],
    [
      "period: minute, max_requests: -3, max_tokens: 1.5",
      [
        `${at}.max_requests must be greater than 0, not -3`,
        `${at}.max_tokens must be an integer from 1 to 9007199254740991, not 1.5`,
      ],
    ],
    [
      "period: minute, max_requests: many",
      [`${at}.max_requests must be an integer from 1 to 9007199254740991, not "many"`],
    ],
    [
      "period: minute, max_requests: 9007199254740992",
      [`${at}.max_requests must be an integer from 1 to 9007199254740991, not 9007199254740992`],
    ],
    ["period: fortnight, max_requests: 1", [`${at}.period ${expected}, not "fortnight"`]],
    [
      "period: 60, max_requests: 1",
      [`${at}.period ${expected}, not 60: give a number as ${at}.period_seconds`],
    ],
    [
      "period: day, period_seconds: 5, max_requests: 1",
      [`${at}.period and ${at}.period_seconds exclude each other: give exactly one`],
    ],
    ["max_requests: 1", [`${at}.period or ${at}.period_seconds is required`]],
    [
      "period: day",
      [
        `${at}.max_requests is required, or another cap: max_tokens, max_input_tokens, max_output_tokens, max_cost or max_tool_calls`,
      ],
    ],
    [
      "period: concurrent, max_tokens: 1",
      [`${at}.max_tokens can't be combined with the period concurrent`],
    ],
    [
      "period_seconds: -1, max_requests: 1",
      [`${at}.period_seconds must be an integer from 0 (concurrent) to 3153600000, not -1`],
    ],
    [
      "period: day, max_request: 1, max_tokens: 1",
      [`${at}.max_request is not a known key; did you mean max_requests?`],
    ],
  ] as const) {
    t.same(
      refused(`rate_limits: { user_paths: [ { path: /a, limits: [${good}, { ${limit} }] } ] }\n`),
      problems,
      limit,
    );
  }
});

t.test("the line of a limit is its own, of an alias where that is, of budgets too", async (t) => {
  const text = `
budgets:
  user_paths:
    - path: /team
      limits:
        - &month
          period: monthly
          amount: 5
        - { period: daily,
            amount: 1 }
    - { path: /other, limits: [ *month ] }
rate_limits:
  user_paths:
    # Twice as many as before.
    - path: /team
      limits:

        - period: minute
          max_requests: 1
        - max_requests: 2
          period: hour
`;
  const { rateLimits, budgets } = accepted(text).config;
  t.same(rateLimits.declaredAt.map(declaredLine), [18, 20]);
  t.same(budgets.declaredAt.map(declaredLine), [7, 9, 11]);
});

t.test("property: a place says its entry, its limit and its line", async (t) => {
  const where = { file: "/f", section: "rate_limits", scope: "model" };
  fc.assert(
    fc.property(
      fc.nat(2 ** 21 - 1),
      fc.nat(999),
      fc.integer({ min: 1, max: 2 ** 22 - 1 }),
      (entry, limit, line) => {
        const at = placeInFile(entry, limit, line);
        t.equal(Number.isSafeInteger(at), true);
        t.equal(declaredLine(at), line);
        t.equal(declaredAtText(at, where), `/f: rate_limits.models[${entry}].limits[${limit}]`);
      },
    ),
    { numRuns: 200 },
  );
  t.equal(declaredLine(placeInFile(3, 1, 2 ** 22)), null, "too far down");
  t.equal(declaredLine("SET_RATE_LIMIT_TEAM"), null);
});

t.test("a limit that goes on to a model which doesn't exist stops the start", async (t) => {
  const models = `
providers: { openai: { api_key: k, models: [gpt-4o] } }
virtual_models: { cheap: { targets: [{ model: openai/gpt-4o }] } }
`;
  const limit = (more: string, use: string): string =>
    `[{ path: /team, limits: [{ ${more}, on_exhausted: { use: ${use} } }] }]`;
  const text = (ruleUse: string, budgetUse: string): string => `
rate_limits: { user_paths: ${limit("period: day, max_requests: 1", ruleUse)} }
budgets: { user_paths: ${limit("period: daily, amount: 1", budgetUse)} }
`;
  const variable = (use: string): string =>
    `[{"period":"day","max_requests":1,"on_exhausted":{"use":"${use}"}}]`;
  const of = "on_exhausted.use must be a model that exists, such as cheap, openai/gpt-4o, not";
  t.same(refused(models + text("nope", "cheep"), { env: { SET_RATE_LIMIT_A: variable("nope") } }), [
    `rate_limits.user_paths[0].limits[0].${of} "nope"`,
    `budgets.user_paths[0].limits[0].${of} "cheep"; did you mean cheap?`,
    `SET_RATE_LIMIT_A[0].${of} "nope"`,
  ]);
  const env = { SET_RATE_LIMIT_A: variable("cheap") };
  t.same(accepted(models + text("cheap", "openai/o3"), { env }).warnings, []);
  // Any model may be one of its.
  t.same(accepted(`providers: { openai: { api_key: k } }\n${text("nope", "nope")}`).warnings, []);
  const broken = "providers: { openai: { api_key: k, models: [a] }, b: { base_url: 5 } }";
  for (const others of [
    broken,
    `${models}aliases: { house: nowhere/x }`,
    "providers: { b: { base_url: http://b, models: [a] } }\nvirtual_models: { house: { strategy: x, targets: [{ model: b/a }] } }",
  ])
    t.equal(refused(`${others}\n${text("house", "b-1")}`).length, 1, "no further problem");
});
