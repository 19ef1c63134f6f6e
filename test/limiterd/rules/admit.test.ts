import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import t from "tap";
import type { Counter } from "../../../limiterd/counters/counter.js";
import {
  estimateRequests,
  newWindow,
  rollWindow,
  slidingTokens,
} from "../../../limiterd/counters/window.js";
import { admit, readmit, type Verdict } from "../../../limiterd/rules/admit.js";
import { charge } from "../../../limiterd/rules/charge.js";
import { RuleBook } from "../../../limiterd/rules/rule-book.js";
import { freeSlots } from "../../../limiterd/rules/slots.js";
import type { RuleDefinition, Scope } from "../../../shared/domain/rule.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { childNames } from "../counters/child-names.js";
import {
  counted,
  createOracle,
  type OracleRequest,
  type OracleRule,
  oracleProviderTypes,
} from "../oracle.js";

const begin = 1_767_225_600_000;
const gpt: Target = { provider: "openai", model: "gpt-4o" };
const llama: Target = { provider: "local", model: "llama-3" };

interface Caps {
  readonly requests?: number;
  readonly tokens?: number;
}

const rule = (
  scope: Scope,
  subject: string,
  periodSeconds: number,
  { requests, tokens }: Caps,
): RuleDefinition => ({
  scope,
  subject,
  periodSeconds,
  maxRequests: requests ?? null,
  maxTokens: tokens ?? null,
  perChild: false,
});

function bookOf(rules: readonly RuleDefinition[]): RuleBook {
  const book = new RuleBook([0, 0], oracleProviderTypes);
  for (const definition of rules) book.put(definition, { source: "manual", nowMs: begin, lsn: 0 });
  return book;
}

function ask(
  book: RuleBook,
  second: number,
  {
    path = "/team",
    targets = [gpt],
    tokensEnforced = true,
  }: { path?: string; targets?: readonly Target[]; tokensEnforced?: boolean } = {},
): Verdict {
  return admit(
    book,
    { userPath: path, targets, submission: false },
    { nowMs: begin + second * 1000, tokensEnforced },
  );
}

/** `admitted`, or the rule that refuses and its wait. */
function outcome(verdict: Verdict): string {
  if (verdict.kind === "admitted") return "admitted";
  if (verdict.breach.dimension === "budget") throw new Error("no budget was judged");
  const { scope, subject, periodSeconds, dimension, cap, waitSeconds } = verdict.breach;
  return `${scope} ${subject} ${periodSeconds} ${dimension} ${cap}: ${waitSeconds}`;
}

const inFlight = (book: RuleBook): number[] => book.sorted().map(({ own }) => own!.inFlight);
const requests = (book: RuleBook): number[] =>
  book.sorted().map(({ own }) => own!.window.currentRequests);

t.test("the worked table of waits", async (t) => {
  const ten = bookOf([rule("user_path", "/team", 60, { requests: 10 })]);
  for (let i = 0; i < 10; i++) t.equal(outcome(ask(ten, 0)), "admitted");
  t.equal(outcome(ask(ten, 0)), "user_path /team 60 requests 10: 61");
  t.equal(outcome(ask(ten, 60)), "user_path /team 60 requests 10: 1");
  t.equal(outcome(ask(ten, 61)), "admitted");
  t.equal(outcome(ask(ten, 61)), "user_path /team 60 requests 10: 6");
  const one = bookOf([rule("user_path", "/", 60, { requests: 1 })]);
  ask(one, 59);
  t.equal(outcome(ask(one, 59)), "user_path / 60 requests 1: 2");
  const both = bookOf([
    rule("user_path", "/", 60, { requests: 1 }),
    rule("user_path", "/", 86_400, { requests: 1 }),
  ]);
  ask(both, 0);
  t.equal(outcome(ask(both, 0)), "user_path / 86400 requests 1: 86401");
  const hundred = bookOf([rule("user_path", "/", 60, { requests: 100 })]);
  for (let i = 0; i < 100; i++) ask(hundred, 59);
  t.equal(outcome(ask(hundred, 60)), "user_path / 60 requests 100: 1");
  const admitted = (second: number): number =>
    Array.from({ length: 50 }, () => ask(hundred, second)).filter(({ kind }) => kind === "admitted")
      .length;
  t.same([admitted(75), admitted(90)], [25, 25]);
});

