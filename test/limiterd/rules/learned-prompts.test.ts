import t from "tap";
import { LearnedPrompts } from "../../../limiterd/rules/learned-prompts.js";
import { learnedRatiosMax } from "../../../shared/bounds.js";

const target = { provider: "a", model: "m" };

/** What a prompt of up to 1000 tokens probably has after prompts with so many. */
function after(...tokens: readonly number[]): number {
  const learned = new LearnedPrompts();
  for (const each of tokens) learned.learn(target, 1000, each);
  return learned.likely(target, 1000);
}

const times = (count: number, tokens: number) => Array.from({ length: count }, () => tokens);

t.test("a prompt counts as half of its bound until others of its size were counted", async (t) => {
  t.equal(after(), 500);
  t.equal(after(0), 500, "no answer, no count");
  t.equal(after(100), 452, "one says little");
  t.equal(after(...times(20, 100)), 140);
  t.equal(after(...times(60, 100)), 113, "an eighth more than they had");
  const learned = new LearnedPrompts();
  for (let i = 0; i < 60; i++) learned.learn(target, 1000, 100);
  t.equal(learned.likely({ provider: "a", model: "other" }, 1000), 500);
  t.equal(learned.likely(target, 600), 68);
  t.equal(learned.likely(target, 100), 50, "in a small one, JSON is a larger part");
  t.equal(learned.likely(target, 0), 0);
  learned.learn(target, 0, 5);
});

t.test("the densest of the last prompts counts, but never more than the bound", async (t) => {
  t.equal(after(...times(60, 100), 800), 900);
  t.equal(after(...times(60, 100), 800, ...times(8, 100)), 384);
  t.equal(after(2000), 1000, "the provider has added to it");
});

t.test("the targets are bounded", async (t) => {
  const learned = new LearnedPrompts();
  const of = (i: number) => ({ provider: "a", model: `${i}` });
  for (let i = 0; i < learnedRatiosMax; i++) learned.learn(of(i), 1000, 900);
  learned.learn(target, 1000, 900);
  t.equal(learned.likely(target, 1000), 500);
  learned.learn(of(0), 1000, 950);
  t.equal(learned.likely(of(0), 1000), 1000, "a known one goes on learning");
});
