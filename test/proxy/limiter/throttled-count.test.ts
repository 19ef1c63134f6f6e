import t from "tap";
import { createThrottledCount } from "../../../proxy/limiter/throttled-count.js";

t.test(
  "the first is reported at once, those until the next report together, none twice",
  async (t) => {
    const timers: (() => void)[] = [];
    const reports: number[] = [];
    const count = createThrottledCount(
      (_, run) => void timers.push(run),
      (n) => void reports.push(n),
    );
    count();
    t.same([reports, timers.length], [[1], 1]);
    for (let i = 0; i < 1000; i++) count();
    t.same([reports, timers.length], [[1], 1]);
    timers.shift()!();
    t.same([reports, timers.length], [[1, 1000], 1]);
    timers.shift()!();
    t.same([reports, timers.length], [[1, 1000], 0], "nothing has happened since");
    count();
    t.same([reports, timers.length], [[1, 1000, 1], 1], "so the next one is a first one");
  },
);
