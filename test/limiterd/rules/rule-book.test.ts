import t from "tap";
import { charge } from "../../../limiterd/rules/charge.js";
import {
  allCountersOf,
  hasWindow,
  inRuleOrder,
  isSameTarget,
  noRules,
  RuleBook,
  TargetRules,
  targetCountersOf,
} from "../../../limiterd/rules/rule-book.js";
import { freeSlots, takeSlots } from "../../../limiterd/rules/slots.js";
import type { ForgottenChild } from "../../../limiterd/rules/templates.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { bookOf, matchKept, names, now, rule } from "../book-of.js";
import { childNames } from "../counters/child-names.js";
import { ask, askFor, counts, settleOf, startDaemon } from "../in-memory-daemon.js";

const minute = 60_000;

/** What a snapshot would write now, as `subject period`. */
const written = (book: RuleBook): string[] =>
  [...(book.takeDirty() ?? [])].map(
    ({ ruleId, child }) =>
      `${ruleId.split("\n")[1]}${child === "" ? "" : `/${child}`} ${ruleId.split("\n")[2]}`,
  );
/** Forgotten children, in the same form. */
const gone = (forgotten: readonly ForgottenChild[]): string[] =>
  forgotten.map(
    ({ rule, child }) => `${rule.definition.subject}/${child} ${rule.definition.periodSeconds}`,
  );

t.test(
  "writing a rule again replaces both caps and keeps what is counted and in flight",
  async (t) => {
    const book = bookOf(rule("user_path", "/team", 60, { requests: 10, tokens: 100 }));
    const [counter] = matchKept(book, "/team", now);
    takeSlots([counter!]);
    charge(book, [counter!], { atMs: now, requests: 1, tokens: 30 }, now);
    const { version } = book;
    const written = book.put(
      { ...rule("user_path", "/team"), maxRequests: null, maxTokens: 5 },
      { source: "config", nowMs: now + 5, lsn: 9 },
    );
    t.match(written, {
      definition: { maxRequests: null, maxTokens: 5 },
      source: "config",
      createdAtMs: now,
      updatedAtMs: now + 5,
      sinceLsn: 1,
    });
    t.equal(matchKept(book, "/team", now)[0], counter, "the same counter");
    t.match(counter, { inFlight: 1, window: { currentRequests: 1, currentTokens: 30 } });
    t.equal(book.version, version, "what was matched before is still valid");
    t.equal(book.rules.size, 1);
  },
);

t.test(
  "a provider or model rule written in another case is the same rule, and is named as it was written last",
  async (t) => {
    const book = bookOf(rule("provider", "openai"), rule("model", "gpt-4o"));
    book.put(rule("provider", "OpenAI", 60, { requests: 1 }), {
      source: "manual",
      nowMs: now,
      lsn: 2,
    });
    book.put(rule("model", "GPT-4o", 60, { requests: 1 }), {
      source: "manual",
      nowMs: now,
      lsn: 2,
    });
    t.equal(book.rules.size, 2);
    t.same(
      book.sorted().map(({ definition }) => definition.subject),
      ["GPT-4o", "OpenAI"],
    );
    t.same(
      book
        .matchTarget({ provider: "openai", model: "gpt-4o" }, "/", now)
        .map(({ subject }) => subject),
      ["GPT-4o", "OpenAI"],
      "by messages too",
    );
  },
);

t.test("the same path with another period, or in another case, is another rule", async (t) => {
  const book = bookOf(
    rule("user_path", "/team", 60),
    rule("user_path", "/team", 3600),
    rule("user_path", "/Team", 60),
    rule("user_path", "/team", 0),
  );
  t.equal(book.rules.size, 4);
});