t.test(
  "token rules are judged before the request's own tokens are known, and not at all while usage is off",
  async (t) => {
    const book = bookOf([rule("user_path", "/team", 60, { tokens: 10 })]);
    const verdict = ask(book, 0);
    t.equal(verdict.kind, "admitted");
    if (verdict.kind === "admitted")
      charge(book, verdict.counters, { atMs: begin, requests: 0, tokens: 30 }, begin);
    t.equal(outcome(ask(book, 0)), "user_path /team 60 tokens 10: 101");
    t.equal(outcome(ask(book, 0, { tokensEnforced: false })), "admitted");
    t.match(ask(book, 0, { tokensEnforced: false }), { headers: null }, "and give no headers then");
  },
);

t.test("a refused request leaves no trace in any counter", async (t) => {
  const rules = [
    rule("user_path", "/", 60, { requests: 100 }),
    rule("user_path", "/team", 0, { requests: 100 }),
    rule("user_path", "/team", 60, { requests: 1 }),
    rule("provider", "openai", 60, { requests: 100 }),
    rule("model", "gpt-4o", 60, { requests: 100 }),
  ];
  const book = bookOf(rules);
  ask(book, 0);
  const before = [requests(book), inFlight(book)];
  for (let i = 0; i < 5; i++) t.equal(outcome(ask(book, 1)), "user_path /team 60 requests 1: 60");
  t.same([requests(book), inFlight(book)], before);
});

t.test("while a shared counter isn't known, nothing is decided, and nothing counted", async (t) => {
  const book = bookOf([rule("user_path", "/team", 60, { requests: 1 })]);
  const asked = { userPath: "/team", targets: [gpt], submission: false };
  const answers = ([true, true, false, undefined] as const).map((isUnsure) => {
    const turn = isUnsure === undefined ? null : { isUnsure };
    return admit(book, asked, { nowMs: begin, tokensEnforced: true, turn }).kind;
  });
  t.same(answers, ["unsure", "unsure", "admitted", "refused"]);
});

t.test(
  "a request whose target failed goes to the next with room: that target's rules judge and count it, the path's have done so before",
  async (t) => {
    const rules = [
      rule("model", "gpt-4o", 60, { requests: 1 }),
      rule("model", "llama-3", 60, { requests: 5 }),
      rule("provider", "local", 0, { requests: 1 }),
      rule("user_path", "/team", 60, { requests: 1 }),
    ];
    const book = bookOf(rules);
    ask(book, 0);
    const again = (targets: readonly Target[], isUnsure = false) =>
      readmit(
        book,
        { userPath: "/team/a", targets },
        { nowMs: begin + 59_999, tokensEnforced: true, turn: { isUnsure } },
      );
    const before = [requests(book), inFlight(book)];
    t.equal(again([gpt, llama], true).kind, "unsure");
    t.match(again([gpt]), {
      kind: "refused",
      breach: { scope: "model", subject: "gpt-4o", dimension: "requests" },
    });
    t.same([requests(book), inFlight(book)], before, "neither leaves a trace");
    const verdict = again([gpt, llama]);
    t.match(verdict, {
      kind: "admitted",
      target: 1,
      headers: { requests: { limit: 1, remaining: 0, resetSeconds: 1 }, tokens: null },
    });
    t.same(verdict.kind === "admitted" && verdict.counters.map(({ subject }) => subject), [
      "llama-3",
      "local",
    ]);
    t.same(requests(book), [1, 1, 0, 1]);
    t.same(inFlight(book), [1, 1, 1, 1]);
    t.match(again([llama]), { kind: "refused", breach: { dimension: "concurrent" } });
    const later = bookOf([rule("user_path", "/team", 60, { requests: 8 })]);
    ask(later, 0);
    const options = { nowMs: begin + 90_000, tokensEnforced: true };
    t.match(
      readmit(later, { userPath: "/team", targets: [gpt] }, options),
      { headers: { requests: { remaining: 8, resetSeconds: 30 } } },
      "the headers are of now",
    );
  },
);

