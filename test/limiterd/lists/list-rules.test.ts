import t from "tap";
import type { ListQuery } from "../../../limiterd/lists/list-query.js";
import { listRules } from "../../../limiterd/lists/list-rules.js";
import { charge } from "../../../limiterd/rules/charge.js";
import { RuleBook } from "../../../limiterd/rules/rule-book.js";
import { takeSlots } from "../../../limiterd/rules/slots.js";
import { itemsPerPage } from "../../../shared/bounds.js";
import { tokensInert } from "../../../shared/config/inert-rule.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import { exactly } from "../../support/patterns/exactly.js";
import { ruleWith as rule } from "../book-of.js";
import { wholeList } from "./whole-list.js";

/** 2026-01-01T00:00:00Z. */
const begin = 1_767_225_600_000;

function bookOf(rules: readonly RuleDefinition[]): RuleBook {
  const book = new RuleBook();
  for (const definition of rules) book.put(definition, { source: "manual", nowMs: begin, lsn: 0 });
  return book;
}

const list = (
  book: RuleBook,
  nowMs: number,
  { usageEnabled = true, after = null }: { usageEnabled?: boolean; after?: string | null } = {},
): ReturnType<typeof listRules> =>
  listRules(book, {
    nowMs,
    inertReason: (of) => tokensInert(of, usageEnabled),
    configFile: null,
    declared: { get: () => null },
    query: { ...wholeList, after },
  });

t.test("an item has the rule, its current counts and the bounds of its window", async (t) => {
  const book = bookOf([rule("user_path", "/team", 60, { requests: 10, tokens: 1000 })]);
  const [counter] = book.matchPath("/team/app", begin);
  takeSlots([counter!]);
  charge(book, [counter!], { atMs: begin + 30_500, requests: 4, tokens: 250 }, begin + 30_500);
  const item = {
    scope: "user_path",
    subject: "/team",
    effective_subject: "/team",
    user_path: "/team",
    per_child: false,
    period_label: "minute",
    period_seconds: 60,
    max_requests: 10,
    max_tokens: 1000,
    source: "manual",
    created_at: "2026-01-01T00:00:00Z",
    updated_at: "2026-01-01T00:00:00Z",
    in_flight: 1,
  };
  t.same(list(book, begin + 31_007), {
    rate_limits: [
      {
        ...item,
        requests_used: 4,
        requests_remaining: 6,
        tokens_used: 250,
        tokens_remaining: 750,
        window_start: "2026-01-01T00:00:00Z",
        window_end: "2026-01-01T00:01:00Z",
      },
    ],
    server_time: "2026-01-01T00:00:31.007Z",
    next: null,
  });
  t.same(
    list(book, begin + 90_000).rate_limits,
    [
      {
        ...item,
        requests_used: 2,
        requests_remaining: 8,
        tokens_used: 125,
        tokens_remaining: 875,
        window_start: "2026-01-01T00:01:00Z",
        window_end: "2026-01-01T00:02:00Z",
      },
    ],
    "half of the window before weighs",
  );
  t.same(list(book, begin + 180_000).rate_limits, [
    {
      ...item,
      requests_used: 0,
      requests_remaining: 10,
      tokens_used: 0,
      tokens_remaining: 1000,
      window_start: "2026-01-01T00:03:00Z",
      window_end: "2026-01-01T00:04:00Z",
    },
  ]);
});