t.test(
  "a deleted rule isn't matched any more, and a deletion without a rule returns null",
  async (t) => {
    const book = bookOf(
      rule("user_path", "/team"),
      rule("user_path", "/team", 3600),
      rule("provider", "OpenAI"),
    );
    const { version } = book;
    t.equal(book.delete({ scope: "user_path", subject: "/team", periodSeconds: 300 }), null);
    t.equal(book.delete({ scope: "user_path", subject: "/", periodSeconds: 60 }), null);
    t.equal(book.version, version);
    t.match(book.delete({ scope: "user_path", subject: "/team", periodSeconds: 60 }), {
      definition: { subject: "/team", periodSeconds: 60 },
    });
    t.match(book.delete({ scope: "provider", subject: "openai", periodSeconds: 60 }), {
      definition: { subject: "OpenAI" },
    });
    t.not(book.version, version);
    t.same(names(matchKept(book, "/team", now)), ["/team 3600"]);
    t.same(book.matchTarget({ provider: "openai", model: "a" }, "/", now), []);
    t.same(book.sorted().length, 1);
    t.equal(book.find({ scope: "provider", subject: "openai", periodSeconds: 60 }), null);
  },
);

t.test(
  "a template counts each direct child on its own, deeper paths with their child, and never its own path",
  async (t) => {
    const book = bookOf(
      rule("user_path", "/team", 60, { perChild: true }),
      rule("user_path", "/", 60, { perChild: true }),
    );
    t.same(names(matchKept(book, "/team", now)), ["/team 60"], "the root's child");
    t.same(
      matchKept(book, "/team", now).map(({ child }) => child),
      ["team"],
    );
    t.same(matchKept(book, "/", now), []);
    const [, app] = matchKept(book, "/team/app", now);
    t.match(app, { subject: "/team/app", child: "app" });
    t.equal(matchKept(book, "/team/app/deep/er", now)[1], app);
    t.not(matchKept(book, "/team/application", now)[1], app);
    t.not(matchKept(book, "/team/App", now)[1], app);
    charge(book, [app!], { atMs: now, requests: 1, tokens: 0 }, now);
    t.equal(matchKept(book, "/team/other", now)[1]!.window.currentRequests, 0);
    t.equal(book.find(rule("user_path", "/team"))!.own, null);
  },
);

t.test("a rule that becomes or stops being a template starts at zero; its age stays", async (t) => {
  const book = bookOf(rule("user_path", "/team"));
  const [before] = matchKept(book, "/team/app", now);
  charge(book, [before!], { atMs: now, requests: 5, tokens: 0 }, now);
  const { version } = book;
  const template = book.put(rule("user_path", "/team", 60, { perChild: true }), {
    source: "manual",
    nowMs: now + 9,
    lsn: 4,
  });
  t.match(template, { createdAtMs: now, updatedAtMs: now + 9, sinceLsn: 4, own: null });
  t.not(book.version, version, "what was matched before must be matched again");
  t.same(
    matchKept(book, "/team/app", now).map(({ subject, window }) => [
      subject,
      window.currentRequests,
    ]),
    [["/team/app", 0]],
  );
  book.put(rule("user_path", "/team"), { source: "manual", nowMs: now, lsn: 5 });
  t.same(names(matchKept(book, "/team/app", now)), ["/team 60"]);
});

t.test("a reset clears windows and never a gauge, children included", async (t) => {
  const book = bookOf(
    rule("user_path", "/team"),
    rule("user_path", "/team", 3600, { perChild: true }),
  );
  const met = matchKept(book, "/team/app", now);
  const idle = matchKept(book, "/team/idle", now)[1]!;
  takeSlots(met);
  charge(book, [...met, idle], { atMs: now, requests: 3, tokens: 40 }, now);
  for (const definition of book.sorted()) book.reset(definition, 7);
  t.same(matchKept(book, "/team/app", now), met, "the counters are the same");
  for (const { window, inFlight, rule } of met)
    t.match(
      { window, inFlight, sinceLsn: rule.sinceLsn },
      {
        window: { currentRequests: 0, previousRequests: 0, currentTokens: 0, previousTokens: 0 },
        inFlight: 1,
        sinceLsn: 7,
      },
    );
  t.same(
    childNames(book.find(rule("user_path", "/team", 3600))!.children),
    ["app"],
    "an idle child is forgotten",
  );
  freeSlots(met);
  t.same(
    met.map(({ inFlight }) => inFlight),
    [0, 0],
  );
});