t.test("each request that an admission counts is reported to other hosts", async (t) => {
  const book = bookOf([
    rule("user_path", "/", 60, { requests: 5, tokens: 5 }),
    rule("user_path", "/team", 0, { requests: 5 }),
  ]);
  const events: string[] = [];
  const refusing = new Set<string>();
  for (const shared of book.sorted()) {
    const { subject, window } = shared.own!;
    const share = {
      counted: () => void events.push(`${subject} counted`),
      waitOfRequests: () => (refusing.has("requests") ? 7 : 0),
      waitOfTokens: () => (refusing.has("tokens") ? 8 : 0),
      isFull: () => refusing.has("concurrent"),
      view: () => ({ window, inFlight: 0, nowMs: begin }),
    };
    Object.assign(shared, { shares: { of: () => share, find: () => share } });
  }
  t.equal(outcome(ask(book, 0)), "admitted");
  t.same(events, ["/ counted", "/team counted"]);
  for (const [dimension, expected] of [
    ["requests", "user_path / 60 requests 5: 7"],
    ["tokens", "user_path / 60 tokens 5: 8"],
    ["concurrent", "user_path /team 0 concurrent 5: 1"],
  ] as const) {
    refusing.add(dimension);
    t.equal(outcome(ask(book, 0)), expected, "what they have left decides");
    refusing.clear();
  }
});

t.test("an admission moves every matching window and gauge together, and no others", async (t) => {
  const rules = [
    rule("model", "gpt-4o", 60, { requests: 9 }),
    rule("model", "llama-3", 60, { requests: 9 }),
    rule("provider", "local", 60, { requests: 9 }),
    rule("provider", "openai", 0, { requests: 9 }),
    rule("user_path", "/", 3600, { requests: 9 }),
    rule("user_path", "/other", 60, { requests: 9 }),
    rule("user_path", "/team", 0, { requests: 9 }),
  ];
  const book = bookOf(rules);
  const verdict = ask(book, 0, { targets: [gpt, llama] });
  t.match(verdict, { kind: "admitted", target: 0 });
  t.same(requests(book), [1, 0, 0, 0, 1, 0, 0], "a gauge's window counts nothing");
  t.same(inFlight(book), [1, 0, 0, 1, 1, 0, 1]);
  if (verdict.kind === "admitted") freeSlots(verdict.counters);
  t.same(inFlight(book), [0, 0, 0, 0, 0, 0, 0]);
});

t.test("a gauge refuses at its cap and admits as soon as a slot is free", async (t) => {
  const book = bookOf([rule("user_path", "/team", 0, { requests: 2 })]);
  const first = ask(book, 0);
  ask(book, 0);
  t.equal(outcome(ask(book, 0)), "user_path /team 0 concurrent 2: 1");
  t.equal(outcome(ask(book, 3600)), "user_path /team 0 concurrent 2: 1", "time frees no slot");
  if (first.kind === "admitted") freeSlots(first.counters);
  t.equal(outcome(ask(book, 0)), "admitted");
});

