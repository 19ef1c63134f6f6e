import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { withOwnFirst } from "../../../proxy/routing/affinity.js";
import type { WeightedTarget } from "../../../proxy/routing/resolve-model.js";

const target = (model: string, weight = 1): WeightedTarget => ({ provider: "p", model, weight });
const targets = ["a", "b", "c", "d"].map((model) => target(model));
const own = (of: readonly WeightedTarget[], conversation: string): string =>
  withOwnFirst(of, conversation)[0]!.model;
const conversations = Array.from({ length: 4000 }, (_, i) => `conversation ${i}`);

t.test("a conversation has one target, whatever the order; the others keep theirs", async () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.shuffledSubarray(targets, { minLength: targets.length }),
      (conversation, shuffled) => {
        const first = own(targets, conversation);
        const ordered = withOwnFirst(shuffled, conversation);
        assert.equal(ordered[0]!.model, first);
        assert.deepEqual(
          ordered.slice(1),
          shuffled.filter(({ model }) => model !== first),
        );
      },
    ),
  );
});

t.test("conversations are shared by weight", async (t) => {
  const weighted = [target("a", 1), target("b", 3)];
  const atB = conversations.filter((each) => own(weighted, each) === "b").length;
  t.ok(Math.abs(atB / conversations.length - 0.75) < 0.03, `${atB} of ${conversations.length}`);
  for (const { model } of targets) {
    const count = conversations.filter((each) => own(targets, each) === model).length;
    t.ok(Math.abs(count / conversations.length - 0.25) < 0.03, `${model}: ${count}`);
  }
});

t.test("when a target goes, only its own conversations move", async (t) => {
  const left = targets.filter(({ model }) => model !== "c");
  const moved = conversations.filter((each) => own(targets, each) !== own(left, each));
  t.ok(moved.length > 0);
  t.ok(moved.every((each) => own(targets, each) === "c"));
});