t.test("what changed is handed to a snapshot once, and again after the next change", async (t) => {
  const book = bookOf(rule("user_path", "/team"), rule("user_path", "/"));
  const met = matchKept(book, "/team", now);
  charge(book, met, { atMs: now, requests: 1, tokens: 0 }, now);
  charge(book, met.slice(1), { atMs: now, requests: 1, tokens: 0 }, now);
  t.same(written(book), ["/ 60", "/team 60"]);
  t.equal(book.takeDirty(), null);
  charge(book, met.slice(0, 1), { atMs: now, requests: 0, tokens: 1 }, now);
  t.same(written(book), ["/ 60"]);
});

t.test(
  "a child that was idle for two periods is forgotten, one that is used or in flight is not",
  async (t) => {
    const book = bookOf(
      rule("user_path", "/team", 60, { perChild: true }),
      rule("user_path", "/team", 0, { perChild: true }),
      rule("user_path", "/team", 86_400, { perChild: true }),
    );
    const used = matchKept(book, "/team/used", now);
    const busy = matchKept(book, "/team/busy", now);
    const idle = matchKept(book, "/team/idle", now);
    takeSlots(busy);
    charge(book, [...used, ...idle], { atMs: now, requests: 1, tokens: 0 }, now);
    written(book);
    const forget = (nowMs: number): string[] => gone(book.forgetIdle(nowMs, 100)).sort();
    t.same(
      forget(now + 1000),
      ["/team/idle 0", "/team/used 0"],
      "a gauge at zero remembers nothing",
    );
    t.same(forget(now + 2 * minute - 1), []);
    charge(
      book,
      [book.childOf(book.find(rule("user_path", "/team"))!, "used", now + 2 * minute)],
      { atMs: now + 2 * minute, requests: 1, tokens: 0 },
      now + 2 * minute,
    );
    t.same(forget(now + 2 * minute), ["/team/idle 60"], "what is in flight is held");
    t.same(forget(now + 4 * minute), [], "what changed isn't written yet");
    written(book);
    t.same(forget(now + 4 * minute), ["/team/used 60"]);
    freeSlots(busy);
    t.same(forget(now + 4 * minute), ["/team/busy 0", "/team/busy 60"]);
    t.same(forget(now + 2 * 86_400_000), [
      "/team/busy 86400",
      "/team/idle 86400",
      "/team/used 86400",
    ]);
    t.same(
      book.sorted().map(({ children }) => children.size),
      [0, 0, 0],
    );
  },
);

t.test(
  "idle children are looked for a slice at a time, until all have been looked at",
  async (t) => {
    const book = bookOf(
      rule("user_path", "/a", 60, { perChild: true }),
      rule("user_path", "/b", 60, { perChild: true }),
    );
    for (let i = 0; i < 25; i++)
      for (const parent of ["/a", "/b"]) matchKept(book, `${parent}/${i}`, now);
    const found: string[] = [];
    for (let i = 0; i < 6; i++) {
      const slice = book.forgetIdle(now + 2 * minute, 10);
      t.ok(slice.length <= 10);
      found.push(...gone(slice));
    }
    t.equal(new Set(found).size, 50);
  },
);

t.test(
  "children of a template that is deleted are forgotten whether they were idle or not, and those of its successor stay",
  async (t) => {
    const template = rule("user_path", "/team", 60, { perChild: true });
    const book = bookOf(template);
    for (const path of ["/team/app", "/team/other"])
      charge(book, matchKept(book, path, now), { atMs: now, requests: 1, tokens: 0 }, now);
    book.delete(template);
    book.put(template, { source: "manual", nowMs: now, lsn: 2 });
    charge(book, matchKept(book, "/team/other", now), { atMs: now, requests: 1, tokens: 0 }, now);
    t.equal(book.childCount, 3);
    t.same(
      gone(book.forgetIdle(now, 10)),
      ["/team/app 60"],
      "what the store holds of the other is the successor's",
    );
    t.equal(book.childCount, 1);
    t.equal(matchKept(book, "/team/other", now)[0]!.window.currentRequests, 1);
  },
);

