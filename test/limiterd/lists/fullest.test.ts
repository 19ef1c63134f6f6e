import fc from "fast-check";
import t from "tap";
import { fullest, LastAnswers, rank } from "../../../limiterd/lists/fullest.js";
import { exactly } from "../../support/patterns/exactly.js";
import { budget, client, noon, spend, usd } from "../budgets/budget-fixture.js";
import { ask, askFor, pathRule, refusal, startDaemon } from "../in-memory-daemon.js";

interface Listed {
  readonly subject: string;
}

const atOnce = { yieldToEventLoop: () => Promise.resolve() };

t.test("whatever is used, the first of all by use and name are found", async () => {
  const names = fc.uniqueArray(fc.string({ maxLength: 4 }), { maxLength: 200 });
  await fc.assert(
    fc.asyncProperty(
      names,
      fc.array(fc.nat(5)),
      fc.integer({ min: 1, max: 9 }),
      async (all, uses, limit) => {
        const useOf = new Map(all.map((name, i) => [name, uses[i] ?? 0]));
        // 5 stands for one that isn't listed.
        const ratio = (name: string): number | null => {
          const used = useOf.get(name)!;
          return used === 5 ? null : used / 4;
        };
        const expected = all
          .filter((name) => ratio(name) !== null)
          .sort((a, b) => ratio(b)! - ratio(a)! || (a < b ? -1 : 1))
          .slice(0, limit);
        // A walk may come to a name twice.
        const found = await fullest([...all, ...all.slice(0, 50)], limit, ratio, atOnce);
        return JSON.stringify(found) === JSON.stringify(expected);
      },
    ),
  );
});

t.test("many are looked at in slices", async (t) => {
  let pauses = 0;
  const names = Array.from({ length: 10_000 }, (_, i) => `${i}`);
  const found = await fullest(names, 2, Number, {
    yieldToEventLoop: () => {
      pauses++;
      return Promise.resolve();
    },
  });
  t.same(found, ["9999", "9998"]);
  t.equal(pauses, 5);
});

t.test("the rules of which most is used are listed first", async (t) => {
  const daemon = startDaemon([
    pathRule("/a", 60, { requests: 10, tokens: 1000 }),
    pathRule("/b", 60, { requests: 4 }),
    pathRule("/c", 0, { requests: 3 }),
    pathRule("/d", 60, { requests: 1 }),
    { ...pathRule("/users", 60, { requests: 1 }), perChild: true },
  ]);
  const peer = daemon.proxy("p1");
  let id = 1;
  for (const path of ["/a", "/a", "/b", "/b", "/b", "/c", "/users/ann"]) askFor(peer, ++id, path);
  const list = async (query: object): Promise<readonly string[]> => {
    const { rate_limits } = await ask(daemon, "rate-limits.list", { order: "use", ...query });
    return (rate_limits as Listed[]).map(({ subject }) => subject);
  };
  t.same(await list({}), ["/users/ann", "/b", "/c", "/a", "/d", "/users"]);
  t.same(await list({ limit: 2 }), ["/users/ann", "/b"]);
  t.same(await list({ search: "A" }), ["/users/ann", "/a"], "narrowed as in the order of names");
  t.match(
    await ask(daemon, "rate-limits.list", { order: "use", limit: 1, search: "b" }),
    exactly({
      rate_limits: [{ subject: "/b", requests_used: 3, requests_remaining: 1 }],
      next: null,
    }),
  );
  t.same(await list({ user_path: "/users/ann" }), ["/users/ann"]);
  t.same(
    await list({ user_path: "/users/bob" }),
    ["/users/bob"],
    "named by the path, though unused",
  );
  daemon.nowMs += 120_000;
  t.same(await list({ limit: 1 }), ["/c"], "a window that is over counts no more, a slot does");
  await ask(daemon, "rate-limits.reset", { confirmation: "reset" });
  t.same(await list({ limit: 2 }), ["/c", "/a"]);
  for (const [body, param] of [
    [{ order: "use", after: "x" }, "after"],
    [{ order: "size" }, "order"],
    [{ order: "use", limit: 201 }, "limit"],
  ] as const)
    t.match(await refusal(ask(daemon, "rate-limits.list", body)), { param });
});

