import t from "tap";
import { createThrottledEnds, createThrottledQueue } from "../../shared/throttled-queue.js";

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

t.test("callbacks of a turn run after it, in order, so many in each turn", async (t) => {
  const loop = turns();
  const ran: number[] = [];
  const throttled = createThrottledQueue(loop.afterTurn, 3);
  for (let i = 0; i < 7; i++) throttled(() => ran.push(i));
  t.same(ran, []);
  loop.end();
  t.same(ran, [0, 1, 2]);
  loop.end();
  t.same(ran, [0, 1, 2, 3, 4, 5]);
  loop.end();
  t.same(ran, [0, 1, 2, 3, 4, 5, 6]);
});

t.test("a callback that throws takes none with it that waits behind it", async (t) => {
  const loop = turns();
  const ran: number[] = [];
  const throttled = createThrottledQueue(loop.afterTurn, 2);
  const add = (i: number): void =>
    throttled(() => {
      if (i % 2 === 0) throw new Error(`planted ${i}`);
      ran.push(i);
    });
  for (let i = 0; i < 6; i++) add(i);
  for (const i of [0, 2, 4]) t.throws(() => loop.end(), { message: `planted ${i}` });
  loop.end();
  t.same(ran, [1, 3, 5]);
  add(7);
  loop.end();
  t.same(ran, [1, 3, 5, 7]);
});

t.test(
  "later callbacks wait behind those that are due, and for the other work of their own turn",
  async (t) => {
    for (const due of [1, 2, 3, 5]) {
      const loop = turns();
      const ran: string[] = [];
      const throttled = createThrottledQueue(loop.afterTurn, 2);
      for (let i = 0; i < due; i++) throttled(() => ran.push(`due ${i}`));
      loop.end();
      t.equal(ran.length, Math.min(due, 2));
      loop.afterTurn(() => ran.push("sent"));
      throttled(() => ran.push("later"));
      for (let i = 0; i < 3; i++) loop.end();
      t.same(
        ran.filter((name) => name !== "sent"),
        [...Array.from({ length: due }, (_, i) => `due ${i}`), "later"],
      );
      t.ok(ran.indexOf("sent") < ran.indexOf("later"));
    }
  },
);

t.test("a callback that another one adds runs in a later turn", async (t) => {
  const loop = turns();
  const ran: string[] = [];
  const throttled = createThrottledQueue(loop.afterTurn, 10);
  throttled(() => {
    ran.push("a");
    throttled(() => ran.push("b"));
  });
  loop.end();
  t.same(ran, ["a"]);
  loop.end();
  t.same(ran, ["a", "b"]);
  loop.end();
  t.same(ran, ["a", "b"]);
});

t.test(
  "throttled ends run in order: the first of a turn immediately, the others in later turns",
  async (t) => {
    const loop = turns();
    const ran: number[] = [];
    const throttledEnds = createThrottledEnds(loop.afterTurn, 2);
    for (let i = 0; i < 5; i++) throttledEnds(() => ran.push(i));
    t.same(ran, [0, 1]);
    loop.end();
    t.same(ran, [0, 1, 2, 3]);
    throttledEnds(() => ran.push(5));
    t.same(ran, [0, 1, 2, 3], "nothing overtakes what waits");
    loop.end();
    t.same(ran, [0, 1, 2, 3, 4, 5]);
    loop.end();
    throttledEnds(() => ran.push(6));
    t.same(ran, [0, 1, 2, 3, 4, 5, 6], "when nothing waits any more, at once again");
  },
);