t.test(
  "the longest wait is reported, over all rules and both dimensions; a tie goes to the first in order",
  async (t) => {
    const table: readonly (readonly [
      name: string,
      rules: readonly RuleDefinition[],
      reported: string,
    ])[] = [
      [
        "the longer period",
        [
          rule("user_path", "/team", 60, { requests: 1 }),
          rule("user_path", "/team", 3600, { requests: 1 }),
        ],
        "user_path /team 3600 requests 1: 3601",
      ],
      [
        "whatever the order",
        [
          rule("user_path", "/team", 3600, { requests: 1 }),
          rule("user_path", "/", 60, { requests: 1 }),
        ],
        "user_path /team 3600 requests 1: 3601",
      ],
      [
        "the dimension that takes longer",
        [rule("user_path", "/team", 60, { requests: 1, tokens: 10 })],
        "user_path /team 60 tokens 10: 113",
      ],
      [
        "requests before tokens on a tie",
        [rule("user_path", "/team", 60, { requests: 1, tokens: 80 })],
        "user_path /team 60 requests 1: 61",
      ],
      [
        "the model before the path on a tie",
        [rule("user_path", "/", 60, { requests: 1 }), rule("model", "gpt-4o", 60, { requests: 1 })],
        "model gpt-4o 60 requests 1: 61",
      ],
      [
        "the model before the provider on a tie",
        [
          rule("provider", "openai", 60, { requests: 1 }),
          rule("model", "openai/gpt-4o", 60, { requests: 1 }),
        ],
        "model openai/gpt-4o 60 requests 1: 61",
      ],
      [
        "the shorter path on a tie",
        [
          rule("user_path", "/team", 60, { requests: 1 }),
          rule("user_path", "/", 60, { requests: 1 }),
        ],
        "user_path / 60 requests 1: 61",
      ],
      [
        "a window before a gauge",
        [
          rule("user_path", "/", 0, { requests: 1 }),
          rule("user_path", "/team", 60, { requests: 1 }),
        ],
        "user_path /team 60 requests 1: 61",
      ],
    ];
    for (const [name, rules, reported] of table) {
      const book = bookOf(rules);
      const verdict = ask(book, 0);
      if (verdict.kind === "admitted")
        charge(book, verdict.counters, { atMs: begin, requests: 0, tokens: 80 }, begin);
      t.equal(outcome(ask(book, 0)), reported, name);
    }
  },
);

t.test("a request goes to its first target with room, and is charged there alone", async (t) => {
  const book = bookOf([
    rule("model", "gpt-4o", 60, { requests: 1 }),
    rule("provider", "local", 60, { requests: 1 }),
  ]);
  t.match(ask(book, 0, { targets: [gpt, llama] }), { kind: "admitted", target: 0 });
  t.match(ask(book, 0, { targets: [gpt, llama] }), { kind: "admitted", target: 1 });
  t.same(requests(book), [1, 1]);
  t.match(ask(book, 0, { targets: [gpt, llama, { provider: "third", model: "m" }] }), {
    kind: "admitted",
    target: 2,
  });
  t.same(requests(book), [1, 1]);
});

t.test(
  "of targets that are equally saturated the first one is named, whatever the order of their rules",
  async (t) => {
    const rules = [
      rule("model", "llama-3", 60, { requests: 1 }),
      rule("provider", "openai", 60, { requests: 1 }),
    ];
    const table: readonly (readonly [targets: readonly Target[], named: string])[] = [
      [[gpt, llama], "provider openai 60 requests 1: 61"],
      [[llama, gpt], "model llama-3 60 requests 1: 61"],
    ];
    for (const [targets, named] of table) {
      const book = bookOf(rules);
      ask(book, 0, { targets });
      ask(book, 0, { targets });
      t.equal(outcome(ask(book, 0, { targets })), named);
    }
  },
);

t.test(
  "when no target has room the wait is the shortest of theirs, or the path's when that is longer",
  async (t) => {
    const rules = [
      rule("model", "gpt-4o", 3600, { requests: 1 }),
      rule("model", "llama-3", 60, { requests: 1 }),
    ];
    const book = bookOf(rules);
    ask(book, 0, { targets: [gpt] });
    ask(book, 0, { targets: [llama] });
    t.equal(outcome(ask(book, 0, { targets: [gpt, llama] })), "model llama-3 60 requests 1: 61");
    const withPath = bookOf([...rules, rule("user_path", "/team", 300, { requests: 2 })]);
    ask(withPath, 0, { targets: [gpt] });
    ask(withPath, 0, { targets: [llama] });
    t.equal(
      outcome(ask(withPath, 0, { targets: [gpt, llama] })),
      "user_path /team 300 requests 2: 301",
    );
    t.equal(outcome(ask(withPath, 0, { targets: [gpt] })), "model gpt-4o 3600 requests 1: 3601");
  },
);

