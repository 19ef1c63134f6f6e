/** Rules whose caps the children of their path share, without waiting: who is refused, how long. */
import fc from "fast-check";
import t from "tap";
import { estimateRequests, rollWindow } from "../../../limiterd/counters/window.js";
import { admit, type Verdict } from "../../../limiterd/rules/admit.js";
import { charge } from "../../../limiterd/rules/charge.js";
import { RuleBook } from "../../../limiterd/rules/rule-book.js";
import { freeSlots } from "../../../limiterd/rules/slots.js";
import type { Explanation } from "../../../shared/api/explanation.js";
import type { ChildShares } from "../../../shared/domain/child-shares.js";
import { refusalMessage } from "../../../shared/domain/refusal-message.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { askFor, ask as askOperation, pathRule, startDaemon, target } from "../in-memory-daemon.js";
import { oracleProviderTypes } from "../oracle.js";

const begin = 1_767_225_600_000;
const gpt: Target = { provider: "openai", model: "gpt-4o" };

function bookOf(...rules: readonly RuleDefinition[]): RuleBook {
  const book = new RuleBook([0, 0], oracleProviderTypes);
  for (const definition of rules) book.put(definition, { source: "manual", nowMs: begin, lsn: 0 });
  return book;
}

function shared(
  caps: { readonly requests?: number; readonly tokens?: number },
  childShares: ChildShares,
  more: Partial<RuleDefinition> = {},
): RuleDefinition {
  const { requests: maxRequests = null, tokens: maxTokens = null } = caps;
  return { ...pathRule("/team", 60, {}), maxRequests, maxTokens, childShares, ...more };
}

function ask(book: RuleBook, userPath: string, second: number): Verdict {
  const verdict = admit(
    book,
    { userPath, targets: [gpt], submission: false },
    { nowMs: begin + second * 1000, tokensEnforced: true },
  );
  book.reclaim();
  return verdict;
}

/** How many of this many requests are admitted. */
function admitted(book: RuleBook, userPath: string, second: number, count: number): number {
  let all = 0;
  for (let i = 0; i < count; i++) if (ask(book, userPath, second).kind === "admitted") all++;
  return all;
}

function waitOf(verdict: Verdict): number {
  return verdict.kind === "admitted" ? 0 : verdict.breach.waitSeconds;
}

function end(book: RuleBook, verdict: Verdict, second: number, tokens: number): void {
  if (verdict.kind !== "admitted") return;
  const atMs = begin + 1000 * second;
  freeSlots(verdict.counters);
  charge(book, verdict.counters, { atMs, requests: 0, tokens }, atMs);
  book.reclaim();
}

t.test("a floor is kept for its owner as long as it wants it, and no longer", async (t) => {
  const shares = { children: { a: { floor: 0.3 } } };
  t.equal(admitted(bookOf(shared({ requests: 10 }, shares)), "/team/b", 0, 20), 10, "lent");
  const book = bookOf(shared({ requests: 10 }, shares));
  t.equal(admitted(book, "/team/a", 0, 1), 1);
  t.equal(admitted(book, "/team/b/deeper", 0, 20), 7);
  const refused = ask(book, "/team/b", 0);
  t.equal(
    refused.kind === "refused" && refusalMessage(refused.breach),
    "rate limit exceeded for /team: b has its share of the minute request limit of 10, and others may claim the rest",
  );
  t.equal(admitted(book, "/team/a", 0, 20), 2, "the rest of its floor");
  const later = bookOf(shared({ requests: 10 }, shares));
  admitted(later, "/team/a", 0, 1);
  t.equal(admitted(later, "/team/b", 59, 20), 7, "within a window of its last request");
  t.equal(admitted(later, "/team/b", 60, 20), 2, "not after it: all but what the window counts");
});

