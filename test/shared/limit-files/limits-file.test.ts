/** Files of limits: what is written is read back, and what is wrong has its place. */
import fc from "fast-check";
import t from "tap";
import { problemLine } from "../../../shared/config/problems.js";
import {
  type BudgetDefinition,
  compareBudgets,
  parseBudgetWrite,
} from "../../../shared/domain/budget.js";
import { compareRules, parseRuleWrite, type RuleDefinition } from "../../../shared/domain/rule.js";
import { readLimitsFile } from "../../../shared/limit-files/read-limits-file.js";
import { writeLimitsFile } from "../../../shared/limit-files/write-limits-file.js";
import { exactly } from "../../support/patterns/exactly.js";
import { anyBudgets, anyRules } from "./any-limits.js";

const env = { TEAM: "/from-the-environment" };

function read(text: string): ReturnType<typeof readLimitsFile> {
  return readLimitsFile({ file: "limits.yaml", text, env });
}

t.test("what is written is read back, whatever the names hold, and it is one text", async (t) => {
  fc.assert(
    fc.property(anyRules, anyBudgets, fc.boolean(), (rules, budgets, hasBudgets) => {
      const text = writeLimitsFile({ rules, budgets: hasBudgets ? budgets : null });
      const file = read(text);
      if (!file.ok) throw new Error(`${file.problems.map(problemLine).join("\n")}\n${text}`);
      t.same([...file.rules!].sort(compareRules), [...rules].sort(compareRules));
      t.same(
        file.budgets === null ? null : [...file.budgets].sort(compareBudgets),
        hasBudgets ? [...budgets].sort(compareBudgets) : null,
      );
      t.equal(writeLimitsFile({ rules: file.rules, budgets: file.budgets }), text);
    }),
    { numRuns: 100 },
  );
});

const entitled = { perChildEntitled: true };

function rule(body: object): RuleDefinition {
  const parsed = parseRuleWrite(body, entitled);
  if (!parsed.ok) throw new Error(parsed.failure.message);
  return parsed.value;
}

function budget(body: object): BudgetDefinition {
  const parsed = parseBudgetWrite(body, entitled);
  if (!parsed.ok) throw new Error(parsed.failure.message);
  return parsed.value;
}

t.test("a file is as a person would write the sections of a configuration", async (t) => {
  const limitKey = (period: string): object => ({ limit_key: { period } });
  const text = writeLimitsFile({
    rules: [
      rule({ scope: "model", subject: "no", ...limitKey("300"), max_requests: 5 }),
      rule({ subject: "/team", ...limitKey("minute"), max_requests: 9, max_tokens: 100 }),
      rule({ subject: "/team", ...limitKey("concurrent"), max_requests: 2 }),
      rule({ subject: "/a b", ...limitKey("day"), max_tokens: 1, per_child: true }),
    ],
    budgets: [
      budget({ scope: "label", subject: "7", budget_key: { period: "monthly" }, amount: 20 }),
    ],
  });
  t.equal(
    text,
    `# Written by sluice limits export, read by sluice limits apply.

rate_limits:
  user_paths:
    - path: "/a b"
      per_child: true
      limits:
        - { period: day, max_tokens: 1 }
    - path: /team
      limits:
        - { period: concurrent, max_requests: 2 }
        - { period: minute, max_requests: 9, max_tokens: 100 }
  models:
    - model: "no"
      limits:
        - { period_seconds: 300, max_requests: 5 }

budgets:
  labels:
    - label: "7"
      limits:
        - { period: monthly, amount: 20 }
`.replace('model: "no"', "model: no"),
  );
  t.equal(
    writeLimitsFile({ rules: [], budgets: null }).split("\n").at(-2),
    "rate_limits: {}",
    "none is said, and not left out",
  );
});

t.test("a name that a reviewer wouldn't see is escaped", async (t) => {
  const hidden = rule({
    subject: "/team\u202e/\u200bapp",
    limit_key: { period: "day" },
    max_requests: 1,
  });
  t.match(writeLimitsFile({ rules: [hidden], budgets: null }), String.raw`"/team\u202e/\u200bapp"`);
});

t.test("keys and denied JWTs are read back, a field on each line", async (t) => {
  const keys = [
    {
      hash: "4".repeat(43),
      redacted: "sk-sluice-w5nQ…",
      name: "no",
      userPath: "/team/app",
      labels: ["ci", "7"],
      models: ["openai/*", "!gpt-4o"],
      expiresAtMs: Date.UTC(2030, 0, 1),
    },
    {
      hash: "5".repeat(43),
      redacted: "…",
      name: "${HOME}\u202e",
      userPath: null,
      labels: [],
      models: null,
      expiresAtMs: null,
    },
  ];
  const denials = [
    { claim: "sub", value: "system:serviceaccount:a:b", issuer: null, expiresAtMs: null },
    {
      claim: "jti",
      value: "0x10",
      issuer: "https://a.example/",
      expiresAtMs: Date.UTC(2030, 0, 1),
    },
  ] as const;
  const text = writeLimitsFile({ rules: null, budgets: null, keys, denials });
  t.match(
    text,
    `keys:
  - name: "$\${HOME}\\u202e"
    redacted_value: "…"
    hash: "5555555555555555555555555555555555555555555"
  - name: "no"
    user_path: /team/app
    labels: [ci, "7"]
    models: ["openai/*", "!gpt-4o"]
    expires_at: "2030-01-01T00:00:00Z"
    redacted_value: "sk-sluice-w5nQ…"
    hash: "4444444444444444444444444444444444444444444"

denied_jwts:
  - jti: "0x10"
    issuer: "https://a.example/"
    expires_at: "2030-01-01T00:00:00Z"
  - sub: "system:serviceaccount:a:b"
`.replace('"no"', "no"),
  );
  t.match(read(text), exactly({ keys: [...keys].reverse(), denials: [...denials].reverse() }));
  const empty = writeLimitsFile({ rules: null, budgets: null, keys: [], denials: [] });
  t.match(empty, /^keys: \[\]$[^]*^denied_jwts: \[\]$/m);
  t.match(read(empty), exactly({ rules: null, keys: [], denials: [] }));
});

