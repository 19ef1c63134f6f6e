import t from "tap";
import { createTicks, tickMs } from "../../../../limiterd/lifecycle/cluster/ticks.js";

t.test(
  "all that is due runs at the same moments, by one timer that ends with the last",
  async (t) => {
    const timers = new Set<() => void>();
    const ticks = createTicks((tick) => {
      timers.add(tick);
      return () => void timers.delete(tick);
    });
    const pass = (): void => {
      for (const tick of timers) tick();
    };
    const ran: string[] = [];
    const stops = [
      ticks.every(tickMs, () => void ran.push("each")),
      ticks.every(2 * tickMs, () => void ran.push("second")),
    ];
    void ticks.next(2 * tickMs).then(() => ran.push("once"));
    const expected = ["each", "each second", "once", "each", "each second"];
    const seen: string[] = [];
    for (let i = 0; i < 2; i++) {
      pass();
      seen.push(ran.splice(0).join(" "));
      pass();
      seen.push(ran.splice(0).join(" "));
      await new Promise((resolve) => setImmediate(resolve));
      if (i === 0) seen.push(ran.splice(0).join(" "));
    }
    t.same(seen, expected);
    t.equal(timers.size, 1);
    for (const stop of stops) stop();
    t.equal(timers.size, 0);
    ticks.every(tickMs, () => {});
    t.equal(timers.size, 1, "and begins again");
  },
);
