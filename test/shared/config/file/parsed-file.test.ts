import fc from "fast-check";
import t from "tap";
import { buildConfig } from "../../../../shared/config/build/build-config.js";
import {
  type ParsedFile,
  packParsed,
  unpackParsed,
} from "../../../../shared/config/file/parsed-file.js";
import { type RuleDefinition, scopes } from "../../../../shared/domain/rule.js";

const path = "/srv/sluice.yaml";
const others = { flags: {}, cwd: "/srv", uid: 1000 };

/** What a start does: with the text, then with what that start has kept. */
function twice(text: string, env: Record<string, string> = {}, laterEnv = env) {
  const first = buildConfig({ file: { path, text }, env, ...others });
  if (!first.ok) throw new Error(JSON.stringify(first.problems));
  const { parsed } = first;
  const kept = parsed === null ? null : unpackParsed(packParsed(parsed));
  const again =
    kept === null ? null : buildConfig({ file: { path, parsed: kept }, env: laterEnv, ...others });
  return {
    first,
    kept,
    again,
    anew: buildConfig({ file: { path, text }, env: laterEnv, ...others }),
  };
}

const secrets = `
server: { master_key: "\${KEY}", port: 0 }
providers: { openai: { api_key: literal-secret }, local: { type: simulator } }
entitlements: [quota_templates]
`;
const rules = `
rate_limits:
  flush_interval: 3
  user_paths:
    - { path: /team/App, per_child: true, limits: [{ period: day, max_requests: 7, max_tokens: "9" }] }
    - path: /
      limits: [{ period: concurrent, max_requests: 3 }, { period_seconds: 300, max_tokens: 5 }]
  models: [{ model: GPT-4o, limits: [{ period: minute, max_requests: 1 }] }]
  providers: [{ name: Gone, limits: [{ period: hour, max_tokens: 1, host_only: true }] }]
budgets: { user_paths: [{ path: /team, limits: [{ period: monthly, amount: "\${AMOUNT}" }] }] }
`;

t.test("what is kept of a file makes the same configuration as the file", (t) => {
  for (const [name, text] of [
    ["rules of all kinds", secrets + rules],
    ["no rules", `${secrets}budgets: {}`],
    ["an empty section", `${secrets}rate_limits:\n`],
    [
      "JSON",
      '{"rate_limits":{"models":[{"model":"m","limits":[{"period_seconds":60,"max_tokens":1}]}]}}',
    ],
    [
      "anchors",
      "rate_limits: { models: [{ model: m, limits: &a [{ period: day, max_tokens: 1 }] }], providers: [{ name: p, limits: *a }] }",
    ],
    ["nothing", ""],
  ] as const) {
    const { again, anew } = twice(text, { KEY: "k", AMOUNT: "5", OPENAI_API_KEY: "x" });
    t.same(again, anew, name);
  }
  t.end();
});

t.test("what the file doesn't decide is decided anew: variables, replaced rules, defaults", (t) => {
  const env = { KEY: "first", AMOUNT: "5" };
  for (const later of [
    { KEY: "second", AMOUNT: "6", PORT: "9" },
    { ...env, SET_RATE_LIMIT_TEAM__APP: "rpm=2" },
    { ...env, USAGE_ENABLED: "false" },
    { ...env, RATE_LIMITS_ENABLED: "false" },
  ]) {
    const { again, anew } = twice(secrets + rules, env, later);
    t.ok(anew.ok, JSON.stringify(anew));
    t.same(again, anew, JSON.stringify(later));
  }
  t.end();
});

t.test("what was valid with other variables is found invalid, too", (t) => {
  const text = `entitlements: "\${WHICH}"\n${rules.replace("${AMOUNT}", "5")}`;
  for (const later of [{ WHICH: "" }, {}] as Record<string, string>[]) {
    const { again, anew } = twice(text, { WHICH: "quota_templates" }, later);
    t.notOk(anew.ok);
    t.notOk(again?.ok);
  }
  t.end();
});

t.test(
  "rules that depend on variables aren't kept, and neither are those that look like it",
  (t) => {
    for (const path of ["/${TEAM}", "/a$${b}"])
      t.equal(
        twice(
          `rate_limits: { user_paths: [{ path: "${path}", limits: [{ period: day, max_tokens: 1 }] }] }`,
          { TEAM: "x" },
        ).kept,
        null,
        path,
      );
    t.end();
  },
);

t.test("the document that is kept lacks the rules, and has no variable's value", (t) => {
  const { kept } = twice(secrets + rules, { KEY: "value-of-key", AMOUNT: "5" });
  const text = JSON.stringify(kept!.document);
  t.notMatch(text, /App|GPT|value-of-key/);
  t.match(text, /flush_interval/);
  t.match(text, /\$\{KEY\}/);
  t.end();
});

const rule: fc.Arbitrary<RuleDefinition> = fc.record(
  {
    scope: fc.constantFrom(...scopes),
    subject: fc.string({ unit: "binary" }),
    periodSeconds: fc.nat(),
    maxRequests: fc.option(fc.maxSafeNat()),
    maxTokens: fc.option(fc.maxSafeNat()),
    perChild: fc.boolean(),
  },
  { noNullPrototype: true },
);

t.test("property: rules and documents come back as they were packed", (t) => {
  fc.assert(
    fc.property(
      fc.record({
        document: fc.jsonValue({ noUnicodeString: false }),
        rules: fc.array(rule),
        declaredAt: fc.array(fc.nat()),
        budgetsAt: fc.array(fc.nat()),
      }),
      (parsed: ParsedFile) => {
        const text = packParsed(parsed);
        t.equal(packParsed(unpackParsed(text)), text);
        t.strictSame(unpackParsed(text).rules, parsed.rules);
        t.strictSame(unpackParsed(text).declaredAt, parsed.declaredAt);
        t.strictSame(unpackParsed(text).budgetsAt, parsed.budgetsAt);
      },
    ),
    { numRuns: 200 },
  );
  t.end();
});
