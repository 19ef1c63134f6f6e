import fc from "fast-check";
import t from "tap";
import { periodSecondsMax, subjectBytesMax } from "../../../shared/bounds.js";
import { type Checked, parseConfirmation, show } from "../../../shared/checked.js";
import { parsePeriod } from "../../../shared/domain/limit-key.js";
import {
  compareRules,
  declaredPlace,
  effectiveSubject,
  namesProvider,
  parseCaps,
  parseRuleKey,
  parseRuleResetOne,
  parseRuleValues,
  parseRuleWrite,
  parseSubject,
  periodLabel,
  type RuleKey,
  ruleGrammar,
  ruleId,
  scopes,
} from "../../../shared/domain/rule.js";

/** The value, or `param: message` of the failure. */
function read<T>(checked: Checked<T>): T | string {
  return checked.ok ? checked.value : `${checked.failure.param}: ${checked.failure.message}`;
}

const periodOf = (fields: Readonly<Record<string, unknown>>, at = ""): Checked<number> =>
  parsePeriod(ruleGrammar, fields, at);
const entitled = { perChildEntitled: true };
const minute = { limit_key: { period: "minute" }, max_requests: 1 };

t.test("a period has names, in any case, or is a number of seconds in a text", async (t) => {
  const table: readonly (readonly [seconds: number, names: readonly string[]])[] = [
    [60, ["minute", "minutes", "min", "minutely", "MINUTE", "  Min  ", "60", "060"]],
    [3600, ["hour", "hours", "hourly", "Hour", "3600"]],
    [86_400, ["day", "days", "daily", "DAILY", "86400"]],
    [0, ["concurrent", "concurrency", "Concurrent", "0"]],
    [1, ["1"]],
    [300, ["300", " 300 "]],
    [periodSecondsMax, [String(periodSecondsMax)]],
  ];
  for (const [seconds, names] of table)
    for (const name of names)
      t.equal(read(periodOf({ period: name })), seconds, JSON.stringify(name));
});

t.test("what isn't a period is refused with the field's name", async (t) => {
  for (const period of [
    "",
    " ",
    "week",
    "weekly",
    "month",
    "-1",
    "1.5",
    "1e3",
    "60s",
    "0x10",
    "seconds",
    "constructor",
    "__proto__",
    "9".repeat(13),
    String(periodSecondsMax + 1),
    60,
    0,
    true,
    {},
    ["minute"],
  ]) {
    t.match(
      read(periodOf({ period }, "limit_key.")),
      /^limit_key\.period: limit_key\.period must be /,
      JSON.stringify(period),
    );
  }
});

t.test("a number in place of a name is reported with its field", async (t) => {
  t.equal(
    read(periodOf({ period: 60 }, "limit_key.")),
    "limit_key.period: limit_key.period must be minute, hour, day, concurrent or a number of " +
      "seconds, not 60: give a number as limit_key.period_seconds",
  );
});

t.test("seconds are an integer from 0 to a hundred years", async (t) => {
  for (const seconds of [0, 1, 60, periodSecondsMax])
    t.equal(read(periodOf({ period_seconds: seconds })), seconds);
  for (const seconds of [
    -1,
    0.5,
    periodSecondsMax + 1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    "60",
    true,
  ]) {
    t.match(
      read(periodOf({ period_seconds: seconds })),
      /^period_seconds: period_seconds must be an integer/,
      String(seconds),
    );
  }
});

t.test("a limit key holds exactly one of period and period_seconds", async (t) => {
  t.equal(read(periodOf({ period: "hour" })), 3600);
  t.equal(read(periodOf({ period_seconds: 300 })), 300);
  t.equal(read(periodOf({ period_seconds: 0 })), 0);
  t.equal(read(periodOf({ period: null, period_seconds: 5 })), 5, "null is absent");
  t.match(
    read(periodOf({ period: "hour", period_seconds: 3600 }, "limit_key.")),
    /^limit_key\.period: .*exclude each other/,
  );
  t.match(read(periodOf({}, "limit_key.")), /^limit_key\.period: .*required/);
  t.match(read(periodOf({ period_seconds: -60 })), /^period_seconds: /);
});

t.test("labels are minute, hour, day and concurrent, else the seconds", async (t) => {
  for (const [seconds, label] of [
    [60, "minute"],
    [3600, "hour"],
    [86_400, "day"],
    [0, "concurrent"],
    [1, "1s"],
    [300, "300s"],
    [604_800, "604800s"],
  ] as const)
    t.equal(periodLabel(seconds), label);
});

