/**
 * Children that are checked out, checked in, written, forgotten and reset, against a plain map of
 * what each has counted.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { CheckedOutCounters } from "../../../limiterd/counters/children.js";
import { Counter } from "../../../limiterd/counters/counter.js";
import { newWindow } from "../../../limiterd/counters/window.js";
import { charge } from "../../../limiterd/rules/charge.js";
import { RuleBook } from "../../../limiterd/rules/rule-book.js";
import { freeSlots, takeSlots } from "../../../limiterd/rules/slots.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import { bookOf, matchKept, rule } from "../book-of.js";
import { childNames } from "./child-names.js";

const now = 1_767_225_600_000;
const template: RuleDefinition = {
  scope: "user_path",
  subject: "/users",
  periodSeconds: 60,
  maxRequests: 1000,
  maxTokens: null,
  perChild: true,
};

interface Child {
  requests: number;
  inFlight: number;
  isDirty: boolean;
}

const name = fc.nat(12).map((n) => `user-${n}`);
const step = fc.oneof(
  fc.record({ kind: fc.constantFrom("count" as const, "hold" as const), name }),
  fc.record({ kind: fc.constantFrom("release" as const, "charge" as const), which: fc.nat(100) }),
  fc.record({
    kind: fc.constantFrom(
      "reclaim" as const,
      "write" as const,
      "forget" as const,
      "reset" as const,
    ),
  }),
);

t.test(
  "each child counts what is its own, whatever is checked in, written, forgotten and reset",
  async () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const book = new RuleBook([1, 2]);
        const rule = book.put(template, { source: "manual", nowMs: now, lsn: 1 });
        const model = new Map<string, Child>();
        let held: { readonly counter: Counter; readonly version: number }[] = [];
        const met = (child: string): { readonly counter: Counter; readonly known: Child } => {
          const counter = matchKept(book, `/users/${child}/app`, now)[0]!;
          if (!model.has(child)) model.set(child, { requests: 0, inFlight: 0, isDirty: false });
          return { counter, known: model.get(child)! };
        };
        const count = (counter: Counter, known: Child): void => {
          charge(book, [counter], { atMs: now, requests: 1, tokens: 0 }, now);
          known.requests++;
          known.isDirty = true;
        };
        for (const one of steps) {
          switch (one.kind) {
            case "count": {
              const { counter, known } = met(one.name);
              count(counter, known);
              break;
            }
            case "hold": {
              const { counter, known } = met(one.name);
              takeSlots([counter]);
              held.push({ counter, version: book.version });
              known.inFlight++;
              break;
            }
            case "release":
            case "charge": {
              const lease = held[one.which % Math.max(1, held.length)];
              if (lease === undefined) break;
              const { counter } = lease;
              if (one.kind === "charge" && lease.version === book.version)
                count(counter, model.get(counter.child)!);
              if (one.kind === "charge") break;
              held = held.filter((other) => other !== lease);
              freeSlots([counter]);
              model.get(counter.child)!.inFlight--;
              break;
            }
            case "reclaim":
              book.reclaim();
              break;
            case "write": {
              const written = [...(book.takeDirty() ?? [])].map(({ child, window }) => [
                child,
                window.currentRequests,
              ]);
              const expected = [...model]
                .filter(([, { isDirty }]) => isDirty)
                .map(([child, { requests }]) => [child, requests]);
              assert.deepEqual(written.sort(), expected.sort());
              for (const known of model.values()) known.isDirty = false;
              break;
            }
            case "forget": {
              const forgotten = book.forgetIdle(now + 120_000, 1000).map(({ child }) => child);
              const expected = [...model]
                .filter(([, { inFlight, isDirty }]) => inFlight === 0 && !isDirty)
                .map(([child]) => child);
              assert.deepEqual(forgotten.sort(), expected.sort());
              for (const child of expected) model.delete(child);
              break;
            }
            case "reset":
              book.reset(rule, 2);
              // Those that are dropped are gone through; nobody is idle yet.
              book.forgetIdle(now, 1000);
              for (const [child, known] of model) {
                if (known.inFlight === 0) model.delete(child);
                known.requests = 0;
                known.isDirty = false;
              }
          }
          const found = childNames(rule.children).map((child) => {
            const { window, inFlight } = rule.children.copy(child)!;
            return [child, window.currentRequests, inFlight];
          });
          assert.deepEqual(
            found.sort(),
            [...model].map(([child, { requests, inFlight }]) => [child, requests, inFlight]).sort(),
          );
          assert.equal(book.childCount, model.size);
        }
      }),
      { numRuns: 500 },
    );
  },
);

t.test("a counter that nothing holds is checked in with the next reclaim", async (t) => {
  const book = new RuleBook([1, 2]);
  const { children } = book.put(template, { source: "manual", nowMs: now, lsn: 1 });
  const added = matchKept(book, "/users/a", now)[0]!;
  t.equal(children.isCheckedOut(added), true);
  takeSlots([added]);
  book.reclaim();
  t.equal(children.isCheckedOut(added), true, "it has a request in flight");
  freeSlots([added]);
  book.reclaim();
  t.equal(children.isCheckedOut(added), false);
  const read = children.get("a")!;
  t.not(read, added);
  t.equal(children.get("a"), read, "once it is checked out it is the one");
  t.equal(children.isCheckedOut(read), true);
  book.reclaim();
  t.equal(children.isCheckedOut(read), false, "it was only looked at");
  t.same([children.has("a"), children.has("b"), children.get("b")], [true, false, undefined]);
  t.same([children.copy("b"), children.busy("b")], [undefined, null]);
});

t.test("marking or checking in a removed child changes nothing", async (t) => {
  const book = new RuleBook([1, 2]);
  const { children } = book.put(template, { source: "manual", nowMs: now, lsn: 1 });
  for (const others of [0, 1]) {
    const gone = matchKept(book, "/users/gone", now)[0]!;
    if (others > 0) matchKept(book, "/users/stays", now);
    children.takeDirty();
    children.delete(gone.place);
    children.markDirty(gone);
    children.checkIn(gone);
    t.same([gone.isDirty, children.isCheckedOut(gone)], [false, false]);
    t.same([children.takeDirty(), children.size, children.has("gone")], [[], others, false]);
  }
});

t.test("a template without children has none to look at", async (t) => {
  const { children } = new RuleBook([1, 2]).put(template, { source: "manual", nowMs: now, lsn: 1 });
  t.same(
    [children.size, children.has("a"), children.get("a"), children.copy("a"), children.busy("a")],
    [0, false, undefined, undefined, null],
  );
  t.same([children.takeDirty(), children.walk().next()], [[], -1]);
});

t.test("a template has room up to its bound", async (t) => {
  const book = new RuleBook([1, 2], undefined, 2);
  const { children } = book.put(template, { source: "manual", nowMs: now, lsn: 1 });
  const full = ["a", "b", "c"].map((child) => {
    matchKept(book, `/users/${child}`, now);
    return [children.size, children.isFull];
  });
  t.same(full.slice(0, 2), [
    [1, false],
    [2, true],
  ]);
});

t.test("children that come from the store have the windows that they had", async (t) => {
  const book = new RuleBook([1, 2]);
  const { children } = book.put(template, { source: "manual", nowMs: now, lsn: 1 });
  const window = {
    startMs: now,
    previousRequests: 1,
    currentRequests: 2,
    previousTokens: 3,
    currentTokens: 4,
  };
  children.load("a", window, 17);
  children.load("b", { ...window, currentTokens: 9 }, 18);
  t.match(children.get("a"), { window, restoredLsn: 17, child: "a", isDirty: false, inFlight: 0 });
  t.match(children.copy("b"), { window: { currentTokens: 9 }, restoredLsn: 18 });
  t.equal(children.size, 2);
  t.equal(book.childCount, 2);
});

const [listed] = [...bookOf(rule("user_path", "/t", 60, { perChild: true })).sorted()];
const counter = (child: string): Counter => new Counter(listed!, child, newWindow(60_000, 0));

t.test(
  "a counter has a position of its own from check-out to check-in, and none after",
  async (t) => {
    const counters = new CheckedOutCounters();
    const [a, b, c] = [counter("a"), counter("b"), counter("c")];
    t.equal(counters.has(a), false);
    for (const one of [a, b]) counters.add(one);
    t.same([a.position, b.position], [0, 1]);
    t.equal(counters.at(0), a);
    t.equal(counters.at(1), b);
    counters.remove(a);
    t.equal(a.position, -1);
    t.equal(counters.has(a), false);
    t.equal(counters.at(0), null, "nothing holds it any more");
    t.equal(counters.has(b), true);
    counters.add(c);
    t.equal(c.position, 0, "the position that is free");
    counters.add(a);
    t.equal(a.position, 2);
  },
);

t.test("a counter that is checked out elsewhere isn't here", async (t) => {
  const [here, there] = [new CheckedOutCounters(), new CheckedOutCounters()];
  const [a, b] = [counter("a"), counter("b")];
  here.add(a);
  there.add(b);
  t.same([here.has(a), here.has(b), there.has(a)], [true, false, false]);
});
