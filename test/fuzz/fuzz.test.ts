/**
 * A few seeded inputs of every fuzzer, so that none is broken; and that a fuzzer tells what it
 * finds. `npm run heavy -- fuzz` runs as many as one likes.
 */
import t from "tap";
import { BrokenProperty, type FuzzTarget, must } from "./fuzz-target.js";
import { JsonMutator } from "./mutate/mutate-json.js";
import { type Finding, type FuzzResult, inputRandom, runTarget } from "./run-target.js";
import { targets } from "./targets.js";

const inputs = 200;

const runSome = (target: FuzzTarget, count: number, first = 0): Promise<FuzzResult> =>
  runTarget(target, { seed: 1, first, inputs: count, untilMonoMs: Infinity }, () => {});

for (const target of targets)
  t.test(`${target.name} finds nothing in a few inputs`, async (t) => {
    const { findings } = await runSome(target, Math.ceil(inputs * target.share));
    t.same(
      findings.map(({ input, error }) => `input ${input}: ${error.stack}`),
      [],
    );
  });

/** A target that fails for one input in a hundred. */
function planted(run: (lot: number) => number | Promise<number>): FuzzTarget {
  return {
    name: "planted",
    share: 1,
    open: () =>
      Promise.resolve({ run: (random) => run(random.next()), close: () => Promise.resolve() }),
  };
}

const fails = {
  "by throwing": (lot: number): number => {
    must(lot < 0.99, "too large");
    return 1;
  },
  "by rejecting": (lot: number): Promise<number> =>
    lot < 0.99 ? Promise.resolve(1) : Promise.reject(new BrokenProperty("too large")),
  "where nobody waits for it": (lot: number): number => {
    if (lot >= 0.99) void Promise.reject(new BrokenProperty("too large"));
    return 1;
  },
};

t.test("a failure is printed once, with an input that reproduces it", async (t) => {
  for (const [how, run] of Object.entries(fails)) {
    const reported: Finding[] = [];
    const range = { seed: 1, first: 0, inputs: 1000, untilMonoMs: Infinity };
    const { findings, inputs: run1000 } = await runTarget(planted(run), range, (finding) =>
      reported.push(finding),
    );
    t.equal(run1000, 1000);
    t.same(
      reported.map(({ error }) => error.message),
      ["too large"],
      how,
    );
    t.ok(findings[0]!.times > 1, "and counted");
    const { input } = reported[0]!;
    t.ok(inputRandom(1, input).next() >= 0.99, "the input that caused it");
    t.equal((await runSome(planted(run), 1, input)).findings.length, 1);
  }
});

t.test("mutations are drawn from their dice alone, leave the document, and differ", async (t) => {
  const doc = { model: "m", messages: [{ role: "user", content: "hi", n: 1 }], "": null };
  const before = JSON.stringify(doc);
  const mutator = new JsonMutator([doc], { levels: 100, items: 1000, chars: 1000 });
  const texts = Array.from({ length: 2000 }, (_, i) => mutator.text(doc, inputRandom(1, i)));
  t.equal(JSON.stringify(doc), before);
  t.equal(mutator.text(doc, inputRandom(1, 7)), texts[7]);
  t.ok(new Set(texts).size > 1500, `${new Set(texts).size} different ones`);
  t.ok(texts.every((text) => !text.includes("@raw")));
  for (const kind of [/"__proto__"/, /\\ud800/, /1e999/, /\[\[\[\[\[\[/, /"model":.*"model":/])
    t.ok(
      texts.some((text) => kind.test(text)),
      String(kind),
    );
});