t.test("a path that is exhausted refuses whatever the targets, with its own wait", async (t) => {
  const book = bookOf([
    rule("user_path", "/team", 60, { requests: 1 }),
    rule("model", "gpt-4o", 3600, { requests: 1 }),
  ]);
  ask(book, 0);
  t.equal(
    outcome(ask(book, 0, { targets: [gpt, llama] })),
    "user_path /team 60 requests 1: 61",
    "the other target is free",
  );
});

t.test(
  "the success headers are those of the tightest rule of each kind, gauges give none",
  async (t) => {
    const headers = (book: RuleBook, second: number): unknown => {
      const verdict = ask(book, second);
      return verdict.kind === "admitted" ? verdict.headers : outcome(verdict);
    };
    t.equal(headers(bookOf([]), 0), null);
    t.equal(headers(bookOf([rule("user_path", "/team", 0, { requests: 5 })]), 0), null);
    t.same(headers(bookOf([rule("user_path", "/team", 60, { requests: 5 })]), 20.001), {
      requests: { limit: 5, remaining: 4, resetSeconds: 40 },
      tokens: null,
    });
    t.same(headers(bookOf([rule("user_path", "/team", 60, { requests: 5 })]), 59.999), {
      requests: { limit: 5, remaining: 4, resetSeconds: 1 },
      tokens: null,
    });
    t.same(
      headers(
        bookOf([
          rule("user_path", "/", 60, { requests: 9, tokens: 100 }),
          rule("user_path", "/team", 3600, { requests: 5, tokens: 900 }),
        ]),
        0,
      ),
      {
        requests: { limit: 5, remaining: 4, resetSeconds: 3600 },
        tokens: { limit: 100, remaining: 100, resetSeconds: 60 },
      },
    );
    t.same(
      headers(
        bookOf([
          rule("user_path", "/", 60, { requests: 5 }),
          rule("user_path", "/team", 3600, { requests: 5 }),
        ]),
        0,
      ),
      { requests: { limit: 5, remaining: 4, resetSeconds: 60 }, tokens: null },
      "a tie goes to the earlier rule",
    );
  },
);

t.test(
  "a clock that steps back admits no more than before, and never makes a wait of less than a second",
  async (t) => {
    const book = bookOf([rule("user_path", "/team", 60, { requests: 2 })]);
    ask(book, 120);
    ask(book, 120);
    for (const second of [119, 90, 61, 1, -3600])
      t.match(ask(book, second), { kind: "refused", breach: { subject: "/team" } }, `${second}`);
  },
);

/** Everything that an admission may move, to put it back; children that it made are taken away. */
function remember(book: RuleBook): () => void {
  const all = (): Counter[] =>
    [...book.rules.values()].flatMap(({ own, children }) =>
      own === null ? childNames(children).map((name) => children.get(name)!) : [own],
    );
  const before = new Map(
    all().map((counter) => [
      counter,
      { window: { ...counter.window }, inFlight: counter.inFlight },
    ]),
  );
  return () => {
    for (const counter of all()) {
      const known = before.get(counter);
      if (known === undefined) counter.rule.children.delete(counter.place);
      else Object.assign(counter.window, known.window);
      counter.inFlight = known?.inFlight ?? 0;
    }
  };
}

const cap = fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 2 ** 40 }));
const subject = {
  user_path: fc.constantFrom("/", "/a", "/a/b", "/a/b/c", "/b", "/ab"),
  provider: fc.constantFrom("openai", "OpenAI", "local"),
  model: fc.constantFrom("gpt-4o", "openai/gpt-4o", "Local/llama", "llama", "meta/llama"),
};
const anyRule: fc.Arbitrary<OracleRule> = fc
  .constantFrom("user_path", "user_path", "user_path", "provider", "model")
  .chain((scope) =>
    fc
      .record({
        scope: fc.constant(scope),
        subject: subject[scope as Scope],
        periodSeconds: fc.constantFrom(0, 1, 7, 60, 90, 3600, 86_400),
        requests: fc.option(cap),
        tokens: fc.option(cap),
        perChild: fc.boolean(),
      })
      .map(({ requests: maxRequests, tokens: maxTokens, perChild, ...key }) => ({
        ...key,
        scope: scope as Scope,
        maxRequests: maxRequests ?? (key.periodSeconds === 0 || maxTokens === null ? 2 : null),
        maxTokens: key.periodSeconds === 0 ? null : maxTokens,
        perChild: perChild && scope === "user_path",
      })),
  );
