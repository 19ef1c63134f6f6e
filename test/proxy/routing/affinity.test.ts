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

t.test("two releases agree, since proxies of both run while a cluster is upgraded", async (t) => {
  const chosen = conversations.slice(0, 40).map((each) => own(targets, each));
  t.equal(chosen.join(""), "cdddccbdcbaadbbbcdcbbdaddbdccbccacbcdcbd");
  t.equal(own(targets, "é 漢字 🙂"), "d");
  t.equal(own(targets, "conversation 1001"), "a", "by the last bits, too: c is close");
});

t.test("the lowest and the highest of all hashes are shares, too", async (t) => {
  // At b, the one has the hash 0, and the other the hash 2 ** 32 - 1.
  t.equal(own([target("a"), target("b")], "rmfnaa2y"), "a");
  t.equal(own([target("a"), target("b", 1000)], "rmfnaa2y"), "b", "it has a share of its weight");
  t.equal(own([target("a", 1000), target("b")], "41pqabb8"), "b");
});

t.test("of targets whose hash is the same the name decides, not the order", async (t) => {
  const alike = [target("m93vu"), target("mgtea")];
  t.equal(own(alike, "ann"), "m93vu");
  t.equal(own(alike.toReversed(), "ann"), "m93vu");
});
