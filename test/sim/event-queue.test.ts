import fc from "fast-check";
import t from "tap";
import { EventQueue, type QueuedEvent } from "./event-queue.js";

t.test("events leave in the order of their times, then of their numbers", async (t) => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), (times) => {
      const queue = new EventQueue<QueuedEvent>();
      const events = times.map((atMs, order) => ({ atMs, order }));
      for (const event of events) queue.push(event);
      const left: QueuedEvent[] = [];
      for (let event = queue.pop(); event !== undefined; event = queue.pop()) left.push(event);
      const sorted = [...events].sort((a, b) => a.atMs - b.atMs || a.order - b.order);
      return JSON.stringify(left) === JSON.stringify(sorted);
    }),
  );
  t.equal(new EventQueue().first, undefined);
});
