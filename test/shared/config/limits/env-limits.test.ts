import fc from "fast-check";
import t from "tap";
import {
  type EnvLimits,
  pathOfSuffix,
  readEnvLimits,
} from "../../../../shared/config/limits/env-limits.js";
import { type RuleLimit, ruleForm } from "../../../../shared/config/limits/rule-limits.js";
import type { RuleDefinition, Scope } from "../../../../shared/domain/rule.js";
import { isNormalUserPath, normalizeUserPath } from "../../../../shared/domain/user-path.js";
import { exactly } from "../../../support/patterns/exactly.js";

function read(
  env: Record<string, string | undefined>,
  perChildEntitled = false,
): {
  readonly entries: readonly EnvLimits<Scope, RuleLimit>[];
  readonly problems: readonly string[];
} {
  const problems: string[] = [];
  return { entries: readEnvLimits(ruleForm, env, { perChildEntitled }, problems), problems };
}

t.test("the suffix of a variable names the user path", async (t) => {
  for (const [name, path] of [
    ["SET_RATE_LIMIT_", "/"],
    ["SET_RATE_LIMIT_TEAM", "/team"],
    ["SET_RATE_LIMIT_TEAM__ALPHA", "/team/alpha"],
    ["SET_RATE_LIMIT_USER_123", "/user_123"],
    ["SET_RATE_LIMIT___TEAM____A__", "/team/a"],
    ["SET_RATE_LIMIT_A___B", "/a/_b"],
    ["SET_RATE_LIMIT_k8s__My-App", "/k8s/my-app"],
  ] as const) {
    t.same(
      read({ [name]: "rpm=1" }),
      {
        problems: [],
        entries: [
          {
            variable: name,
            scope: "user_path",
            subject: path,
            limits: [
              {
                scope: "user_path",
                subject: path,
                periodSeconds: 60,
                maxRequests: 1,
                maxTokens: null,
                perChild: false,
              },
            ],
          },
        ],
      },
      name,
    );
  }
});

t.test(
  "the suffix of a provider variable names the provider, with hyphens for underscores",
  async (t) => {
    t.same(read({ SET_PROVIDER_RATE_LIMIT_MY_LLM: "rpm=1,concurrent=2" }), {
      problems: [],
      entries: [
        {
          variable: "SET_PROVIDER_RATE_LIMIT_MY_LLM",
          scope: "provider",
          subject: "my-llm",
          limits: [
            {
              scope: "provider",
              subject: "my-llm",
              periodSeconds: 0,
              maxRequests: 2,
              maxTokens: null,
              perChild: false,
            },
            {
              scope: "provider",
              subject: "my-llm",
              periodSeconds: 60,
              maxRequests: 1,
              maxTokens: null,
              perChild: false,
            },
          ],
        },
      ],
    });
  },
);

t.test("a blank value and an unset variable are no rule", async (t) => {
  t.same(
    read({
      SET_RATE_LIMIT_A: "",
      SET_RATE_LIMIT_B: " \n",
      SET_PROVIDER_RATE_LIMIT_: undefined,
      SET_RATE_LIMIT: "rpm=1",
      PATH: "/bin",
    }),
    { entries: [], problems: [] },
  );
});

t.test("a JSON array gives periods by name or in seconds, both caps and per_child", async (t) => {
  const value = JSON.stringify([
    { period: "Hour", max_requests: 5 },
    { period_seconds: 300, max_tokens: 9, per_child: false },
    { period: "concurrent", max_requests: 2, per_child: true },
  ]);
  const { entries, problems } = read({ SET_RATE_LIMIT_TEAM: ` ${value}\n` }, true);
  t.same(problems, []);
  const rule = (
    periodSeconds: number,
    maxRequests: number | null,
    maxTokens: number | null,
    perChild: boolean,
  ): RuleDefinition => ({
    scope: "user_path",
    subject: "/team",
    periodSeconds,
    maxRequests,
    maxTokens,
    perChild,
  });
  t.same(entries[0]?.limits, [
    rule(3600, 5, null, false),
    rule(300, null, 9, false),
    rule(0, 2, null, true),
  ]);
});

t.test("mappings in a JSON array may be texts, as in a file", async (t) => {
  const value = JSON.stringify([
    { period: "concurrent", max_requests: 8, loops: "warn_after=7" },
    { period: "minute", max_tokens: 9, token_weights: "cached=0.1", shares: "a: weight=3" },
  ]);
  const { entries, problems } = read({ SET_RATE_LIMIT_TEAM: value });
  t.same(problems, []);
  t.match(
    entries[0]?.limits,
    exactly([
      { maxRequests: 8, loops: { warn_after: 7, refuse_after: 0, compare_results: true } },
      { tokenWeights: { cached: 0.1 }, childShares: { children: { a: { weight: 3 } } } },
    ]),
  );
  t.match(
    read({ SET_RATE_LIMIT_A: value.replace("warn_after=7", "often") }).problems,
    exactly([/^SET_RATE_LIMIT_A\[0\].loops must be a mapping of .*, not "often"$/]),
  );
});

