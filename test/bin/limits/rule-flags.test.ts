import t from "tap";
import { budgetFlags } from "../../../bin/limits/budget-flags.js";
import { keyFromFlags, type SetFlags, writesFromFlags } from "../../../bin/limits/limit-flags.js";
import { ruleFlags } from "../../../bin/limits/rule-flags.js";
import { exactly } from "../../support/patterns/exactly.js";

const bodies = (subject: string, flags: SetFlags): unknown => {
  const writes = writesFromFlags(ruleFlags, subject, flags);
  return writes.ok
    ? writes.value.map(({ body }) => body)
    : writes.problems.map(({ message }) => message);
};

t.test("flags become the bodies of the admin API, one for each period", async (t) => {
  const table: readonly {
    readonly subject: string;
    readonly flags: SetFlags;
    readonly expected: readonly object[];
  }[] = [
    {
      subject: "/team",
      flags: { period: "minute", requests: "10" },
      expected: [
        { scope: "user_path", subject: "/team", limit_key: { period: "minute" }, max_requests: 10 },
      ],
    },
    {
      subject: "/team",
      flags: { periodSeconds: "300", tokens: "9", perChild: true },
      expected: [
        {
          scope: "user_path",
          subject: "/team",
          limit_key: { period_seconds: 300 },
          max_tokens: 9,
          per_child: true,
        },
      ],
    },
    {
      subject: "openai",
      flags: { scope: "provider", rpm: "5", tpm: "6", hostOnly: true },
      expected: [
        {
          scope: "provider",
          subject: "openai",
          limit_key: { period_seconds: 60 },
          max_requests: 5,
          max_tokens: 6,
          host_only: true,
        },
      ],
    },
    {
      subject: "/agents",
      flags: { loops: "refuse_after=20", rpm: "5" },
      expected: [
        {
          scope: "user_path",
          subject: "/agents",
          limit_key: { period_seconds: 60 },
          max_requests: 5,
        },
        {
          scope: "user_path",
          subject: "/agents",
          limit_key: { period_seconds: 0 },
          loops: { refuse_after: 20 },
        },
      ],
    },
    {
      subject: "/agents",
      flags: { loops: "none", concurrent: "8" },
      expected: [
        {
          scope: "user_path",
          subject: "/agents",
          limit_key: { period_seconds: 0 },
          max_requests: 8,
          loops: null,
        },
      ],
    },
    {
      subject: "/interns",
      flags: { rpm: "20", models: "claude-opus-*, openai/*" },
      expected: [
        {
          scope: "user_path",
          subject: "/interns",
          limit_key: { period_seconds: 60 },
          max_requests: 20,
          models: ["claude-opus-*", " openai/*"],
        },
      ],
    },
    {
      subject: "/guests",
      flags: { rpd: "0", models: "o3" },
      expected: [
        {
          scope: "user_path",
          subject: "/guests",
          limit_key: { period_seconds: 86_400 },
          max_requests: 0,
          models: ["o3"],
        },
      ],
    },
    {
      subject: "/",
      flags: { rph: "1", tpd: "2", concurrent: "3" },
      expected: [
        { scope: "user_path", subject: "/", limit_key: { period_seconds: 3600 }, max_requests: 1 },
        { scope: "user_path", subject: "/", limit_key: { period_seconds: 86_400 }, max_tokens: 2 },
        { scope: "user_path", subject: "/", limit_key: { period_seconds: 0 }, max_requests: 3 },
      ],
    },
    {
      subject: "/team",
      flags: { enqueued: "2000000", concurrent: "3" },
      expected: [
        {
          ...{ scope: "user_path", subject: "/team", limit_key: { period_seconds: 0 } },
          ...{ max_requests: 3, max_enqueued_tokens: 2_000_000 },
        },
      ],
    },
    {
      subject: "/team",
      flags: { period: "hour", requests: "7", rpm: "5" },
      expected: [
        { scope: "user_path", subject: "/team", limit_key: { period: "hour" }, max_requests: 7 },
        {
          scope: "user_path",
          subject: "/team",
          limit_key: { period_seconds: 60 },
          max_requests: 5,
        },
      ],
    },
  ];
  for (const { subject, flags, expected } of table)
    t.same(bodies(subject, flags), expected, JSON.stringify(flags));
});