t.test("fields are present only where they apply", async (t) => {
  const always = [
    "scope",
    "subject",
    "effective_subject",
    "per_child",
    "period_seconds",
    "period_label",
    "source",
    "created_at",
    "updated_at",
    "requests_used",
    "tokens_used",
    "in_flight",
  ];
  const window = ["window_start", "window_end"];
  const table: readonly (readonly [
    name: string,
    definition: RuleDefinition,
    more: readonly string[],
  ])[] = [
    [
      "requests alone",
      rule("user_path", "/", 60, { requests: 1 }),
      ["user_path", "max_requests", "requests_remaining", ...window],
    ],
    [
      "tokens alone",
      rule("user_path", "/", 60, { tokens: 1 }),
      ["user_path", "max_tokens", "tokens_remaining", ...window],
    ],
    [
      "a provider",
      rule("provider", "openai", 60, { requests: 1 }),
      ["max_requests", "requests_remaining", ...window],
    ],
    [
      "a model",
      rule("model", "gpt-4o", 300, { requests: 1, tokens: 1 }),
      ["max_requests", "requests_remaining", "max_tokens", "tokens_remaining", ...window],
    ],
    [
      "a gauge",
      rule("user_path", "/", 0, { requests: 1 }),
      ["user_path", "max_requests", "requests_remaining"],
    ],
    [
      "a template",
      rule("user_path", "/", 60, { requests: 1, tokens: 1, perChild: true }),
      ["user_path", "max_requests", "max_tokens"],
    ],
    [
      "a template of gauges",
      rule("user_path", "/", 0, { requests: 1, perChild: true }),
      ["user_path", "max_requests"],
    ],
  ];
  for (const [name, definition, more] of table)
    t.same(
      Object.keys(list(bookOf([definition]), begin).rate_limits[0]!).sort(),
      [...always, ...more].sort(),
      name,
    );
});

t.test("a gauge lists what is in flight as used", async (t) => {
  const book = bookOf([rule("provider", "OpenAI", 0, { requests: 3 })]);
  const met = book.matchTarget({ provider: "openai", model: "a" }, "/", begin);
  for (let i = 0; i < 4; i++) takeSlots(met);
  t.match(
    list(book, begin).rate_limits,
    exactly([
      {
        subject: "OpenAI",
        effective_subject: "openai",
        period_label: "concurrent",
        period_seconds: 0,
        in_flight: 4,
        requests_used: 4,
        requests_remaining: 0,
        tokens_used: 0,
      },
    ]),
  );
});

t.test("a template lists zeros, whatever its children count", async (t) => {
  const book = bookOf([rule("user_path", "/team", 60, { requests: 3, perChild: true })]);
  const met = book.matchPath("/team/app", begin);
  takeSlots(met);
  charge(book, met, { atMs: begin, requests: 2, tokens: 5 }, begin);
  t.match(
    list(book, begin).rate_limits,
    exactly([{ per_child: true, requests_used: 0, tokens_used: 0, in_flight: 0 }]),
  );
});

t.test("what is left is never less than nothing", async (t) => {
  const book = bookOf([rule("user_path", "/", 60, { requests: 2, tokens: 10 })]);
  charge(book, book.matchPath("/", begin), { atMs: begin, requests: 5, tokens: 999 }, begin);
  t.match(
    list(book, begin).rate_limits,
    exactly([{ requests_used: 5, requests_remaining: 0, tokens_used: 999, tokens_remaining: 0 }]),
  );
});

t.test(
  "a rule that can't be enforced is listed with the reason, and only such a rule",
  async (t) => {
    const book = bookOf([
      rule("user_path", "/a", 60, { tokens: 5 }),
      rule("user_path", "/b", 60, { requests: 5 }),
      rule("user_path", "/c", 60, { requests: 5, tokens: 5 }),
    ]);
    t.same(
      list(book, begin, { usageEnabled: false }).rate_limits.map(({ inert }) => typeof inert),
      ["string", "undefined", "string"],
    );
    t.same(
      list(book, begin).rate_limits.map(({ inert }) => inert),
      [undefined, undefined, undefined],
    );
  },
);

