import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import t from "tap";
import type { Counter, Rule } from "../../../../limiterd/counters/counter.js";
import { explainVerdict } from "../../../../limiterd/handlers/admin/explain-verdict.js";
import { admit } from "../../../../limiterd/rules/admit.js";
import { charge } from "../../../../limiterd/rules/charge.js";
import { RuleBook } from "../../../../limiterd/rules/rule-book.js";
import { freeSlots } from "../../../../limiterd/rules/slots.js";
import type { RulesExplanation } from "../../../../shared/api/explanation.js";
import type { RuleDefinition, Scope } from "../../../../shared/domain/rule.js";
import type { Target } from "../../../../shared/domain/target-name.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { ruleWith as rule } from "../../book-of.js";
import { childNames } from "../../counters/child-names.js";

/** 2026-01-01T00:00:00Z. */
const begin = 1_767_225_600_000;
const gpt: Target = { provider: "openai", model: "gpt-4o" };
const llama: Target = { provider: "local", model: "llama-3" };

function bookOf(...rules: readonly RuleDefinition[]): RuleBook {
  const book = new RuleBook();
  for (const definition of rules) book.put(definition, { source: "manual", nowMs: begin, lsn: 0 });
  return book;
}

function explain(
  book: RuleBook,
  {
    second = 0,
    userPath = "/team/app",
    targets = [gpt],
    tokensEnforced = true,
  }: {
    second?: number;
    userPath?: string;
    targets?: readonly Target[];
    tokensEnforced?: boolean;
  } = {},
): RulesExplanation {
  return explainVerdict(
    book,
    { userPath, targets, submission: false },
    { nowMs: begin + second * 1000, tokensEnforced },
  );
}

function take(
  book: RuleBook,
  times: number,
  userPath = "/team/app",
  targets: readonly Target[] = [gpt],
): void {
  for (let i = 0; i < times; i++)
    admit(book, { userPath, targets, submission: false }, { nowMs: begin, tokensEnforced: true });
}

t.test(
  "an admitted request: each rule that it meets, its counts, and where it would go",
  async (t) => {
    const book = bookOf(
      rule("user_path", "/team", 60, { requests: 10, tokens: 100 }),
      rule("provider", "openai", 0, { requests: 3 }),
      rule("user_path", "/other", 60, { requests: 1 }),
    );
    take(book, 2);
    t.same(explain(book, { second: 7 }), {
      server_time: "2026-01-01T00:00:07.000Z",
      user_path: "/team/app",
      verdict: {
        admitted: true,
        target: "openai/gpt-4o",
        retry_after: 0,
        admitted_at: "2026-01-01T00:00:07.000Z",
      },
      rules: [
        {
          scope: "user_path",
          subject: "/team",
          period_label: "minute",
          period_seconds: 60,
          max_requests: 10,
          max_tokens: 100,
          requests_used: 2,
          requests_remaining: 8,
          tokens_used: 0,
          tokens_remaining: 100,
          in_flight: 2,
          window_start: "2026-01-01T00:00:00Z",
          window_end: "2026-01-01T00:01:00Z",
          source: "manual",
          breached: [],
          retry_after: 0,
        },
      ],
      targets: [
        {
          target: "openai/gpt-4o",
          chosen: true,
          admits: true,
          message: null,
          retry_after: 0,
          rules: [
            {
              scope: "provider",
              subject: "openai",
              period_label: "concurrent",
              period_seconds: 0,
              max_requests: 3,
              requests_used: 2,
              requests_remaining: 1,
              tokens_used: 0,
              in_flight: 2,
              source: "manual",
              breached: [],
              retry_after: 0,
            },
          ],
        },
      ],
    });
  },
);