t.test("children that are refused divide the cap by weight", async (t) => {
  const book = bookOf(shared({ requests: 100 }, { children: { a: { weight: 3 } } }));
  const used = { a: 0, b: 0 };
  for (let second = 0; second < 600; second++)
    for (let i = 0; i < 5; i++)
      for (const name of ["b", "a"] as const)
        if (ask(book, `/team/${name}`, second).kind === "admitted" && second >= 120) used[name]++;
  t.ok(used.a + used.b >= 0.97 * 800, `${used.a + used.b} of 800 are used`);
  t.ok(Math.abs(used.a / used.b - 3) < 0.3, `${used.a} and ${used.b}`);
});

t.test("a higher priority comes first, and the others have their minimum", async (t) => {
  const shares = { min_share: 0.1, children: { a: { priority: 1 } } };
  const book = bookOf(shared({ requests: 100 }, shares));
  const used = { a: 0, b: 0 };
  for (let second = 0; second < 600; second++)
    for (let i = 0; i < 5; i++)
      for (const name of ["b", "a"] as const)
        if (ask(book, `/team/${name}`, second).kind === "admitted" && second >= 120) used[name]++;
  t.ok(used.a >= 0.85 * 800, `${used.a} of 800`);
  t.ok(used.b >= 0.08 * 800 && used.b <= 0.12 * 800, `${used.b} of 800`);
});

t.test("after the wait, with no other traffic, the retry is admitted", async () => {
  const step = fc.record({
    name: fc.constantFrom("a", "b", "c"),
    count: fc.integer({ min: 1, max: 8 }),
    pause: fc.integer({ min: 0, max: 40 }),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), (steps) => {
      const book = bookOf(
        shared(
          { requests: 10 },
          { children: { a: { floor: 0.3 }, b: { weight: 2, priority: 1 }, c: { floor: 0.2 } } },
        ),
      );
      let second = 0;
      for (const { name, count, pause } of steps) {
        second += pause;
        let last = 0;
        for (let i = 0; i < count; i++) last = waitOf(ask(book, `/team/${name}`, second));
        if (last === 0) continue;
        second += last;
        if (ask(book, `/team/${name}`, second).kind !== "admitted")
          throw new Error(`${name} waited ${last} s in vain`);
      }
    }),
    { numRuns: 300 },
  );
});

t.test(
  "what was lent of a floor is back, but for one request, 1 + floor windows after its owner asks",
  async () => {
    fc.assert(
      fc.property(
        fc.constantFrom(0.1, 0.3, 0.5, 0.9, 1),
        fc.integer({ min: 0, max: 119 }),
        fc.integer({ min: 1, max: 5 }),
        (floor, from, each) => {
          const cap = 20;
          const book = bookOf(shared({ requests: cap }, { children: { a: { floor } } }));
          const own = book.sorted()[0]!.tenants!;
          for (let second = 0; second < from + 400; second++) {
            for (let i = 0; i < each; i++) ask(book, "/team/b", second);
            if (second < from) continue;
            const nowMs = begin + 1000 * second;
            const { window } = own.children.copy("a") ?? { window: null };
            if (window !== null) rollWindow(window, 60_000, nowMs);
            const used = window === null ? 0 : estimateRequests(window, 60_000, nowMs);
            const verdict = ask(book, "/team/a", second);
            const isBack = second >= from + 60 * (1 + floor);
            if (isBack && used + 2 <= floor * cap && verdict.kind !== "admitted")
              throw new Error(`at ${second - from} s, a has ${used} of ${floor * cap}`);
          }
        },
      ),
      { numRuns: 15 },
    );
  },
);