t.test("rules are listed in the order scope, subject, period", async (t) => {
  const book = bookOf([
    rule("user_path", "/b", 60, { requests: 1 }),
    rule("user_path", "/a", 3600, { requests: 1 }),
    rule("user_path", "/a", 60, { requests: 1 }),
    rule("provider", "Zed", 60, { requests: 1 }),
    rule("model", "m", 60, { requests: 1 }),
    rule("provider", "abc", 60, { requests: 1 }),
  ]);
  t.same(
    list(book, begin).rate_limits.map(
      ({ scope, subject, period_seconds: seconds }) => `${scope} ${subject} ${seconds}`,
    ),
    [
      "model m 60",
      "provider abc 60",
      "provider Zed 60",
      "user_path /a 60",
      "user_path /a 3600",
      "user_path /b 60",
    ],
  );
});

/** All pages; `between` runs after each. */
function allPages(
  book: RuleBook,
  between: () => void = () => {},
): { readonly subjects: unknown[]; readonly sizes: number[] } {
  const subjects: unknown[] = [];
  const sizes: number[] = [];
  let after: string | null = null;
  do {
    const page = list(book, begin, { after });
    sizes.push(page.rate_limits.length);
    subjects.push(...page.rate_limits.map(({ subject }) => subject));
    after = page.next;
    between();
  } while (after !== null);
  return { subjects, sizes };
}

const numbered = (from: number, count: number): RuleDefinition[] =>
  Array.from({ length: count }, (_, i) =>
    rule("user_path", `/n/${String(from + i).padStart(5, "0")}`, 60, { requests: 1 }),
  );

t.test("a long list comes in pages, each rule once", async (t) => {
  for (const [count, sizes] of [
    [0, [0]],
    [1, [1]],
    [itemsPerPage, [itemsPerPage]],
    [itemsPerPage + 1, [itemsPerPage, 1]],
    [2 * itemsPerPage + 7, [itemsPerPage, itemsPerPage, 7]],
  ] as const) {
    const rules = numbered(0, count);
    const pages = allPages(bookOf(rules));
    t.same(pages.sizes, sizes);
    t.same(
      pages.subjects,
      rules.map(({ subject }) => subject),
    );
  }
});

t.test("pages stay right when rules come and go between them", async (t) => {
  const rules = numbered(1000, 2 * itemsPerPage);
  const book = bookOf(rules);
  let page = 0;
  const { subjects } = allPages(book, () => {
    page++;
    if (page !== 1) return;
    book.delete(rules[itemsPerPage - 1]!);
    for (const early of numbered(0, 50))
      book.put(early, { source: "manual", nowMs: begin, lsn: 0 });
    book.delete(rules[itemsPerPage]!);
  });
  t.same(
    subjects,
    rules.map(({ subject }) => subject).filter((_, i) => i !== itemsPerPage),
    "each that was there all the time, once; the last of the first page is gone and nothing is skipped",
  );
});

t.test("a page continues after a name in any case, and any text for it does no harm", async (t) => {
  const rules = [
    rule("provider", "Alpha", 60, { requests: 1 }),
    rule("provider", "alpha", 300, { requests: 1 }),
    rule("provider", "beta", 60, { requests: 1 }),
  ];
  const book = bookOf(rules);
  const [first] = book.sorted();
  t.same(
    list(book, begin, { after: first!.id }).rate_limits.map(({ subject }) => subject),
    ["alpha", "beta"],
  );
  for (const after of [
    "",
    "\n",
    "zzz",
    "user_path\n/\nx",
    "provider\nbeta\n60",
    "\u0000\n\n\n\n",
    "provider",
  ])
    t.ok(Array.isArray(list(book, begin, { after }).rate_limits), JSON.stringify(after));
  t.same(list(book, begin, { after: "user_path\n/zzz\n60" }), {
    rate_limits: [],
    server_time: "2026-01-01T00:00:00.000Z",
    next: null,
  });
});