t.test("a request that names no model meets its provider's rules and no model's", async (t) => {
  const book = bookOf(
    rule("provider", "openai", 60, { requests: 1 }),
    rule("model", "gpt-4o", 60, { requests: 1 }),
  );
  const unnamed = { provider: "openai", model: "" };
  t.match(
    explain(book, { targets: [unnamed] }),
    exactly({
      verdict: { admitted: true, target: "openai/-" },
      targets: [{ target: "openai/-", rules: [{ scope: "provider" }] }],
    }),
  );
  take(book, 1, "/team", [unnamed]);
  t.match(explain(book, { targets: [unnamed] }).verdict, {
    admitted: false,
    rule: { scope: "provider", subject: "openai" },
  });
});

t.test("a refused request: the exact message, the rule, the wait and the moment", async (t) => {
  const book = bookOf(
    rule("user_path", "/team", 60, { requests: 1 }),
    rule("user_path", "/team", 86_400, { requests: 1 }),
  );
  take(book, 1);
  t.match(explain(book).verdict, {
    admitted: false,
    message: "rate limit exceeded for /team: day request limit of 1 reached",
    rule: { scope: "user_path", subject: "/team", period_label: "day", period_seconds: 86_400 },
    dimension: "requests",
    cap: 1,
    retry_after: 86_401,
    admitted_at: "2026-01-02T00:00:01.000Z",
    needs_slot: false,
  });
  t.match(
    explain(book).rules,
    exactly([
      { period_label: "minute", breached: ["requests"], retry_after: 61 },
      { period_label: "day", breached: ["requests"], retry_after: 86_401 },
    ]),
    "each rule has a wait of its own",
  );
  t.match(explain(book).targets, exactly([{ chosen: false, admits: true, message: null }]));
});

t.test(
  "a target without room is passed over, with the reason; if none has room, the first to have it counts",
  async (t) => {
    const book = bookOf(
      rule("provider", "openai", 60, { requests: 1 }),
      rule("model", "llama-3", 3600, { requests: 1 }),
    );
    take(book, 1);
    const targets = [gpt, llama];
    t.match(
      explain(book, { targets }),
      exactly({
        verdict: { admitted: true, target: "local/llama-3" },
        targets: [
          {
            chosen: false,
            admits: false,
            message: "rate limit exceeded for provider openai: minute request limit of 1 reached",
            retry_after: 61,
          },
          { chosen: true, admits: true, retry_after: 0 },
        ],
      }),
    );
    take(book, 1, "/", [llama]);
    t.match(
      explain(book, { targets }),
      exactly({
        verdict: {
          admitted: false,
          message: /provider openai/,
          retry_after: 61,
          needs_slot: false,
        },
        targets: [{ retry_after: 61 }, { retry_after: 3601, message: /model llama-3: hour/ }],
      }),
    );
  },
);

t.test("at a full gauge the explanation knows that time alone frees nothing", async (t) => {
  const book = bookOf(
    rule("user_path", "/team", 0, { requests: 1 }),
    rule("user_path", "/team", 60, { requests: 1 }),
  );
  take(book, 1);
  t.match(
    explain(book),
    exactly({
      verdict: { retry_after: 61, needs_slot: true },
      rules: [{ period_label: "concurrent", breached: ["concurrent"], retry_after: 1 }, {}],
    }),
  );
  const targets = [gpt, llama];
  const full = bookOf(
    rule("provider", "openai", 0, { requests: 1 }),
    rule("provider", "local", 60, { requests: 1 }),
  );
  take(full, 1, "/", [gpt]);
  take(full, 1, "/", [llama]);
  t.match(explain(full, { targets }).verdict, { retry_after: 1, needs_slot: true });
});

