import t from "tap";
import {
  BatchSettles,
  batchFromStored,
  batchToStored,
} from "../../../limiterd/store/journal-batch.js";

t.test("a batch comes back as it was written, and nothing else does", async (t) => {
  const batch = { settled: new Map([["p", 3]]), counted: ["r", "", 1, 1, 0] };
  t.same(batchFromStored(batchToStored(batch)), batch);
  const two = { settled: new Map([...batch.settled, ["q", 0]]), counted: [] };
  t.same(batchToStored(two), [["p", 3, "q", 0], []]);
  t.same(batchFromStored(batchToStored(two)), two);
  t.same(batchFromStored([[], []]), { settled: new Map(), counted: [] });
  for (const wrong of [[], [[]], [["p"], []], [["p", -1], []], [[3, "p"], []], [[], {}]])
    t.equal(batchFromStored(wrong), null, JSON.stringify(wrong));
});

t.test("of each proxy the last settle is told once, and is what the journal has", async (t) => {
  const told: string[] = [];
  const tellerOf =
    (name: string) =>
    (seq: number): void =>
      void told.push(`${name} ${seq}`);
  const [p, q, newP] = [tellerOf("p"), tellerOf("q"), tellerOf("new p")];
  const settles = new BatchSettles();
  t.same([settles.size, settles.last()], [0, new Map()]);
  settles.add("p", 3, p);
  settles.add("q", 1, q);
  settles.add("p", 4, p);
  // The daemon had forgotten the other one, whose connection still stands.
  settles.add("p", 5, newP);
  t.equal(settles.size, 4);
  t.same(
    settles.last(),
    new Map([
      ["p", 5],
      ["q", 1],
    ]),
  );
  t.same(told, [], "nothing before the commit");
  settles.tellDurable();
  t.same(told, ["p 4", "q 1", "new p 5"]);
});