const rules = fc.uniqueArray(anyRule, {
  minLength: 1,
  maxLength: 7,
  selector: ({ scope, subject: of, periodSeconds }) =>
    `${scope} ${scope === "user_path" ? of : of.toLowerCase()} ${periodSeconds}`,
});
const candidate = fc.constantFrom(
  gpt,
  { provider: "OpenAI", model: "o3" },
  { provider: "local", model: "LLAMA" },
  { provider: "azure", model: "gpt-4o" },
  { provider: "azure", model: "openai/gpt-4o" },
  { provider: "azure", model: "meta/llama" },
);
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("request" as const),
      path: fc.constantFrom("/", "/a", "/a/b", "/a/b/c", "/a/x", "/ab", "/b/b"),
      targets: fc.uniqueArray(candidate, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("settle" as const),
      which: fc.nat(),
      tokens: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 1_000_000_000 })),
    }),
  },
);
const pause = fc.oneof(
  { weight: 4, arbitrary: fc.nat(1500) },
  { weight: 2, arbitrary: fc.nat(70_000) },
  { weight: 1, arbitrary: fc.nat(90_000_000) },
);

interface Tally {
  admitted: number;
  refused: number;
  waited: number;
}

/** The first counter that says something else than the oracle does, or null. */
function counterDifference(
  book: RuleBook,
  oracle: ReturnType<typeof createOracle>,
  requests: readonly OracleRequest[],
  nowMs: number,
): string | null {
  for (const rule of book.sorted()) {
    const { definition, own, children, periodMs } = rule;
    for (const subject of new Set(
      requests.map((of) => counted(definition, of)).filter((subject) => subject !== null),
    )) {
      const counter = own ?? children.get(subject.slice(subject.lastIndexOf("/") + 1));
      const inFlight = Number(oracle.estimate(definition, subject, "concurrent", nowMs));
      if ((counter?.inFlight ?? 0) !== inFlight)
        return `${definition.scope} ${subject} has ${counter?.inFlight} in flight, not ${inFlight}`;
      if (periodMs === 0) continue;
      const expected = [
        oracle.estimate(definition, subject, "requests", nowMs),
        oracle.estimate(definition, subject, "tokens", nowMs),
      ].map(Number);
      const window = { ...(counter?.window ?? newWindow(periodMs, nowMs)) };
      rollWindow(window, periodMs, nowMs);
      const reported = [
        estimateRequests(window, periodMs, nowMs),
        slidingTokens(window, periodMs, nowMs),
      ];
      if (!isDeepStrictEqual(reported, expected))
        return (
          `${definition.scope} ${subject} ${definition.periodSeconds} ` +
          `counts ${reported.join(" and ")}, not ${expected.join(" and ")}`
        );
    }
  }
  return null;
}

/**
 * Sequences up to this length are compared counter by counter after each step, longer ones at their
 * end: shrunk, they are short.
 */
const comparedSteps = 12;