t.test(
  "a token rule that isn't enforced is flagged and not judged; its request limit is",
  async (t) => {
    const book = bookOf(rule("user_path", "/team", 60, { requests: 1, tokens: 5 }));
    charge(
      book,
      book.matchPath("/team/app", begin),
      { atMs: begin, requests: 0, tokens: 99 },
      begin,
    );
    t.match(
      explain(book),
      exactly({
        verdict: { admitted: false, dimension: "tokens" },
        rules: [{ breached: ["tokens"] }],
      }),
    );
    const unenforced = explain(book, { tokensEnforced: false });
    t.match(
      unenforced,
      exactly({
        verdict: { admitted: true },
        rules: [{ breached: { length: 0 }, inert: /usage tracking/, tokens_used: 99 }],
      }),
    );
    take(book, 1);
    charge(
      book,
      book.matchPath("/team/app", begin),
      { atMs: begin, requests: 1, tokens: 0 },
      begin,
    );
    t.match(explain(book, { tokensEnforced: false }).rules, exactly([{ breached: ["requests"] }]));
  },
);

t.test("a template is explained for the child, and an unknown child isn't made", async (t) => {
  const book = bookOf(rule("user_path", "/users", 60, { requests: 2, perChild: true }));
  t.match(
    explain(book, { userPath: "/users/ann/phone" }).rules,
    exactly([
      {
        subject: "/users/ann",
        template: "/users",
        requests_used: 0,
        requests_remaining: 2,
        max_requests: 2,
      },
    ]),
  );
  t.equal(book.sorted()[0]!.children.size, 0);
  take(book, 2, "/users/ann");
  t.match(
    explain(book, { userPath: "/users/ann/phone" }),
    exactly({
      verdict: {
        admitted: false,
        message: "rate limit exceeded for /users/ann: minute request limit of 2 reached",
      },
      rules: [{ requests_used: 2 }],
    }),
  );
  t.match(
    explain(book, { userPath: "/users" }).rules,
    { length: 0 },
    "the template's own path isn't matched",
  );
  t.equal(book.sorted()[0]!.children.size, 1);
});

/** Everything that a book holds, deep. */
function stateOf(book: RuleBook): unknown {
  const counter = ({ rule: _, ...rest }: Counter): unknown => structuredClone(rest);
  const all = (children: Rule["children"]): unknown =>
    childNames(children).map((name) => [name, counter(children.copy(name)!)]);
  return [
    book.version,
    book.childCount,
    book
      .sorted()
      .map((rule) => book.fresh(rule))
      .map(({ own, children, retired, ...rest }) => [
        structuredClone(rest),
        own === null ? null : counter(own),
        all(children),
        retired.map(all),
      ]),
  ];
}

/** What a snapshot does in memory: what is written rests. */
function settleDown(book: RuleBook): void {
  for (const _ of book.takeDirty() ?? []);
  book.reclaim();
}

const cap = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 4 }) },
  { weight: 1, arbitrary: fc.integer({ min: 5, max: 1000 }) },
);
const anyRule = fc
  .record({
    of: fc.constantFrom<readonly [Scope, string]>(
      ["user_path", "/"],
      ["user_path", "/a"],
      ["user_path", "/a/b"],
      ["provider", "OpenAI"],
      ["provider", "local"],
      ["model", "gpt-4o"],
      ["model", "local/LLAMA-3"],
    ),
    periodSeconds: fc.constantFrom(0, 7, 60, 3600),
    requests: fc.option(cap),
    tokens: fc.option(cap),
    perChild: fc.boolean(),
  })
  .map(
    ({ of: [scope, subject], periodSeconds, requests, tokens, perChild }): RuleDefinition => ({
      scope,
      subject,
      periodSeconds,
      maxRequests: requests ?? (periodSeconds === 0 || tokens === null ? 2 : null),
      maxTokens: periodSeconds === 0 ? null : tokens,
      perChild: perChild && scope === "user_path",
    }),
  );