t.test(
  "a reset of a template drops its children at once; those in flight come back when they are met or gone through, with their gauge",
  async (t) => {
    const template = rule("user_path", "/team", 60, { perChild: true });
    const book = bookOf(template);
    const [met] = matchKept(book, "/team/met", now);
    const [passed] = matchKept(book, "/team/passed", now);
    const [idle] = matchKept(book, "/team/idle", now);
    takeSlots([met!, passed!]);
    for (const counter of [met!, passed!, idle!])
      charge(book, [counter], { atMs: now, requests: 1, tokens: 9 }, now);
    const { version } = book;
    book.reset(book.find(template)!, 5);
    t.not(book.version, version, "what was matched before must be matched again");
    t.same(
      [met, passed, idle].map((counter) => counter!.rule.children.isCheckedOut(counter!)),
      [false, false, false],
    );
    t.equal(matchKept(book, "/team/met", now)[0], met);
    t.match(met, { inFlight: 1, window: { currentRequests: 0, currentTokens: 0 } });
    book.reset(book.find(template)!, 6);
    t.same(gone(book.forgetIdle(now, 10)).sort(), ["/team/idle 60"]);
    t.same(
      [met, passed, idle].map((counter) => counter!.rule.children.isCheckedOut(counter!)),
      [true, true, false],
      "over two resets",
    );
    t.match(passed, { inFlight: 1, window: { currentRequests: 0, currentTokens: 0 } });
    freeSlots([met!, passed!]);
    t.same(
      [met!, passed!].map(({ inFlight }) => inFlight),
      [0, 0],
    );
    t.equal(book.childCount, 2);
  },
);

t.test("a reset of all rules reaches each of them, whichever way it is met first", async (t) => {
  const definitions = [
    rule("user_path", "/team"),
    rule("user_path", "/team", 3600, { perChild: true }),
    rule("provider", "openai"),
    rule("model", "gpt-4o"),
  ];
  const ways: Readonly<Record<string, (book: RuleBook) => unknown>> = {
    "by a request": (book) => [
      matchKept(book, "/team/app", now),
      book.matchTarget({ provider: "openai", model: "gpt-4o" }, "/", now),
    ],
    "by its key": (book) => definitions.map((definition) => book.find(definition)),
    "by a list": (book) => book.sorted().map((each) => book.fresh(each)),
    "by an edit": (book) =>
      definitions.map((definition) =>
        book.put({ ...definition, maxRequests: 3 }, { source: "manual", nowMs: now, lsn: 9 }),
      ),
    "by a second reset": (book) => book.resetAll(7),
  };
  for (const [name, meet] of Object.entries(ways)) {
    const book = bookOf(...definitions);
    const met = [
      ...matchKept(book, "/team/app", now),
      ...book.matchTarget({ provider: "openai", model: "gpt-4o" }, "/", now),
    ];
    takeSlots(met);
    charge(book, met, { atMs: now, requests: 2, tokens: 5 }, now);
    book.resetAll(6);
    meet(book);
    const counted = [
      ...matchKept(book, "/team/app", now),
      ...book.matchTarget({ provider: "openai", model: "gpt-4o" }, "/", now),
    ];
    t.same(
      counted.map(({ window }) => window.currentRequests + window.currentTokens),
      [0, 0, 0, 0],
      name,
    );
    t.same(
      counted.map(({ inFlight }) => inFlight),
      [1, 1, 1, 1],
      `${name}: gauges stay`,
    );
    t.ok(
      counted.every(({ rule: of }) => of.sinceLsn >= 6),
      `${name}: what was before is void in the store`,
    );
  }
});

