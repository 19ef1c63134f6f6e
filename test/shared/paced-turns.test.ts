import t from "tap";
import { createEased, createPaced } from "../../shared/paced-turns.js";

/** Turns that end when they are told to. */
function turns(): { afterTurn(run: () => void): void; end(): void } {
  let ends: (() => void)[] = [];
  return {
    afterTurn: (run) => void ends.push(run),
    end() {
      const due = ends;
      ends = [];
      for (const run of due) run();
    },
  };
}

t.test("what comes in a turn runs after it, in order, so many in each", async (t) => {
  const loop = turns();
  const ran: number[] = [];
  const paced = createPaced(loop.afterTurn, 3);
  for (let i = 0; i < 7; i++) paced(() => ran.push(i));
  t.same(ran, []);
  loop.end();
  t.same(ran, [0, 1, 2]);
  loop.end();
  t.same(ran, [0, 1, 2, 3, 4, 5]);
  loop.end();
  t.same(ran, [0, 1, 2, 3, 4, 5, 6]);
});

t.test(
  "what comes later waits behind what is due, and for what its own turn has to do first",
  async (t) => {
    for (const due of [1, 2, 3, 5]) {
      const loop = turns();
      const ran: string[] = [];
      const paced = createPaced(loop.afterTurn, 2);
      for (let i = 0; i < due; i++) paced(() => ran.push(`due ${i}`));
      loop.end();
      t.equal(ran.length, Math.min(due, 2));
      loop.afterTurn(() => ran.push("sent"));
      paced(() => ran.push("later"));
      for (let i = 0; i < 3; i++) loop.end();
      t.same(
        ran.filter((name) => name !== "sent"),
        [...Array.from({ length: due }, (_, i) => `due ${i}`), "later"],
      );
      t.ok(ran.indexOf("sent") < ran.indexOf("later"));
    }
  },
);

t.test("what comes from a callback runs in a later turn", async (t) => {
  const loop = turns();
  const ran: string[] = [];
  const paced = createPaced(loop.afterTurn, 10);
  paced(() => {
    ran.push("a");
    paced(() => ran.push("b"));
  });
  loop.end();
  t.same(ran, ["a"]);
  loop.end();
  t.same(ran, ["a", "b"]);
  loop.end();
  t.same(ran, ["a", "b"]);
});

t.test(
  "eased, the first of a turn run at once and the others in turns behind it, all in order",
  async (t) => {
    const loop = turns();
    const ran: number[] = [];
    const eased = createEased(loop.afterTurn, 2);
    for (let i = 0; i < 5; i++) eased(() => ran.push(i));
    t.same(ran, [0, 1]);
    loop.end();
    t.same(ran, [0, 1, 2, 3]);
    eased(() => ran.push(5));
    t.same(ran, [0, 1, 2, 3], "nothing overtakes what waits");
    loop.end();
    t.same(ran, [0, 1, 2, 3, 4, 5]);
    loop.end();
    eased(() => ran.push(6));
    t.same(ran, [0, 1, 2, 3, 4, 5, 6], "when nothing waits any more, at once again");
  },
);
