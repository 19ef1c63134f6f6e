import t from "tap";
import { heldIdleMs, ProxyEnd } from "../../proxy/end-proxy.js";

const times = { drainGraceMs: 2_000, drainMs: 25_000, reloadDrainMs: 600_000, stopIdleMs: 0 };

/** The end of a proxy whose parts write down what is asked of them. */
function ending(stopIdleMs = 0) {
  const asked: string[] = [];
  const timers: { ms: number; run(): void }[] = [];
  let resolve: () => void = () => {};
  const closed = new Promise<void>((settle) => (resolve = settle));
  const end = new ProxyEnd(
    {
      listeners: {
        close({ idleMs, runningMs }) {
          asked.push(`close ${idleMs} ${runningMs}`);
          return closed;
        },
      },
      liveFeed: { close: () => void asked.push("live feed") },
      sessions: {
        drain: () => void asked.push("sessions"),
        ended: () => Promise.resolve(),
      },
      async finish() {
        asked.push("finish");
      },
      schedule: (ms, run) => void timers.push({ ms, run }),
    },
    { ...times, stopIdleMs },
  );
  return { end, asked, timers, closed: () => resolve() };
}

t.test("a stop takes requests for the grace, says that it isn't ready, then closes", async (t) => {
  const { end, asked, timers, closed } = ending();
  t.notOk(end.stopping);
  const stopped = end.stop({ atOnce: false });
  t.ok(end.stopping);
  t.same(asked, [], "nothing is closed during the grace");
  t.equal(timers[0]?.ms, 2_000);
  timers[0]!.run();
  await null;
  t.same(asked, ["sessions", "live feed", "close 0 25000"]);
  closed();
  await stopped;
  t.equal(asked.at(-1), "finish");
});

t.test("an immediate stop has no grace period", async (t) => {
  const { end, asked, timers, closed } = ending();
  closed();
  await end.stop({ atOnce: true });
  t.same(asked, ["sessions", "live feed", "close 0 25000", "finish"]);
  t.same(timers, []);
});

t.test("where a supervisor holds the socket, what is on its way has time to arrive", async (t) => {
  const { end, asked, timers } = ending(heldIdleMs);
  void end.stop({ atOnce: false });
  timers[0]!.run();
  await null;
  t.equal(asked.at(-1), "close 1000 25000");
  const other = ending(heldIdleMs);
  void other.end.stop({ atOnce: true });
  t.equal(other.asked.at(-1), "close 0 25000", "but not at once");
});

t.test("a replaced proxy stays ready, and gives its requests and sessions long", async (t) => {
  const { end, asked, timers, closed } = ending();
  const ended = end.replaced();
  t.notOk(end.stopping);
  t.same(asked, ["live feed", "close 5000 600000"]);
  t.equal(timers[0]?.ms, 575_000, "sessions are closed in order while there is time for it");
  timers[0]!.run();
  t.equal(asked.at(-1), "sessions");
  closed();
  await ended;
  t.equal(asked.at(-1), "finish");
});

t.test("a stop of a replaced proxy makes it quicker, and it finishes once", async (t) => {
  const { end, asked, closed } = ending();
  const ended = [end.replaced(), end.stop({ atOnce: false })];
  t.same(asked.slice(2), ["sessions", "live feed", "close 0 25000"]);
  closed();
  await Promise.all(ended);
  t.equal(asked.filter((part) => part === "finish").length, 1);
});