t.test("an empty JSON array is an entry without rules, which removes the file's", async (t) => {
  t.same(read({ SET_RATE_LIMIT_TEAM: "[]" }).entries, [
    { variable: "SET_RATE_LIMIT_TEAM", scope: "user_path", subject: "/team", limits: [] },
  ]);
});

t.test("a wrong variable is reported with its name", async (t) => {
  for (const [name, value, problem] of [
    [
      "SET_RATE_LIMIT_A",
      "rpm=x",
      'SET_RATE_LIMIT_A: rpm must be an integer from 1 to 9007199254740991, not "x"',
    ],
    [
      "SET_RATE_LIMIT_A",
      '{"period":"minute"}',
      'SET_RATE_LIMIT_A must be a JSON array of rules, not {"period":"minute"}',
    ],
    [
      "SET_RATE_LIMIT_A",
      '[{"period":"minute","max_requests":1,"models":"gpt-4o"}]',
      'SET_RATE_LIMIT_A[0].models must be a list of 1 to 64 names of models, not "gpt-4o"',
    ],
    [
      "SET_RATE_LIMIT_A",
      '[{"period":"minute","max_requests":1,"models":["b","a"]},{"period_seconds":60,"max_requests":2,"models":["A","b"]}]',
      "SET_RATE_LIMIT_A[1] declares the same rule as SET_RATE_LIMIT_A[0] (/a on a, b minute): keep one of them",
    ],
    [
      "SET_PROVIDER_RATE_LIMIT_A",
      '[{"period":"minute","max_requests":1,"models":["b"]}]',
      "SET_PROVIDER_RATE_LIMIT_A[0].models is for user-path rules only",
    ],
    [
      "SET_RATE_LIMIT_A",
      "[5]",
      "SET_RATE_LIMIT_A[0] must be a mapping of period, period_seconds, models, when, mode, max_requests, max_tokens, max_input_tokens, max_output_tokens, max_cost, max_tool_calls, max_enqueued_tokens, token_weights, host_only, on_exhausted, hold, shares, loops, per_child, not 5",
    ],
    [
      "SET_RATE_LIMIT_A",
      '[{"period":"minute","max_request":1,"max_tokens":1}]',
      "SET_RATE_LIMIT_A[0].max_request is not a known key; did you mean max_requests?",
    ],
    [
      "SET_RATE_LIMIT_A",
      '[{"period":"fortnight","max_tokens":1}]',
      'SET_RATE_LIMIT_A[0].period must be minute, hour, day, concurrent or a number of seconds, not "fortnight"',
    ],
    [
      "SET_RATE_LIMIT_A",
      '[{"period":"minute","period_seconds":60,"max_tokens":1}]',
      "SET_RATE_LIMIT_A[0].period and SET_RATE_LIMIT_A[0].period_seconds exclude each other: give exactly one",
    ],
    [
      "SET_RATE_LIMIT_A",
      '[{"period":"concurrent","max_tokens":1}]',
      "SET_RATE_LIMIT_A[0].max_tokens can't be combined with the period concurrent",
    ],
    [
      "SET_RATE_LIMIT_A",
      '[{"period":"minute"}]',
      "SET_RATE_LIMIT_A[0].max_requests is required, or another cap: max_tokens, max_input_tokens, max_output_tokens, max_cost or max_tool_calls",
    ],
    [
      "SET_RATE_LIMIT_A",
      '[{"period":"minute","max_tokens":"5"}]',
      'SET_RATE_LIMIT_A[0].max_tokens must be an integer from 1 to 9007199254740991, not "5"',
    ],
    [
      "SET_RATE_LIMIT_A",
      '[{"period":"minute","max_tokens":1,"per_child":"yes"}]',
      'SET_RATE_LIMIT_A[0].per_child must be true or false, not "yes"',
    ],
    [
      "SET_RATE_LIMIT_A",
      '[{"period":"minute","max_tokens":1,"per_child":true}]',
      "SET_RATE_LIMIT_A[0]: per_child on /a requires the entitlement quota_templates: add the line entitlements: [quota_templates]",
    ],
    [
      "SET_RATE_LIMIT_A",
      '[{"period":"minute","max_tokens":1},{"period":"60","max_requests":1}]',
      "SET_RATE_LIMIT_A[1] declares the same rule as SET_RATE_LIMIT_A[0] (/a minute): keep one of them",
    ],
    [
      "SET_RATE_LIMIT_A:B",
      "rpm=1",
      'the path in SET_RATE_LIMIT_A:B must not hold a colon or a control character, as "/a:b" does',
    ],
    [
      "SET_PROVIDER_RATE_LIMIT_",
      "rpm=1",
      "the provider's name in SET_PROVIDER_RATE_LIMIT_ is required for the scope provider",
    ],
    [
      "SET_PROVIDER_RATE_LIMIT_P",
      '[{"period":"minute","max_tokens":1,"per_child":true}]',
      "SET_PROVIDER_RATE_LIMIT_P[0].per_child is for user-path rules only",
    ],
  ] as const) {
    t.same(read({ [name]: value }).problems, [problem], `${name}=${value}`);
  }
});