t.test("a settle after a reset of all counts where requests are judged from then on", async (t) => {
  const daemon = startDaemon([rule("user_path", "/team")]);
  const peer = daemon.proxy("p");
  const lease = askFor(peer, 2, "/team/app")!;
  await ask(daemon, "rate-limits.reset", { confirmation: "reset" });
  peer.send(settleOf(lease, 1, 7));
  t.match(counts(daemon, rule("user_path", "/team")), { requests: 0, tokens: 7, inFlight: 0 });
});

t.test("a rule that is made after a reset of all isn't reset by it", async (t) => {
  const book = bookOf(rule("user_path", "/"));
  book.resetAll(6);
  book.put(rule("user_path", "/team"), { source: "manual", nowMs: now, lsn: 8 });
  charge(book, matchKept(book, "/team", now), { atMs: now, requests: 1, tokens: 0 }, now);
  t.same(
    matchKept(book, "/team", now).map(({ window, rule: of }) => [
      window.currentRequests,
      of.sinceLsn,
    ]),
    [
      [1, 6],
      [1, 8],
    ],
  );
});

t.test(
  "a request meets the same counters whatever else is in the book, by one look-up per segment",
  async (t) => {
    const definitions = [
      rule("user_path", "/"),
      rule("user_path", "/team"),
      rule("user_path", "/team", 3600, { perChild: true }),
      rule("user_path", "/team/app"),
    ];
    const beside = Array.from({ length: 100_000 }, (_, i) =>
      i % 4 === 0
        ? rule("model", `m${i}`)
        : i % 4 === 1
          ? rule("provider", `p${i}`)
          : rule("user_path", `/beside/${i}`, 60, { perChild: i % 4 === 2 }),
    );
    const [small, large] = [
      bookOf(...definitions),
      bookOf(...beside.slice(50_000), ...definitions, ...beside.slice(0, 50_000)),
    ];
    t.equal(large.rules.size, 100_004);
    for (const path of ["/", "/team", "/team/app", "/team/app/x", "/other/team"])
      t.same(names(large.matchPath(path, now)), names(small.matchPath(path, now)), path);
    const { get } = Map.prototype;
    let looked = 0;
    t.intercept(Map.prototype, "get", {
      value: function (this: Map<unknown, unknown>, key: unknown) {
        looked++;
        return get.call(this, key);
      },
    });
    const lookUps = (book: RuleBook, path: string): number => {
      const before = looked;
      matchKept(book, path, now);
      return looked - before;
    };
    for (const path of ["/", "/team", "/team/app", "/team/app/x/y/z"])
      t.equal(lookUps(large, path), lookUps(small, path), path);
    t.equal(lookUps(large, "/none/of/them/has/a/rule"), 7, "six segments and the root");
  },
);

t.test(
  "a restored rule is as it was, and one with this identity is found whatever the case",
  async (t) => {
    const book = new RuleBook();
    book.restore(
      {
        definition: rule("model", "OpenAI/GPT-4o", 300, { requests: 7, tokens: 9 }),
        source: "config",
        createdAtMs: 5,
        updatedAtMs: 6,
        sinceLsn: 7,
      },
      now,
    );
    t.match(book.find({ scope: "model", subject: "openai/gpt-4o", periodSeconds: 300 }), {
      definition: { subject: "OpenAI/GPT-4o", maxRequests: 7, maxTokens: 9 },
      source: "config",
      createdAtMs: 5,
      updatedAtMs: 6,
      sinceLsn: 7,
      periodMs: 300_000,
    });
    t.match(book.sorted()[0]!.own, {
      window: { startMs: now - (now % 300_000) },
      inFlight: 0,
      restoredLsn: 0,
    });
  },
);