t.test("a problem is reported in terms of the flags: name, expectation, value", async (t) => {
  const table: readonly {
    readonly subject?: string;
    readonly flags: SetFlags;
    readonly problems: readonly string[];
  }[] = [
    {
      flags: { rpm: "abc" },
      problems: ['--rpm must be an integer from 1 to 9007199254740991, not "abc"'],
    },
    { flags: { tpm: "0" }, problems: ["--tpm must be greater than 0, not 0"] },
    {
      flags: { rpm: "5", models: "!a" },
      problems: ['--models names only models to leave out: add "*" for all others'],
    },
    {
      flags: { rpm: "5", when: "08:00-08:00" },
      problems: [
        '--when.to must differ from --when.from, not be "08:00" too: for whole days leave both out',
      ],
    },
    {
      flags: { loops: "refuse_after=1" },
      problems: ["--loops.refuse_after must be 0 or an integer from 2 to 100, not 1"],
    },
    {
      flags: { rpm: "5", shares: "a: weight=-1" },
      problems: ["--shares.children.a.weight must be a number from 0.001 to 1000, not -1"],
    },
    {
      flags: { rpm: "5", when: "every day" },
      problems: [
        `--when must be hours such as 'mon-fri 09:00-17:00 Europe/Berlin', not "every day"`,
      ],
    },
    {
      flags: { rpm: "5", onExhausted: "later" },
      problems: ['--on-exhausted must be refuse, warn or use=MODEL, not "later"'],
    },
    {
      flags: { loops: "often" },
      problems: [
        `--loops must be numbers such as 'warn_after=5, refuse_after_turns=500', or none, not "often"`,
      ],
    },
    {
      flags: { tpm: "5", tokenWeights: "light" },
      problems: [
        `--token-weights must be weights from 0 to 100 such as 'cached=0.1,cache_write=1.25', not "light"`,
      ],
    },
    {
      flags: { rpm: "5", shares: "fair" },
      problems: [
        `--shares must be shares such as 'a: weight=3, floor=0.2; *: weight=1', or equal, not "fair"`,
      ],
    },
    { flags: { enqueued: "0" }, problems: ["--enqueued must be greater than 0, not 0"] },
    {
      flags: { period: "minute", enqueuedTokens: "5" },
      problems: ["--enqueued-tokens needs the period concurrent"],
    },
    {
      flags: { scope: "model", enqueued: "5" },
      subject: "gpt-4o",
      problems: ["--enqueued is for user-path rules only"],
    },
    {
      flags: { concurrent: "1.5" },
      problems: ["--concurrent must be an integer from 1 to 9007199254740991, not 1.5"],
    },
    {
      flags: { rpm: "5", tpd: "x" },
      problems: ['--tpd must be an integer from 1 to 9007199254740991, not "x"'],
    },
    {
      flags: { period: "week", requests: "1" },
      problems: [
        '--period must be minute, hour, day, concurrent or a number of seconds, not "week": write 604800 as --period-seconds',
      ],
    },
    {
      flags: { period: "minute" },
      problems: [
        "--requests is required, or another cap: --tokens, --input-tokens, --output-tokens, --cost or --tool-calls",
      ],
    },
    {
      flags: { period: "minute", rpm: "5", tpd: "7" },
      problems: [
        "--period goes with one of --requests, --tokens, --input-tokens, --output-tokens, --cost, --tool-calls, --enqueued-tokens: leave it out beside --rpm, --tpd",
      ],
    },
    {
      flags: { periodSeconds: "60", rpm: "5" },
      problems: [
        "--period-seconds goes with one of --requests, --tokens, --input-tokens, --output-tokens, --cost, --tool-calls, --enqueued-tokens: leave it out beside --rpm",
      ],
    },
    {
      flags: { period: "minute", periodSeconds: "60", requests: "1" },
      problems: ["--period and --period-seconds exclude each other: give exactly one"],
    },
    {
      flags: { requests: "1" },
      problems: [
        "--period or --period-seconds is required beside --requests, --tokens, --input-tokens, --output-tokens, --cost, --tool-calls, --enqueued-tokens",
      ],
    },
    {
      flags: {},
      problems: [
        "nothing to set: give --period with one of --requests, --tokens, --input-tokens, --output-tokens, --cost, --tool-calls, --enqueued-tokens, or one of --rpm, --tpm, --rph, --tph, --rpd, --tpd, --itpm, --itph, --itpd, --otpm, --otph, --otpd, --concurrent, --enqueued",
      ],
    },
    {
      flags: { period: "concurrent", requests: "1", tokens: "1" },
      problems: ["--tokens can't be combined with the period concurrent"],
    },
    {
      flags: { period: "minute", requests: "1", tpm: "5" },
      problems: [
        "one period is given twice, by --period or --period-seconds and by a short flag: give it once",
      ],
    },
    {
      flags: { scope: "team", rpm: "1" },
      problems: ['--scope must be user_path, provider or model, not "team"'],
    },
    {
      subject: "openai",
      flags: { scope: "provider", perChild: true, rpm: "1" },
      problems: ["--per-child is for user-path rules only"],
    },
    {
      subject: "a/b",
      flags: { scope: "provider", rpm: "1" },
      problems: ['subject must be a provider\'s name, without a slash or white space, not "a/b"'],
    },
    {
      subject: "openai",
      flags: { rpm: "1" },
      problems: [
        'subject must be a user path such as /team/app, not "openai"; for a provider or a model add --scope provider or --scope model',
      ],
    },
    {
      subject: "/a/../b",
      flags: { rpm: "1" },
      problems: ['subject must not hold the segment .., as "/a/../b" does'],
    },
    {
      flags: { rpm: "0", tph: "0" },
      problems: ["--rpm must be greater than 0, not 0", "--tph must be greater than 0, not 0"],
    },
  ];
  for (const { subject = "/team", flags, problems } of table)
    t.same(bodies(subject, flags), problems, JSON.stringify({ subject, flags }));
});