t.test("text after the JSON array is a problem, and so is an array that doesn't end", async (t) => {
  for (const value of [
    '[{"period":"minute","max_requests":1}] rpm=5',
    '[{"period":"minute"',
    "[rpm=5]",
  ]) {
    const { problems, entries } = read({ SET_RATE_LIMIT_A: value });
    t.match(
      problems,
      exactly([
        /^SET_RATE_LIMIT_A must be a list of pairs such as rpm=100 or a JSON array of rules, and nothing else: /,
      ]),
      value,
    );
    t.same(
      entries.flatMap(({ limits }) => limits),
      [],
      value,
    );
  }
});

t.test("both caps of one limit are reported if both are wrong", async (t) => {
  t.same(read({ SET_RATE_LIMIT_A: '[{"period":"x","max_requests":0,"max_tokens":-1}]' }).problems, [
    'SET_RATE_LIMIT_A[0].period must be minute, hour, day, concurrent or a number of seconds, not "x"',
    "SET_RATE_LIMIT_A[0].max_requests must be greater than 0, not 0",
    "SET_RATE_LIMIT_A[0].max_tokens must be greater than 0, not -1",
  ]);
});

t.test("two variables for one subject are a problem that names both", async (t) => {
  t.same(read({ SET_RATE_LIMIT_TEAM: "rpm=1", SET_RATE_LIMIT_team: "rpm=2" }).problems, [
    "SET_RATE_LIMIT_team and SET_RATE_LIMIT_TEAM are both for /team: keep one of them",
  ]);
  t.same(
    read({ SET_PROVIDER_RATE_LIMIT_A_B: "rpm=1", "SET_PROVIDER_RATE_LIMIT_A-B": "rpm=2" }).problems
      .length,
    1,
  );
});

t.test(
  "every suffix gives a normalized path or an error, and a path of plain segments survives the round trip",
  async () => {
    const segment = fc
      .stringMatching(/^[a-z0-9]([a-z0-9_-]{0,8}[a-z0-9])?$/)
      .filter((text) => !text.includes("__"));
    fc.assert(
      fc.property(
        fc.array(segment, { maxLength: 6 }),
        (segments) => pathOfSuffix(segments.join("__").toUpperCase()) === `/${segments.join("/")}`,
      ),
    );
    fc.assert(
      fc.property(fc.string(), (suffix) => {
        const path = normalizeUserPath(pathOfSuffix(suffix));
        return !path.ok || isNormalUserPath(path.path);
      }),
    );
  },
);

t.test("no value makes the reader throw", async () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc
          .array(
            fc.dictionary(
              fc.constantFrom(
                "period",
                "period_seconds",
                "max_requests",
                "max_tokens",
                "per_child",
              ),
              fc.jsonValue(),
            ),
          )
          .map((rules) => JSON.stringify(rules)),
      ),
      (value) =>
        Array.isArray(read({ SET_RATE_LIMIT_X: value, SET_PROVIDER_RATE_LIMIT_Y: value }).problems),
    ),
  );
});

t.test("caps on unfinished batches are for user paths", async (t) => {
  t.match(read({ SET_RATE_LIMIT_TEAM: "enqueued=5, concurrent=2" }), {
    problems: exactly([]),
    entries: exactly([
      { limits: exactly([{ maxRequests: 2, measureCaps: { enqueued_tokens: 5 } }]) },
    ]),
  });
  t.match(read({ SET_PROVIDER_RATE_LIMIT_OPENAI: "enqueued=5" }), {
    problems: exactly(["SET_PROVIDER_RATE_LIMIT_OPENAI: enqueued is for user-path rules only"]),
  });
  const json = '[{"period":"concurrent","max_enqueued_tokens":5}]';
  t.match(read({ SET_PROVIDER_RATE_LIMIT_OPENAI: json }), {
    problems: exactly([
      "SET_PROVIDER_RATE_LIMIT_OPENAI[0].max_enqueued_tokens is for user-path rules only",
    ]),
  });
});