t.test("a rule that was edited shows what the file declares in its place, cap by cap", (t) => {
  const edited = rule("user_path", "/team", 60, { requests: 1 });
  for (const [changes, shown] of [
    [{ maxRequests: 5 }, { per_child: false, max_requests: 5 }],
    [{ maxTokens: 9 }, { per_child: false, max_tokens: 9 }],
    [
      { maxTokens: 9, perChild: true },
      { per_child: true, max_tokens: 9 },
    ],
    [
      { maxRequests: 5, maxTokens: 9, hostOnly: true },
      { per_child: false, host_only: true, max_requests: 5, max_tokens: 9 },
    ],
  ] as const) {
    const definition = { ...edited, maxRequests: null, ...changes };
    const overrides = (source: "manual" | "config"): unknown => {
      const book = new RuleBook();
      book.put(edited, { source, nowMs: begin, lsn: 0 });
      return listRules(book, {
        nowMs: begin,
        inertReason: () => null,
        configFile: null,
        declared: { get: () => ({ definition, at: null }) },
        query: wholeList,
      }).rate_limits[0]!["overrides"];
    };
    t.strictSame(overrides("manual"), shown, JSON.stringify(changes));
    t.equal(overrides("config"), undefined);
  }
  t.end();
});

t.test("a list is narrowed by scope, source and a part of the subject", (t) => {
  const book = bookOf([
    rule("model", "gpt-4o", 60, { requests: 1 }),
    rule("user_path", "/acme/app", 60, { requests: 1 }),
    rule("user_path", "/other", 60, { requests: 1 }),
  ]);
  book.put(rule("user_path", "/ACME", 60, { requests: 1 }), {
    source: "config",
    nowMs: begin,
    lsn: 0,
  });
  const subjects = (query: Partial<ListQuery>): unknown[] =>
    listRules(book, {
      nowMs: begin,
      inertReason: () => null,
      configFile: null,
      declared: { get: () => null },
      query: { ...wholeList, ...query },
    }).rate_limits.map((item) => item["subject"]);
  t.same(subjects({ search: "acme" }), ["/ACME", "/acme/app"]);
  t.same(subjects({ search: "acme", chosen: { source: "config" } }), ["/ACME"]);
  t.same(subjects({ chosen: { scope: "model" } }), ["gpt-4o"]);
  t.end();
});

t.test("on the path of a template's child, the list has the child with its own counts", (t) => {
  const book = bookOf([
    rule("user_path", "/", 60, { requests: 100 }),
    rule("user_path", "/", 60, { requests: 90, perChild: true }),
    {
      ...rule("user_path", "/tenants", 60, { requests: 9, perChild: true }),
      measureCaps: { cost: 5 },
    },
    rule("user_path", "/tenants", 3600, { requests: 80 }),
    rule("user_path", "/tenants/acme", 86_400, { requests: 7 }),
    rule("user_path", "/tenants/acme/dev", 60, { requests: 6 }),
    rule("user_path", "/tenants/other", 60, { requests: 5 }),
  ]);
  for (const path of ["/tenants/acme/dev", "/tenants/other"])
    charge(book, book.matchPath(path, begin), { atMs: begin, requests: 4, tokens: 1 }, begin);
  const on = (userPath: string, query: Partial<ListQuery> = {}): unknown[] =>
    listRules(book, {
      nowMs: begin,
      inertReason: () => null,
      configFile: null,
      declared: { get: () => null },
      query: { ...wholeList, userPath, ...query },
    }).rate_limits.map((item) => [item.subject, item.template, item.requests_used]);
  const own = [
    ["/tenants/acme/dev", undefined, 4],
    ["/tenants/acme", undefined, 4],
  ];
  t.same(on("/tenants/acme"), [["/tenants/acme", "/tenants", 4], own[1], own[0]]);
  t.same(on("/tenants/new"), [["/tenants/new", "/tenants", 0]], "also before its first request");
  t.same(on("/tenants/acme/dev"), [own[0]], "what is above isn't of the path");
  t.same(on("/tenants/acme", { search: "dev" }), [own[0]]);
  t.same(on("/tenants/acme", { limit: 1 }), [["/tenants/acme", "/tenants", 4]]);
  t.same(on("/tenants/acme", { chosen: { source: "config" } }), []);
  t.equal(book.rules.get("user_path\n/tenants\n60")?.children.has("new"), false);
  t.end();
});