t.test("a key accepts the period by name or in seconds, and nothing else", async (t) => {
  t.same(keyFromFlags(ruleFlags, " /team/ ", { period: "hourly" }), {
    ok: true,
    value: { scope: "user_path", subject: "/team", periodSeconds: 3600 },
  });
  t.same(keyFromFlags(ruleFlags, "gpt-4o", { scope: "model", periodSeconds: "0" }), {
    ok: true,
    value: { scope: "model", subject: "gpt-4o", periodSeconds: 0 },
  });
  const wrong = keyFromFlags(ruleFlags, "/team", { period: "minute", when: "every day" });
  t.same(wrong.ok ? [] : wrong.problems.map(({ param }) => param), ["--when"]);
  t.same(keyFromFlags(ruleFlags, "/team", {}), {
    ok: false,
    problems: [{ message: "--period or --period-seconds is required", param: "--period" }],
  });
});

t.test("a budget may say what happens to models without a price", async (t) => {
  const written = (flags: object) =>
    writesFromFlags(budgetFlags, "/team", { daily: "5", ...flags });
  t.match(written({ unpriced: "refuse" }), {
    value: exactly([{ body: { amount: 5, unpriced: "refuse" } }]),
  });
  t.match(written({ unpriced: "no" }), {
    problems: exactly([
      { param: "--unpriced", message: '--unpriced must be allow or refuse, not "no"' },
    ]),
  });
  const [plain] = (written({}) as { value: readonly { body: object }[] }).value;
  t.notOk("unpriced" in plain!.body);
});