t.test(
  "slots, tokens, cost, children of templates and rules on providers are shared",
  async (t) => {
    const floor = { children: { a: { floor: 0.5 } } };
    const slots = bookOf(shared({ requests: 4 }, floor, { periodSeconds: 0 }));
    const first = ask(slots, "/team/a", 0);
    t.equal(admitted(slots, "/team/b", 0, 9), 2);
    t.equal(admitted(slots, "/team/a", 0, 9), 1);
    end(slots, first, 0, 100);
    t.match(ask(slots, "/team/b", 0), { kind: "refused", breach: { waitSeconds: 1, share: "b" } });
    t.equal(admitted(slots, "/team/b", 10, 9), 1, "a hasn't asked for ten seconds");

    const tokens = bookOf(shared({ tokens: 100 }, floor));
    end(tokens, ask(tokens, "/team/a", 0), 0, 10);
    end(tokens, ask(tokens, "/team/b", 0), 0, 60);
    t.match(ask(tokens, "/team/b", 0), { kind: "refused", breach: { dimension: "tokens" } });
    t.equal(ask(tokens, "/team/a", 0).kind, "admitted");

    const cost = bookOf(shared({}, floor, { measureCaps: { output_tokens: 100 } }));
    end(cost, ask(cost, "/team/a", 0), 0, 10);
    end(cost, ask(cost, "/team/b", 0), 0, 60);
    t.match(ask(cost, "/team/b", 0), { kind: "refused", breach: { dimension: "output_tokens" } });

    const template = bookOf(shared({ requests: 10 }, floor, { perChild: true }));
    t.equal(admitted(template, "/team/x/a", 0, 1), 1);
    t.equal(admitted(template, "/team/x/b/c", 0, 20), 5);
    t.equal(admitted(template, "/team/y/b", 0, 20), 10, "of another child nobody has asked");

    const provider = bookOf(
      shared({ requests: 10 }, floor, { scope: "provider", subject: "openai" }),
    );
    t.equal(admitted(provider, "/a/x", 0, 1), 1);
    t.equal(admitted(provider, "/b", 0, 20), 5);
    t.equal(admitted(provider, "/", 0, 20), 0, "the root itself is one of the children");
  },
);

t.test("shares may be set and removed while requests run", async (t) => {
  const plain = shared({ requests: 4 }, {}, { periodSeconds: 0, childShares: undefined });
  const book = bookOf(plain);
  const put = (childShares: ChildShares | undefined): void =>
    void book.put({ ...plain, childShares }, { source: "manual", nowMs: begin, lsn: 0 });
  const before = ask(book, "/team/a", 0);
  put({ children: { a: { floor: 0.5 } } });
  const between = ask(book, "/team/a", 0);
  const { tenants } = book.sorted()[0]!;
  t.equal(tenants!.children.copy("a")?.inFlight, 1);
  put(undefined);
  t.equal(book.sorted()[0]!.tenants, null);
  t.equal(book.shared.size, 0);
  end(book, before, 1, 5);
  end(book, between, 1, 5);
  t.equal(admitted(book, "/team/b", 1, 9), 4);
  put({});
  book.delete(plain);
  t.equal(book.shared.size, 0, "shares of a deleted rule");
});

t.test(
  "an explanation says what a child has, and a restart keeps what children used",
  async (t) => {
    const rule = shared({ requests: 10 }, { children: { a: { weight: 3, floor: 0.4 } } });
    const daemon = startDaemon([rule]);
    const peer = daemon.proxy("p");
    askFor(peer, 1, "/team/a");
    for (let id = 2; id < 8; id++) askFor(peer, id, "/team/b");
    t.equal(askFor(peer, 8, "/team/b"), null);
    const explained = async (of: typeof daemon, userPath: string) =>
      (
        (await askOperation(of, "explain", {
          user_path: userPath,
          targets: [target],
        })) as unknown as Explanation
      ).rules[0]!;
    t.match(await explained(daemon, "/team/a"), {
      shares: rule.childShares,
      child_share: {
        child: "a",
        unit: "requests",
        weight: 3,
        weights: 4,
        used: 1,
        part: 7.5,
        floor: 4,
      },
    });
    const ofOther = await explained(daemon, "/team/b");
    t.same(ofOther.breached, ["share"]);
    t.equal(ofOther.child_share!.used, 6);
    await daemon.commit();
    const again = startDaemon([rule], { store: daemon.store, nowMs: daemon.nowMs });
    t.match(await explained(again, "/team/b"), { child_share: { used: 6, weights: 1 } });
    t.match(await explained(again, "/team/a"), { child_share: { used: 1 } });
  },
);
