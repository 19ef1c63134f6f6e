import t from "tap";
import { FairTurns, RunningPerCaller } from "../../../proxy/capacity/unlimited-requests.js";

t.test(
  "each caller runs up to the maximum of each kind, and none is left that has ended",
  async (t) => {
    const running = new RunningPerCaller({ lists: 2, reports: 1 });
    t.ok(running.begin("lists", "a") && running.begin("lists", "a"));
    t.notOk(running.begin("lists", "a"));
    t.ok(running.begin("lists", "b"));
    t.ok(running.begin("reports", "a"));
    t.notOk(running.begin("reports", "a"));
    running.end("lists", "a");
    t.ok(running.begin("lists", "a"));
    for (const caller of ["a", "a", "b"]) running.end("lists", caller);
    running.end("reports", "a");
    t.equal(running.size, 0);
  },
);

function turns(perTurn: number) {
  const after: (() => void)[] = [];
  const fair = new FairTurns(perTurn, (run) => after.push(run));
  const begun: string[] = [];
  return {
    fair,
    begun,
    after,
    take(...names: readonly string[]) {
      for (const name of names) {
        const turn = fair.take(name[0]!);
        if (turn === null) begun.push(name);
        else void turn.then(() => begun.push(name));
      }
    },
    /** Ends a turn; what began in the next one. */
    async next() {
      const before = begun.length;
      for (const run of after.splice(0)) run();
      await Promise.resolve();
      return begun.slice(before);
    },
  };
}

t.test("few begin in a turn, and the callers take turns", async (t) => {
  const { take, next, begun, fair, after } = turns(2);
  take("a1", "a2", "a3", "a4", "a5", "a6", "b1", "c1", "b2");
  t.same(begun, ["a1", "a2"], "at once, as long as few have begun");
  t.equal(fair.waiting, 3);
  t.same(await next(), ["a3", "b1"]);
  t.same(await next(), ["c1", "a4"]);
  take("c2");
  t.same(await next(), ["b2", "a5"]);
  t.same(await next(), ["c2", "a6"]);
  t.equal(fair.waiting, 0);
  take("d1");
  t.not(begun.at(-1), "d1", "this turn has had its two");
  t.same(await next(), ["d1"]);
  t.same(await next(), []);
  t.equal(after.length, 0, "nothing runs while nobody asks");
  take("a7", "b3", "c3");
  t.same(begun.slice(-2), ["a7", "b3"]);
  t.same(await next(), ["c3"]);
});

t.test("a caller that is alone has all of a turn", async (t) => {
  const { take, next } = turns(2);
  take("a1", "a2", "a3", "a4", "a5");
  t.same(await next(), ["a3", "a4"]);
  t.same(await next(), ["a5"]);
});