t.test("a book is as old as its oldest rule; an empty book starts again", async (t) => {
  const book = new RuleBook([1, 2]);
  const put = (subject: string, nowMs: number) =>
    book.put(rule("user_path", subject, 60, { requests: 1 }), { source: "manual", nowMs, lsn: 1 });
  t.equal(book.sinceMs, Number.POSITIVE_INFINITY);
  put("/a", now);
  put("/b", now + 5);
  t.equal(book.sinceMs, now);
  put("/c", now - 5);
  t.equal(book.sinceMs, now - 5, "the clock has stepped back");
  for (const subject of ["/a", "/b", "/c"]) book.delete(rule("user_path", subject, 60));
  put("/d", now + 10);
  t.equal(book.sinceMs, now + 10);
});

t.test("a deleted rule is gone from the list too, and the others keep their order", async (t) => {
  const book = bookOf(
    rule("user_path", "/b", 60, { requests: 1 }),
    rule("user_path", "/a", 60, { requests: 1 }),
    rule("user_path", "/c", 60, { requests: 1 }),
  );
  const listed = (): readonly string[] => book.sorted().map(({ definition }) => definition.subject);
  t.same(listed(), ["/a", "/b", "/c"]);
  book.delete(rule("user_path", "/b", 60, { requests: 1 }));
  t.same(listed(), ["/a", "/c"]);
  book.delete(rule("user_path", "/b", 60, { requests: 1 }));
  t.same(listed(), ["/a", "/c"], "deleted twice");
});

t.test("a reset of one rule or of all restarts what hosts share of the rule", async (t) => {
  const book = bookOf(rule("user_path", "/team"));
  const [team] = [...book.rules.values()];
  let resets = 0;
  Object.assign(team!, { shares: { reset: () => resets++ } });
  book.reset(team!, 5);
  t.equal(resets, 1);
  book.resetAll(6);
  book.fresh(team!);
  book.fresh(team!);
  t.equal(resets, 2, "once for each");
});

t.test("a subject has the form that matching uses", async (t) => {
  const book = bookOf();
  for (const [key, expected] of [
    [rule("user_path", "/Team"), "/Team"],
    [rule("provider", "OpenAI"), "openai"],
    [rule("model", "GPT-4o"), "gpt-4o"],
    [rule("model", "OpenAI/GPT-4o"), "openai/gpt-4o"],
  ] as const)
    t.equal(book.effectiveSubject(key), expected);
});

t.test("a rule is shared again only when host_only changes", async (t) => {
  const book = bookOf(rule("user_path", "/team"));
  const anew: unknown[] = [];
  book.onSharingChanged = ({ definition }) => void anew.push(definition.hostOnly);
  const writing = { source: "manual", nowMs: now, lsn: 2 } as const;
  book.put(rule("user_path", "/team", 60, { requests: 3 }), writing);
  t.same(anew, []);
  book.put({ ...rule("user_path", "/team"), hostOnly: true }, writing);
  book.put({ ...rule("user_path", "/team"), hostOnly: true }, writing);
  book.put(rule("user_path", "/team"), writing);
  t.same(anew, [true, false]);
});

t.test("what a rule of the store shares is reset with a reset, not with the start", async (t) => {
  const book = bookOf();
  let resets = 0;
  const shares = { reset: () => void resets++ };
  book.sharesOf = () => shares as never;
  const definition = rule("user_path", "/team");
  const fields = { definition, source: "manual", createdAtMs: 1, updatedAtMs: 1 } as const;
  book.restore({ ...fields, sinceLsn: 1 }, now);
  book.find(definition);
  t.equal(resets, 0);
  book.resetAll(5);
  book.find(definition);
  book.find(definition);
  t.equal(resets, 1);
});

t.test("a rule that is made changes what is met, and is swept if it is a template", async (t) => {
  const book = bookOf();
  const template = rule("user_path", "/users", 60, { perChild: true });
  const writing = { source: "manual", nowMs: now, lsn: 2 } as const;
  for (let i = 0; i < 5; i++) {
    const { version } = book;
    book.put(rule("user_path", `/r${i}`), writing);
    t.not(book.version, version);
  }
  book.put(template, writing);
  charge(book, matchKept(book, "/users/a", now), { atMs: now, requests: 1, tokens: 0 }, now);
  written(book);
  book.reclaim();
  t.same(gone(book.forgetIdle(now + 9 * minute, 2)), ["/users/a 60"], "the others take no turn");
});