const wrong: readonly (readonly [name: string, text: string, problems: readonly string[]])[] = [
  [
    "an empty file",
    "",
    ["limits.yaml: the file has none of rate_limits, budgets, keys, denied_jwts"],
  ],
  [
    "a list without a value, which would be no keys",
    "keys:\n",
    ["limits.yaml:1:1: keys must be a list; [] for none, not null"],
  ],
  [
    "keys and denied JWTs with mistakes, each in its place",
    `keys:
  - { hash: no hash, user_path: /a }
  - user_path: /a
  - hash: QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ
    user_path: a:b
  - hash: QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ
    path: /a
  - { hash: RRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRR }
  - { hash: RRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRR }
denied_jwts:
  - { sub: a, jti: b }
  - { sub: a, expires_at: tomorrow }
`,
    [
      /^limits\.yaml:2:7: keys\[0\]\.hash must be the SHA-256 of a key/,
      /^limits\.yaml:3:5: keys\[1\]: hash is required/,
      /^limits\.yaml:5:5: keys\[2\]\.user_path /,
      /^limits\.yaml:7:5: keys\[3\]\.path is not a known key/,
      /^limits\.yaml:9:\d: keys\[5\] says the same as keys\[4\]: keep one of them$/,
      /^limits\.yaml:11:\d+: denied_jwts\[0\]\.?.*exactly one of jti and sub is required$/,
      /^limits\.yaml:12:\d+: denied_jwts\[1\]\.expires_at must be an RFC 3339 timestamp/,
    ] as unknown as readonly string[],
  ],
  [
    "a section without a value, which would be no limits",
    "budgets:\n",
    [
      "limits.yaml:1:1: budgets must be a mapping of user_paths, labels, providers, models; {} for none",
    ],
  ],
  [
    "a whole configuration",
    "server: { port: 1 }\nrate_limits: {}\n",
    [
      "limits.yaml:1:1: server is not a known key: expected rate_limits, budgets, keys, denied_jwts",
    ],
  ],
  [
    "settings of a section",
    "rate_limits:\n  enabled: true\n",
    [
      "limits.yaml:2:3: rate_limits.enabled is not a known key: expected user_paths, providers, models",
    ],
  ],
  [
    "several mistakes, each in its place",
    `rate_limits:
  user_paths:
    - path: /team
      limits:
        - { period: minute, max_requests: 200k }
        - { period: monthly, max_requests: 2 }
budgets:
  labels:
    - lable: x
      limits: [{ period: daily, amount: 0 }]
`,
    [
      'limits.yaml:5:29: rate_limits.user_paths[0].limits[0].max_requests must be an integer from 1 to 9007199254740991, not "200k": write 200000',
      /^limits\.yaml:6:13: rate_limits\.user_paths\[0\]\.limits\[1\]\.period must be /,
      /^limits\.yaml:9:7: budgets\.labels\[0\]\.lable is not a known key; did you mean label\?/,
      /^limits\.yaml:10:\d+: budgets\.labels\[0\]\.limits\[0\]\.amount /,
    ] as unknown as readonly string[],
  ],
  [
    "the same rule twice",
    `rate_limits:
  user_paths:
    - { path: /a, limits: [{ period: day, max_requests: 1 }] }
    - { path: /a/, limits: [{ period_seconds: 86400, max_requests: 2 }] }
`,
    [
      "limits.yaml:4:29: rate_limits.user_paths[1].limits[0] declares the same rule as rate_limits.user_paths[0].limits[0] (/a day): keep one of them",
    ],
  ],
  ["no YAML", "rate_limits: [\n", [/^limits\.yaml:\d+:\d+: /] as unknown as readonly string[]],
  [
    "a variable that isn't set",
    'budgets: { labels: [{ label: "${NOWHERE}", limits: [{ period: daily, amount: 1 }] }] }\n',
    [
      "limits.yaml:1:23: budgets.labels[0].label needs the environment variable NOWHERE, which isn't set",
    ],
  ],
];

for (const [name, text, expected] of wrong)
  t.test(`${name} is refused with line and column`, async (t) => {
    const file = read(text);
    t.match(file.ok ? [] : file.problems.map(problemLine), expected);
  });

t.test(
  "variables are replaced as in the configuration, and a text that looks like one is written so that it stays",
  async (t) => {
    const file = read(
      'rate_limits: { user_paths: [{ path: "${TEAM}", limits: [{ period: day, max_requests: 1 }] }] }',
    );
    t.match(file, exactly({ rules: [{ subject: "/from-the-environment" }], budgets: null }));
    t.same(file.ok && file.ruleAt, ["rate_limits.user_paths[0].limits[0]"]);
    for (const subject of [
      "$MY_TEAM",
      "$$MY_TEAM",
      " $TEAM ",
      "$TEAM",
      "${TEAM}",
      "$$${TEAM}",
      "$",
    ]) {
      const shell = budget({
        scope: "label",
        subject,
        budget_key: { period: "daily" },
        amount: 1,
      });
      const again = read(writeLimitsFile({ rules: null, budgets: [shell] }));
      t.match(again, exactly({ ok: true, budgets: [{ subject: shell.subject }] }), subject);
    }
  },
);