t.test("of 100,000 rules, looked at in slices, the fullest are found", async (t) => {
  const rules = Array.from({ length: 100_000 }, (_, i) => pathRule(`/u${i}`, 60, { requests: 9 }));
  const daemon = startDaemon(rules);
  const peer = daemon.proxy("p1");
  for (const [i, path] of ["/u99999", "/u70000", "/u99999"].entries()) askFor(peer, i + 2, path);
  const page = await ask(daemon, "rate-limits.list", { order: "use", limit: 3 });
  t.match(
    page,
    exactly({
      rate_limits: [{ subject: "/u99999" }, { subject: "/u70000" }, { subject: "/u0" }],
    }),
  );
  const made = [...daemon.state.book.rules.values()].filter(({ counted }) => counted !== null);
  t.equal(made.length, 3, "nothing is made for those that nobody used, but what is listed");
});

t.test("the budgets of which most is spent are listed first", async (t) => {
  const daemon = startDaemon([], {
    nowMs: noon,
    budgets: [
      budget("/a", 86_400, 10),
      budget("/b", 86_400, 1),
      budget("/c", 3600, 2),
      budget("/users", 86_400, 1, { perChild: true }),
    ],
  });
  const proxy = client(daemon);
  spend(proxy, "/a", 2 * usd);
  spend(proxy, "/b", 1.5 * usd);
  spend(proxy, "/users/ann", 1 * usd);
  const { budgets } = await ask(daemon, "budgets.list", { order: "use", limit: 3 });
  t.match(
    budgets,
    exactly([
      { subject: "/b", usage_ratio: 1.5 },
      { subject: "/users/ann", template: "/users", usage_ratio: 1 },
      { subject: "/a", usage_ratio: 0.2 },
    ]),
  );
  for (const [order, user_path, usage_ratio] of [
    ["use", "/users/ann", 1],
    ["name", "/users/ann", 1],
    ["use", "/users/bob", 0],
    ["name", "/users/bob", 0],
  ] as const)
    t.match(
      (await ask(daemon, "budgets.list", { order, user_path }))["budgets"],
      exactly([{ subject: user_path, template: "/users", amount: 1, usage_ratio }]),
      `${order} ${user_path}`,
    );
});

t.test(
  "where hosts share, what a page shows is asked of the others, and nothing else",
  async (t) => {
    const daemon = startDaemon(
      [
        pathRule("/a", 60, { requests: 9 }),
        { ...pathRule("/b", 60, { requests: 9 }), perChild: true },
      ],
      {
        budgets: [
          budget("/a", 86_400, 1),
          budget("/b", 86_400, 2),
          budget("/users", 86_400, 1, { perChild: true }),
        ],
      },
    );
    const proxy = client(daemon);
    spend(proxy, "/users/ann", 0.5 * usd);
    spend(proxy, "/users/bob", 0.25 * usd);
    const asked: (readonly string[])[] = [];
    const refresh = async (accounts: Iterable<{ readonly subject: string }>): Promise<void> =>
      void asked.push(Array.from(accounts, ({ subject }) => subject));
    const followed = new Set<string>();
    daemon.state.budgets.others = {
      claims: null,
      spentIn: ({ subject }) => {
        followed.add(subject);
        return null;
      },
      periodsOf: () => [],
      peek: { claims: null, spentIn: () => null, periodsOf: () => [] },
      seenAgeMs: () => null,
      refresh,
      noteCharge: () => {},
      lookedUp: () => {},
    };
    Object.assign(daemon.state, {
      shares: { refresh, turn: { hostCount: 2 }, enter: () => {} },
    });
    const key = { user_path: "/users", period: "daily" };
    for (const [op, body, expected] of [
      ["budgets.list", { limit: 1 }, ["/a"]],
      ["budgets.list", { order: "use" }, ["/users/ann", "/users/bob", "/a", "/b"]],
      ["budgets.list", { order: "use", limit: 1 }, ["/users/ann"]],
      ["budgets.children", { ...key, limit: 1 }, ["/users/ann"]],
      ["rate-limits.list", {}, ["/a"]],
      ["rate-limits.list", { order: "use", limit: 1 }, ["/a"]],
    ] as const) {
      asked.length = 0;
      followed.clear();
      await ask(daemon, op, body);
      const name = `${op} ${JSON.stringify(body)}`;
      t.same(asked, [expected], name);
      if (op.startsWith("budgets")) t.same([...followed], expected, `followed by ${name}`);
    }
  },
);