/** Plays the steps against both; the first difference is the answer, or null. */
function difference(
  definitions: readonly OracleRule[],
  steps: readonly (readonly [pauseMs: number, what: StepOf])[],
  startMs: number,
  tally: Tally,
): string | null {
  const book = new RuleBook([0, 0], oracleProviderTypes);
  for (const definition of definitions)
    book.put(definition, { source: "manual", nowMs: startMs, lsn: 0 });
  const oracle = createOracle(definitions);
  const open: { readonly of: Target & { path: string }; readonly counters: readonly Counter[] }[] =
    [];
  const everyRequest: OracleRequest[] = [];
  let nowMs = startMs;
  const compared = (index: number): string | null => {
    if (steps.length > comparedSteps && index < steps.length - 1) return null;
    const found = counterDifference(book, oracle, everyRequest, nowMs);
    return found === null ? null : `after step ${index}: ${found}`;
  };
  for (const [index, [pauseMs, what]] of steps.entries()) {
    nowMs += pauseMs;
    if (what.kind === "settle") {
      if (open.length === 0) continue;
      const [ended] = open.splice(what.which % open.length, 1);
      freeSlots(ended!.counters);
      charge(book, ended!.counters, { atMs: nowMs, requests: 0, tokens: what.tokens }, nowMs);
      oracle.end(ended!.of, what.tokens, nowMs);
      const found = compared(index);
      if (found !== null) return found;
      continue;
    }
    const { path, targets } = what;
    const request = { userPath: path, targets, submission: false };
    const expected = oracle.ask(path, targets, nowMs);
    const checkIn = remember(book);
    const verdict = admit(book, request, { nowMs, tokensEnforced: true });
    everyRequest.push(...targets.map((target) => ({ path, ...target })));
    if (verdict.kind === "admitted") {
      tally.admitted++;
      if (expected.target !== verdict.target)
        return `step ${index}: admitted to ${verdict.target}, but ${JSON.stringify(expected)}`;
      const of = { path, ...targets[verdict.target]! };
      open.push({ of, counters: verdict.counters });
      const triples = oracle.begin(of, nowMs);
      const reported = {
        requests: asTriple(verdict.headers?.requests),
        tokens: asTriple(verdict.headers?.tokens),
      };
      if (!isDeepStrictEqual(reported, triples))
        return `step ${index}: headers ${JSON.stringify(reported)}, not ${JSON.stringify(triples)}`;
      const found = compared(index);
      if (found !== null) return found;
      continue;
    }
    tally.refused++;
    const { waitSeconds, ...breach } = verdict.breach;
    if (!isDeepStrictEqual({ ...breach, wait: waitSeconds }, expected.refused))
      return `step ${index}: ${JSON.stringify(verdict.breach)}, but ${JSON.stringify(expected)}`;
    const found = compared(index);
    if (found !== null) return found;
    const after = (seconds: number): boolean => {
      checkIn();
      const { kind } = admit(book, request, {
        nowMs: nowMs + seconds * 1000,
        tokensEnforced: true,
      });
      checkIn();
      return kind === "admitted";
    };
    if (waitSeconds > 1 && after(waitSeconds - 1))
      return `step ${index}: admitted a second before ${waitSeconds} were over`;
    // Time frees no slot: while a gauge is full, no wait can be promised for what it takes part in.
    const slotsFull = [...book.rules.values()].some(
      ({ periodMs, own, children, definition }) =>
        periodMs === 0 &&
        (own === null ? childNames(children).map((name) => children.get(name)!) : [own]).some(
          ({ inFlight }) => inFlight >= definition.maxRequests!,
        ),
    );
    if (!slotsFull && !after(waitSeconds))
      return `step ${index}: not admitted after the ${waitSeconds} seconds of its breach`;
    tally.waited++;
  }
  return null;
}

type StepOf =
  | { readonly kind: "request"; readonly path: string; readonly targets: readonly Target[] }
  | { readonly kind: "settle"; readonly which: number; readonly tokens: number };

function asTriple(
  reported:
    | { readonly limit: number; readonly remaining: number; readonly resetSeconds: number }
    | null
    | undefined,
): readonly [number, number, number] | null {
  return reported === null || reported === undefined
    ? null
    : [reported.limit, reported.remaining, reported.resetSeconds];
}

t.test(
  "whatever the rules and whatever happens, the oracle gives the same verdict, rule, wait, headers and counters",
  async (t) => {
    const tally: Tally = { admitted: 0, refused: 0, waited: 0 };
    fc.assert(
      fc.property(
        rules,
        fc.array(fc.tuple(pause, step), { minLength: 1, maxLength: 60, size: "max" }),
        fc.integer({ min: 90_000_000, max: 2 ** 41 }),
        (definitions, steps, startMs) => {
          const found = difference(definitions, steps, startMs, tally);
          if (found !== null) throw new Error(found);
        },
      ),
      { numRuns: 1000, includeErrorInReport: true },
    );
    t.ok(
      tally.admitted > 1000 && tally.refused > 1000 && tally.waited > 1000,
      JSON.stringify(tally),
    );
  },
);
