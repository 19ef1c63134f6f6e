import fc from "fast-check";
import t from "tap";
import { TimeQueue } from "../../../../limiterd/rules/back-tests/time-queue.js";

t.test("what was added comes out by its time, and at the same time in its order", async () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(20), { nil: null })), (steps) => {
      const queue = new TimeQueue<number>();
      let waiting: { readonly atMs: number; readonly item: number }[] = [];
      steps.forEach((atMs, item) => {
        if (atMs !== null) {
          queue.add(atMs, item);
          waiting = [...waiting, { atMs, item }].sort((a, b) => a.atMs - b.atMs || a.item - b.item);
          return;
        }
        const [first, ...rest] = waiting;
        waiting = rest;
        if (queue.firstMs !== (first?.atMs ?? Number.POSITIVE_INFINITY)) throw new Error("time");
        if (queue.take() !== first?.item) throw new Error("item");
      });
      return queue.size === waiting.length;
    }),
  );
});
