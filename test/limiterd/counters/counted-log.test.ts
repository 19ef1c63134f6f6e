import t from "tap";
import { CountedLog, countedFromStored } from "../../../limiterd/counters/counted-log.js";
import { exactly } from "../../support/patterns/exactly.js";
import { bookOf, matchKept, now, rule } from "../book-of.js";

const minute = 60_000;

t.test("a batch holds one sum for each half of a window, whatever moved it", async (t) => {
  const log = new CountedLog();
  const book = bookOf(
    rule("user_path", "/"),
    rule("user_path", "/users", 3600, { perChild: true }),
  );
  const [all, ann] = matchKept(book, "/users/ann", now);
  const [, bob] = matchKept(book, "/users/bob", now);
  log.add(all!, now, 1, 0);
  log.add(ann!, now, 1, 0);
  log.add(all!, now, 1, 30);
  log.add(all!, now - minute, 1, 0);
  log.add(ann!, now, -1, 0);
  log.add(bob!, now, 0, 7);
  t.equal(log.size, 4);
  const taken = log.take();
  t.equal(log.size, 0);
  const of = (ruleId: string, child: string, period: number) => ({ ruleId, child, period });
  t.same(countedFromStored(taken), [
    { ...of(all!.rule.id, "", now / minute), requests: 2, tokens: 30 },
    { ...of(ann!.rule.id, "ann", now / 3_600_000), requests: 0, tokens: 0 },
    { ...of(all!.rule.id, "", now / minute - 1), requests: 1, tokens: 0 },
    { ...of(ann!.rule.id, "bob", now / 3_600_000), requests: 0, tokens: 7 },
  ]);
  log.add(all!, now, 1, 0);
  t.match(
    countedFromStored(log.take()),
    exactly([{ requests: 1, tokens: 0 }]),
    "the next begins anew",
  );
  log.isPaused = true;
  log.add(all!, now, 1, 0);
  t.same(log.take(), []);
});

t.test("the sums are those of all that was added, however much it is", async (t) => {
  const log = new CountedLog();
  const book = bookOf(...Array.from({ length: 40 }, (_, i) => rule("user_path", "/", i + 1)));
  const counters = matchKept(book, "/", now);
  for (let batch = 0; batch < 2; batch++) {
    for (let i = 0; i < 20_000; i++) {
      const counter = counters[i % 40]!;
      log.add(counter, Math.floor(i / 200) * counter.rule.periodMs, 1, i);
    }
    const counted = countedFromStored(log.take())!;
    t.equal(counted.length, 40 * 100);
    for (const { requests, tokens, period } of counted)
      if (requests !== 5 || Math.floor(tokens / 5 / 200) !== period) t.fail(`${period}`);
  }
});

t.test("what was never written isn't read", async (t) => {
  const right = ["r", "", 1, 1, 0, null, "c", 1, -1, 0];
  t.equal(countedFromStored(right)?.length, 2);
  t.same(countedFromStored([]), []);
  for (const wrong of [
    right.slice(1),
    right.slice(0, 9),
    right.with(0, null),
    right.with(5, 7),
    right.with(1, null),
    right.with(2, -1),
    right.with(3, 0.5),
    right.with(4, -1),
  ])
    t.equal(countedFromStored(wrong), null, JSON.stringify(wrong));
});