t.test("a rule that a start has left is shown to one who looks at its path", async (t) => {
  const path = rule("user_path", "/team");
  const first = startDaemon([path]);
  await first.commit();
  const { book } = startDaemon([path], { store: first.store.crash(), loads: false }).state;
  t.same(names(book.copyPath("/team/a", now)), ["/team 60"]);
  t.equal(book.ruleSet.isRead, false);
  t.equal(book.rules.size, 1, "one who wants all of them has them read");
  t.equal(book.ruleSet.isRead, true);
});

t.test("a child is shown as it is in the store, or as a reset has left it", async (t) => {
  const template = rule("user_path", "/users", 60, { perChild: true });
  const first = startDaemon([template]);
  askFor(first.proxy("p"), 2, "/users/a");
  await first.snapshot();
  const { book } = startDaemon([template], { store: first.store.crash(), loads: false }).state;
  const shown = (path: string): unknown =>
    book.copyPath(path, now).map(({ window, inFlight }) => [window.currentRequests, inFlight]);
  t.same(shown("/users/a"), [[1, 0]]);
  t.same(shown("/users/b"), [[0, 0]]);
  takeSlots(book.matchPath("/users/a", now));
  t.same(shown("/users/a"), [[1, 1]]);
  book.reset(book.find(template)!, first.state.writer.lsn + 10_000_000);
  t.same(shown("/users/a"), [[0, 1]], "what is in flight stays");
});

const gpt: Target = { provider: "openai", model: "gpt-4o" };
const rules = [
  rule("model", "gpt-4o"),
  rule("provider", "openai"),
  rule("user_path", "/"),
  rule("user_path", "/team"),
];

t.test("a request meets the rules of its target, then those of its path", async (t) => {
  const book = bookOf(...rules);
  const ofTarget = ["gpt-4o 60", "openai 60"];
  const ofPath = ["/ 60", "/team 60"];
  t.same(names(allCountersOf(book, { userPath: "/team/a", target: gpt }, now)), [
    ...ofTarget,
    ...ofPath,
  ]);
  t.same(
    names(allCountersOf(book, { userPath: "/team/a", target: null }, now)),
    ofPath,
    "without a target the path's alone",
  );
  t.same(names(targetCountersOf(book, { userPath: "/", target: gpt }, now)), ofTarget);
  t.same(names(targetCountersOf(book, { userPath: "/", target: null }, now)), []);
  t.same(names(inRuleOrder([], book.matchPath("/", now))), ["/ 60"]);
  const ofTargets = new TargetRules(book);
  t.same(names(ofTargets.matchTarget(gpt, "/", now)), ofTarget);
  t.same(ofTargets.matchPath(), []);
  t.same(
    [noRules.matchPath("/", now), noRules.copyPath("/", now), noRules.matchTarget(gpt, "/", now)],
    [[], [], []],
  );
});

t.test("a target is the same by its provider and its model, and none is no other's", async (t) => {
  for (const [a, b, expected] of [
    [gpt, gpt, true],
    [gpt, { ...gpt }, true],
    [gpt, { ...gpt, provider: "azure" }, false],
    [gpt, { ...gpt, model: "o3" }, false],
    [gpt, null, false],
    [null, gpt, false],
    [null, null, true],
  ] as const)
    t.equal(isSameTarget(a, b), expected, JSON.stringify([a, b]));
});

t.test("what counts over time has a window, a gauge has none", async (t) => {
  const book = bookOf(rule("user_path", "/", 0), rule("user_path", "/", 1));
  t.same(book.matchPath("/", now).map(hasWindow), [false, true]);
});