t.test(
  "caps are integers from 1 up; concurrent takes requests or enqueued tokens, other periods the others",
  async (t) => {
    const big = Number.MAX_SAFE_INTEGER;
    const good: readonly (readonly [
      fields: Record<string, unknown>,
      periodSeconds: number,
      caps: object,
    ])[] = [
      [{ max_requests: 1 }, 60, { maxRequests: 1, maxTokens: null }],
      [{ max_tokens: big }, 60, { maxRequests: null, maxTokens: big }],
      [{ max_requests: 2, max_tokens: 3 }, 300, { maxRequests: 2, maxTokens: 3 }],
      [{ max_requests: null, max_tokens: 3 }, 60, { maxRequests: null, maxTokens: 3 }],
      [{ max_requests: 5 }, 0, { maxRequests: 5, maxTokens: null }],
      [{ max_requests: 5, max_tokens: null }, 0, { maxRequests: 5, maxTokens: null }],
      [
        { max_enqueued_tokens: 7 },
        0,
        { maxRequests: null, maxTokens: null, measureCaps: { enqueued_tokens: 7 } },
      ],
      [
        { max_enqueued_tokens: 7, max_requests: 2, on_exhausted: "warn" },
        0,
        {
          ...{ maxRequests: 2, maxTokens: null, measureCaps: { enqueued_tokens: 7 } },
          onExhausted: "warn",
        },
      ],
      [
        { loops: { refuse_after: 3 } },
        0,
        {
          maxRequests: null,
          maxTokens: null,
          loops: {
            ...{ warn_after: 3, refuse_after: 3, compare_results: true },
            ...{ warn_after_turns: 200, refuse_after_turns: 0 },
          },
        },
      ],
    ];
    for (const [fields, periodSeconds, caps] of good)
      t.same(read(parseCaps(fields, periodSeconds)), caps, JSON.stringify(fields));
    const bad: readonly (readonly [
      fields: Record<string, unknown>,
      periodSeconds: number,
      message: RegExp,
    ])[] = [
      [
        {},
        60,
        /^max_requests: max_requests is required, or another cap: max_tokens, .* or max_tool_calls$/,
      ],
      [{ max_requests: null }, 60, /^max_requests: .* is required, or another cap/],
      [{ max_tokens: 5 }, 0, /^max_tokens: max_tokens can't be combined/],
      [{ max_requests: 5, max_tokens: 5 }, 0, /^max_tokens: /],
      [
        {},
        0,
        /^max_requests: .* is required for the period concurrent, or max_enqueued_tokens or loops$/,
      ],
      [{ max_enqueued_tokens: 5 }, 60, /^max_enqueued_tokens: .* needs the period concurrent$/],
      [{ max_enqueued_tokens: 0 }, 0, /^max_enqueued_tokens: .* must be greater than 0, not 0$/],
      [{ max_enqueued_tokens: -1 }, 0, /^max_enqueued_tokens: .*greater than 0, not -1$/],
      [{ max_enqueued_tokens: 1.5 }, 0, /^max_enqueued_tokens: .* must be an integer/],
      [{ max_enqueued_tokens: "2M" }, 0, /^max_enqueued_tokens: .*integer.*"2M"/],
      [
        { max_enqueued_tokens: 5, models: ["gpt-4o"] },
        0,
        /^max_enqueued_tokens: .* can't be combined with models: a batch may have/,
      ],
      [{ max_enqueued_tokens: 5, mode: "shadow" }, 0, /^max_enqueued_tokens: .*mode shadow/],
      [
        { max_enqueued_tokens: 5, on_exhausted: "warn" },
        0,
        /^max_enqueued_tokens: .* can't be combined with on_exhausted without max_requests/,
      ],
      [{ max_enqueued_tokens: 5, shares: {} }, 0, /^max_enqueued_tokens: .* with shares without/],
      [{ loops: {} }, 60, /^loops: loops needs the period concurrent$/],
      [{ loops: { warn_after: 1 }, max_requests: 5 }, 0, /^loops.warn_after: .*2 to 100, not 1$/],
      [{ loops: {}, models: ["o3"] }, 0, /^loops: .* can't be combined with models: a loop may/],
      [{ loops: {}, when: { from: "08:00" } }, 0, /^loops: .* can't be combined with when: /],
      [{ loops: {}, mode: "shadow" }, 0, /^loops: .* with the mode shadow: warn_after only warns/],
      [{ loops: {}, shares: {} }, 0, /^loops: .* with shares without max_requests$/],
      [{ loops: null }, 0, /^max_requests: .* is required/],
      [{ max_requests: 0 }, 60, /^max_requests: max_requests must be greater than 0, not 0$/],
      [{ max_tool_calls: 5 }, 60, /^max_tool_calls: max_tool_calls needs models that name tools/],
      [{ max_tool_calls: 5, models: ["gpt-4o"] }, 60, /^max_tool_calls: .*needs models/],
      [{ max_tool_calls: 0, models: ["tool:*"] }, 60, /^max_tool_calls: .*greater than 0, not 0$/],
      [{ max_tool_calls: 5, models: ["tool:*"] }, 0, /^max_tool_calls: .*period concurrent$/],
      [{ max_requests: 0, models: ["*"] }, 60, /^max_requests: .*greater than 0, not 0$/],
      [{ max_requests: 0, models: [] }, 60, /^max_requests: .*greater than 0, not 0$/],
      [{ max_requests: -1, models: ["o3"] }, 60, /^max_requests: .*greater than 0, not -1$/],
      [{ max_tokens: 0, models: ["o3"] }, 60, /^max_tokens: .*greater than 0, not 0$/],
      [
        { max_requests: 0, max_tokens: 5, models: ["o3"] },
        60,
        /^max_tokens: max_tokens can't be combined with max_requests 0, which allows no request$/,
      ],
      [{ max_tokens: -1 }, 60, /^max_tokens: max_tokens must be greater than 0, not -1$/],
      [{ max_requests: 1.5 }, 60, /^max_requests: max_requests must be an integer/],
      [{ max_requests: "10" }, 60, /^max_requests: .*integer.*"10"$/],
      [{ max_requests: big + 1 }, 60, /^max_requests: .*integer/],
      [{ max_requests: true }, 60, /^max_requests: .*integer/],
      [{ max_requests: 1, max_tokens: {} }, 60, /^max_tokens: .*integer/],
    ];
    for (const [fields, periodSeconds, message] of bad)
      t.match(read(parseCaps(fields, periodSeconds)), message, JSON.stringify(fields));
    t.match(
      read(parseCaps({ max_requests: 0 }, 60, "limits[1].")),
      /^limits\[1\]\.max_requests: limits\[1\]\.max_requests must be greater than 0/,
    );
  },
);

t.test("host_only is true or false, or left out", async (t) => {
  const values = (host_only?: unknown) => read(parseRuleValues({ max_requests: 1, host_only }, 60));
  t.same(values(true), { maxRequests: 1, maxTokens: null, hostOnly: true });
  for (const none of [false, null, undefined])
    t.same(values(none), { maxRequests: 1, maxTokens: null }, String(none));
  for (const wrong of ["yes", 1, {}])
    t.match(values(wrong), /^host_only: host_only must be true or false, not /);
});

t.test("a subject is trimmed and kept as it is written", async (t) => {
  t.equal(read(parseSubject("provider", "  OpenAI ", "subject")), "OpenAI");
  t.equal(read(parseSubject("model", " meta/Llama-3 ", "subject")), "meta/Llama-3");
  t.equal(read(parseSubject("model", "gpt 4", "subject")), "gpt 4");
  for (const longest of ["x".repeat(subjectBytesMax), "é".repeat(subjectBytesMax / 2)])
    for (const scope of ["model", "provider"] as const)
      t.equal(read(parseSubject(scope, ` ${longest} `, "subject")), longest);
  const bad: readonly (readonly ["provider" | "model", unknown, RegExp])[] = [
    ["provider", "", /required/],
    ["provider", "  ", /required/],
    ["provider", undefined, /required/],
    ["model", null, /required/],
    ["model", 5, /required/],
    ["provider", "open/ai", /without a slash/],
    ["provider", "open ai", /white space/],
    ["provider", "open\u00a0ai", /white space/],
    ["model", "/gpt", /slash/],
    ["model", "gpt/", /slash/],
    ["model", "/", /slash/],
    ["model", "a\nb", /control/],
    ["provider", "a\u0000", /control/],
    ["model", "x".repeat(subjectBytesMax + 1), /512 bytes/],
    ["model", "é".repeat(subjectBytesMax / 2 + 1), /512 bytes/],
  ];
  for (const [scope, raw, message] of bad)
    t.match(read(parseSubject(scope, raw, "subject")), message, JSON.stringify(raw)?.slice(0, 40));
});

t.test(
  "scope and subject of a body: user_path is the shorthand of one scope, and its default is the root",
  async (t) => {
    const table: readonly (readonly [
      body: Record<string, unknown>,
      scope: string,
      subject: string,
    ])[] = [
      [{}, "user_path", "/"],
      [{ scope: "" }, "user_path", "/"],
      [{ scope: null }, "user_path", "/"],
      [{ scope: " User_Path " }, "user_path", "/"],
      [{ user_path: "team" }, "user_path", "/team"],
      [{ subject: " /team/ " }, "user_path", "/team"],
      [{ subject: "/a", user_path: "/b" }, "user_path", "/a"],
      [{ subject: "", user_path: "/b" }, "user_path", "/b"],
      [{ subject: null, user_path: "/b" }, "user_path", "/b"],
      [{ subject: " \t", user_path: "/b" }, "user_path", "/b"],
      [{ subject: "\u00a0" }, "user_path", "/"],
      [{ user_path: "  " }, "user_path", "/"],
      [{ subject: " ", user_path: " " }, "user_path", "/"],
      [{ scope: "provider", subject: "a", user_path: " " }, "provider", "a"],
      [{ scope: "PROVIDER", subject: "OpenAI" }, "provider", "OpenAI"],
      [{ scope: "model", subject: "openai/GPT-4o" }, "model", "openai/GPT-4o"],
    ];
    for (const [body, scope, subject] of table)
      t.match(
        read(parseRuleWrite({ ...body, ...minute }, entitled)),
        { scope, subject, periodSeconds: 60 },
        JSON.stringify(body),
      );
    const bad: readonly (readonly [body: unknown, message: RegExp])[] = [
      [
        { scope: "team", ...minute },
        /^scope: scope must be user_path, provider or model, not "team"$/,
      ],
      [{ scope: 1, ...minute }, /^scope: /],
      [{ scope: "provider", ...minute }, /^subject: subject is required/],
      [{ scope: "model", subject: " \n ", ...minute }, /^subject: subject is required/],
      [
        { scope: "provider", user_path: "/a", ...minute },
        /^user_path: user_path can't be combined/,
      ],
      [{ scope: "model", subject: "m", user_path: "/a", ...minute }, /^user_path: /],
      [{ subject: "/a:b", ...minute }, /^subject: subject must not hold a colon/],
      [
        { user_path: "/..", ...minute },
        /^user_path: user_path must not hold the segment \.\., as "\/\.\." does$/,
      ],
      [{ user_path: 5, ...minute }, /^user_path: user_path must be a path/],
      [{ max_requests: 1 }, /^limit_key: limit_key is required/],
      [{ limit_key: "minute", max_requests: 1 }, /^limit_key: limit_key must be a JSON object/],
      [
        { limit_key: { period: "minute", unit: 1 }, max_requests: 1 },
        /^limit_key\.unit: unknown field limit_key\.unit/,
      ],
      [
        { ...minute, max_request: 5 },
        /^max_request: unknown field max_request: did you mean max_requests\?$/,
      ],
      [{ ...minute, constructor: 5 }, /^constructor: unknown field/],
      [{ ...minute, per_child: "yes" }, /^per_child: per_child must be true or false/],
      [
        { scope: "provider", subject: "a", per_child: true, ...minute },
        /^per_child: per_child is for user-path rules only/,
      ],
      [null, /^body: the body must be a JSON object, not null$/],
      [[minute], /^body: /],
      ["text", /^body: /],
      [undefined, /^body: /],
    ];
    for (const [body, message] of bad)
      t.match(read(parseRuleWrite(body, entitled)), message, JSON.stringify(body));
  },
);

t.test("per_child needs the entitlement, and says so with its own code", async (t) => {
  t.match(read(parseRuleWrite({ user_path: "/team", per_child: true, ...minute }, entitled)), {
    perChild: true,
  });
  t.match(read(parseRuleWrite({ user_path: "/team", per_child: null, ...minute }, entitled)), {
    perChild: false,
  });
  t.match(
    parseRuleWrite({ user_path: "/team", per_child: true, ...minute }, { perChildEntitled: false }),
    {
      ok: false,
      failure: {
        status: 403,
        type: "permission_error",
        code: "quota_templates_not_entitled",
        param: "per_child",
      },
    },
  );
  t.match(
    read(
      parseRuleWrite(
        { user_path: "/team", per_child: false, ...minute },
        { perChildEntitled: false },
      ),
    ),
    { perChild: false },
  );
});

t.test("what identifies a rule is read alike for writing, deleting and resetting", async (t) => {
  const key = { scope: "provider", subject: "OpenAI", periodSeconds: 3600 };
  t.same(
    read(parseRuleKey({ scope: "provider", subject: "OpenAI", limit_key: { period: "hour" } })),
    key,
  );
  t.same(read(parseRuleResetOne({ scope: "provider", subject: "OpenAI", period: "hour" })), key);
  t.same(
    read(parseRuleResetOne({ scope: "provider", subject: "OpenAI", period_seconds: 3600 })),
    key,
  );
  t.same(
    read(
      parseRuleResetOne({
        scope: "provider",
        subject: "OpenAI",
        limit_key: { period_seconds: 3600 },
      }),
    ),
    key,
  );
  t.match(
    read(parseRuleResetOne({ period: "hour", limit_key: { period: "hour" } })),
    /^limit_key: .*exclude each other/,
  );
  t.match(read(parseRuleResetOne({})), /^period: period or period_seconds is required$/);
  t.match(
    read(parseRuleResetOne({ max_requests: 5, period: "hour" })),
    /^max_requests: unknown field/,
  );
  t.match(
    read(parseRuleKey({ max_requests: 5, limit_key: { period: "hour" } })),
    /^max_requests: unknown field/,
  );
});

t.test("a reset of everything must be confirmed by its word", async (t) => {
  for (const confirmation of ["reset", " RESET ", "Reset\n"])
    t.equal(read(parseConfirmation({ confirmation })), true);
  for (const body of [
    {},
    { confirmation: "yes" },
    { confirmation: true },
    { confirmation: "re set" },
  ])
    t.equal(read(parseConfirmation(body)), "confirmation: confirmation must be reset");
  t.match(read(parseConfirmation({ confirmation: "reset", all: true })), /^all: unknown field/);
});

t.test("provider and model subjects are compared without case, user paths with it", async (t) => {
  t.equal(effectiveSubject("provider", "OpenAI"), "openai");
  t.equal(effectiveSubject("model", "OpenAI/GPT-4o"), "openai/gpt-4o");
  t.equal(effectiveSubject("user_path", "/Team"), "/Team");
  t.equal(
    ruleId({ scope: "provider", subject: "OpenAI", periodSeconds: 60 }),
    ruleId({ scope: "provider", subject: "openai", periodSeconds: 60 }),
  );
  t.not(
    ruleId({ scope: "user_path", subject: "/Team", periodSeconds: 60 }),
    ruleId({ scope: "user_path", subject: "/team", periodSeconds: 60 }),
  );
});

t.test("rules are sorted by scope, subject and length of period", async (t) => {
  const inOrder: readonly RuleKey[] = [
    { scope: "model", subject: "GPT-4o", periodSeconds: 60 },
    { scope: "model", subject: "openai/gpt-4o", periodSeconds: 60 },
    { scope: "provider", subject: "anthropic", periodSeconds: 60 },
    { scope: "provider", subject: "OpenAI", periodSeconds: 0 },
    { scope: "provider", subject: "openai", periodSeconds: 60 },
    { scope: "user_path", subject: "/", periodSeconds: 86_400 },
    { scope: "user_path", subject: "/Team", periodSeconds: 60 },
    { scope: "user_path", subject: "/team", periodSeconds: 60 },
    { scope: "user_path", subject: "/team", periodSeconds: 300 },
    { scope: "user_path", subject: "/team", periodSeconds: 3600 },
    { scope: "user_path", subject: "/team/app", periodSeconds: 60 },
  ];
  t.same([...inOrder].reverse().sort(compareRules), inOrder);
});

const anyKey = fc.record({
  scope: fc.constantFrom(...scopes),
  subject: fc.stringMatching(/^[/a-cA-C]{0,3}$/),
  periodSeconds: fc.constantFrom(0, 1, 60, 300, 3600),
});

t.test("the order is total, and equal in it are exactly the rules of one identity", async (t) => {
  fc.assert(
    fc.property(anyKey, anyKey, anyKey, (a, b, c) => {
      const sign = Math.sign(compareRules(a, b));
      return (
        sign === -Math.sign(compareRules(b, a)) &&
        (sign === 0) === (ruleId(a) === ruleId(b)) &&
        !(compareRules(a, b) < 0 && compareRules(b, c) < 0 && compareRules(a, c) >= 0)
      );
    }),
    { numRuns: 2000 },
  );
  t.pass("2000 triples");
});

t.test("a value from outside is shown short, whatever it is", async (t) => {
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  for (const [value, text] of [
    [undefined, "nothing"],
    [null, "null"],
    ["a", '"a"'],
    [5, "5"],
    [cyclic, "object"],
    [1n, "bigint"],
    [Symbol("a"), "Symbol(a)"],
  ] as const)
    t.equal(show(value), text);
  t.equal(show("x".repeat(500)).length, 80);
});

t.test(
  "no JSON value makes a check throw, and what passes is a rule by every letter of the contract",
  async (t) => {
    const mostly = <T>(good: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
      fc.oneof(
        { weight: 9, arbitrary: good as fc.Arbitrary<unknown> },
        { weight: 1, arbitrary: fc.jsonValue() },
      );
    const limitKey = fc.oneof(
      fc.record({ period: mostly(fc.constantFrom("minute", "concurrent", "300")) }),
      fc.record({ period_seconds: mostly(fc.nat()) }),
    );
    const body = fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          scope: mostly(fc.constantFrom("user_path", "provider", "model", "", "x")),
          subject: mostly(fc.string({ minLength: 1 })),
          user_path: mostly(fc.string()),
          per_child: mostly(fc.boolean()),
          limit_key: mostly(limitKey),
          max_requests: mostly(fc.nat()),
          max_tokens: mostly(fc.nat()),
        },
        { requiredKeys: ["limit_key", "max_requests"] },
      ),
    );
    let rules = 0;
    fc.assert(
      fc.property(body, (value) => {
        for (const check of [parseRuleKey, parseRuleResetOne, parseConfirmation]) check(value);
        const result = parseRuleWrite(value, entitled);
        if (!result.ok)
          return (
            result.failure.status === 400 &&
            result.failure.param !== null &&
            result.failure.code === null
          );
        rules++;
        const { scope, subject, periodSeconds, maxRequests, maxTokens, perChild } = result.value;
        const caps =
          periodSeconds === 0
            ? maxRequests !== null && maxTokens === null
            : maxRequests !== null || maxTokens !== null;
        return (
          caps &&
          scopes.includes(scope) &&
          subject !== "" &&
          Number.isSafeInteger(periodSeconds) &&
          periodSeconds >= 0 &&
          (scope === "user_path" ? subject.startsWith("/") : !perChild)
        );
      }),
      { numRuns: 5000 },
    );
    t.ok(rules > 200, `${rules} of 5000 were rules`);
  },
);

t.test("a place in the configuration is said in as many words as a row has room for", async (t) => {
  t.same(declaredPlace("/etc/a b: c/sluice.yaml: rate_limits.user_paths[0].limits[1]"), {
    file: "sluice.yaml",
    within: "user_paths[0].limits[1]",
  });
  t.same(declaredPlace("/etc/sluice.yaml: budgets.labels[0].limits[0]", 12), {
    file: "sluice.yaml:12",
    within: "labels[0].limits[0]",
  });
  t.same(declaredPlace("sluice.yaml: limits"), { file: "sluice.yaml", within: "limits" });
  t.same(declaredPlace("SET_RATE_LIMIT_TEAM"), { file: null, within: "SET_RATE_LIMIT_TEAM" });
});

t.test("a model's id names a provider up to its first slash", async (t) => {
  const providers = new Set(["groq", "open/ai"]);
  for (const [id, names] of [
    ["groq/llama", true],
    ["groq/openai/gpt-4o", true],
    ["groq", false],
    ["groqs", false],
    ["groqs/llama", false],
    ["/groq", false],
    ["openai/groq/llama", false],
    ["open/ai/gpt", false],
    ["", false],
  ] as const)
    t.equal(namesProvider(id, providers), names, id);
});