t.test("a long ranking is reused for a while, a short one isn't", async (t) => {
  const query = { after: null, limit: 2, search: "", userPath: "/", chosen: {} };
  const yieldToEventLoop = async (): Promise<void> => {};
  const names = (count: number): readonly string[] =>
    Array.from({ length: count }, (_, i) => `n${i}`);
  let first = "n1";
  const ratio = (name: string): number => (name === first ? 1 : 0);
  let wallMs = 0;
  const last = new LastAnswers<readonly string[]>(() => wallMs);
  const top = async (count: number, nowMs: number, search = "") => {
    wallMs = nowMs;
    const limits = new Map(names(count).map((name) => [name, null]));
    const ranked = { query: { ...query, search }, limits, templates: [] };
    return (await rank(last, ranked, ratio, { yieldToEventLoop }))[0];
  };
  for (const count of [10, 100_000]) t.equal(await top(count, 0), "n1");
  first = "n2";
  t.equal(await top(10, 0), "n2");
  t.equal(await top(100_000, 1999), "n1");
  t.equal(await top(100_000, 1999, "n"), "n2", "another query");
  t.equal(await top(100_000, 1999), "n1", "which evicts nothing");
  first = "n3";
  t.equal(await top(100_000, 2000), "n3");
  first = "n4";
  t.equal(await top(100_000, 1000), "n4", "the clock went back");
  first = "n5";
  t.equal(await top(100_000, 3000), "n5");
});

t.test(
  "answers of long walks are reused by question, and shared while they are made",
  async (t) => {
    let wallMs = 0;
    const answers = new LastAnswers<string>(() => wallMs);
    let made = 0;
    const ask = (key: string, nowMs: number, walked = 100_000) => {
      wallMs = nowMs;
      return answers.of({ key, walked }, () => Promise.resolve(`${key}${++made}`));
    };
    t.same(await Promise.all([ask("a", 0), ask("a", 0), ask("b", 0)]), ["a1", "a1", "b2"]);
    t.equal(await ask("a", 1999), "a1", "another question doesn't evict it");
    t.equal(await ask("a", 2000), "a3");
    t.equal(await ask("a", 1000), "a4", "the clock went back");
    t.equal(await ask("short", 0, 10), "short5");
    t.equal(await ask("short", 0, 10), "short6");
    for (let i = 0; i < 16; i++) await ask(`other${i}`, 1000);
    t.equal(await ask("a", 1000), "a23", "16 are kept");
    const failing = () =>
      answers.of({ key: "f", walked: 100_000 }, () => Promise.reject(new Error("away")));
    await t.rejects(failing(), { message: "away" });
    t.equal(await ask("f", 0), "f24");
    const slow = answers.of({ key: "slow", walked: 100_000 }, async () => {
      await Promise.resolve();
      wallMs = 5000;
      return "slow";
    });
    t.equal(await slow, "slow");
    t.equal(await ask("slow", 6999), "slow", "its time begins when it arrives");
    t.equal(await ask("slow", 7000), "slow25");
  },
);