const step = fc.record({
  pauseMs: fc.oneof(
    { weight: 4, arbitrary: fc.nat(1500) },
    { weight: 2, arbitrary: fc.nat(70_000) },
    { weight: 1, arbitrary: fc.nat(9_000_000) },
  ),
  userPath: fc.constantFrom("/", "/a", "/a/b", "/a/b/c", "/a/x", "/z"),
  targets: fc.uniqueArray(fc.constantFrom(gpt, llama, { provider: "azure", model: "GPT-4o" }), {
    minLength: 1,
    maxLength: 3,
  }),
  ends: fc.option(fc.record({ which: fc.nat(), tokens: fc.nat(6) })),
  also: fc.oneof(
    { weight: 6, arbitrary: fc.constant("nothing") },
    { weight: 2, arbitrary: fc.constant("snapshot") },
    { weight: 1, arbitrary: fc.constantFrom("reset one", "reset all", "sweep") },
  ),
});

t.test(
  "explaining changes nothing and agrees with the admission right after it, whatever happened before",
  async (t) => {
    const tally = { admitted: 0, refused: 0, waited: 0 };
    fc.assert(
      fc.property(
        fc.array(anyRule, { minLength: 1, maxLength: 7 }),
        fc.array(step, { minLength: 1, maxLength: 40, size: "max" }),
        fc.boolean(),
        (definitions, steps, tokensEnforced) => {
          const book = bookOf(...definitions);
          const open: (readonly Counter[])[] = [];
          let nowMs = begin;
          for (const { pauseMs, userPath, targets, ends, also } of steps) {
            nowMs += pauseMs;
            if (also === "snapshot") settleDown(book);
            else if (also === "sweep") book.forgetIdle(nowMs, 3);
            else if (also === "reset one") book.reset(book.sorted()[0]!, 0);
            else if (also === "reset all") book.resetAll(0);
            if (ends !== null && open.length > 0) {
              const [counters] = open.splice(ends.which % open.length, 1);
              freeSlots(counters!);
              charge(book, counters!, { atMs: nowMs, requests: 0, tokens: ends.tokens }, nowMs);
            }
            const before = stateOf(book);
            const at = (second: number): RulesExplanation =>
              explainVerdict(
                book,
                { userPath, targets, submission: false },
                { nowMs: nowMs + second * 1000, tokensEnforced },
              );
            const { verdict, targets: candidates } = at(0);
            if (!verdict.admitted && verdict.retry_after !== null) {
              const wait = verdict.retry_after;
              if (wait > 1 && at(wait - 1).verdict.admitted)
                throw new Error("admitted a second before the wait was over");
              if (!verdict.needs_slot) {
                tally.waited++;
                if (!at(wait).verdict.admitted)
                  throw new Error("not admitted at the moment that was explained");
              }
            }
            if (!isDeepStrictEqual(stateOf(book), before))
              throw new Error("explaining left a trace");
            const real = admit(
              book,
              { userPath, targets, submission: false },
              { nowMs, tokensEnforced },
            );
            if (real.kind === "admitted") {
              tally.admitted++;
              open.push(real.counters);
              if (!verdict.admitted || candidates.findIndex(({ chosen }) => chosen) !== real.target)
                throw new Error(
                  `admitted to ${real.target}, explained as ${JSON.stringify(verdict)}`,
                );
              continue;
            }
            tally.refused++;
            if (real.breach.dimension === "budget") throw new Error("no budget was judged");
            const {
              scope,
              subject,
              periodSeconds,
              dimension,
              cap: limit,
              waitSeconds,
            } = real.breach;
            const {
              rule: named,
              dimension: explained,
              cap: explainedCap,
              retry_after: wait,
            } = verdict as {
              rule: { scope: string; subject: string; period_seconds: number };
              dimension: string;
              cap: number;
              retry_after: number;
            };
            if (
              !isDeepStrictEqual(
                [named.scope, named.subject, named.period_seconds, explained, explainedCap, wait],
                [scope, subject, periodSeconds, dimension, limit, waitSeconds],
              )
            )
              throw new Error(
                `${JSON.stringify(real.breach)}, explained as ${JSON.stringify(verdict)}`,
              );
          }
        },
      ),
      { numRuns: 150, includeErrorInReport: true },
    );
    t.ok(tally.admitted > 500 && tally.refused > 200 && tally.waited > 200, JSON.stringify(tally));
  },
);
