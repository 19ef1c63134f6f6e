import t from "tap";
import { type ServiceHealth, startHeartbeat } from "../../../bin/supervisor/heartbeat.js";
import type { Notice } from "../../../shared/supervision/supervisor-notices.js";

/** A supervisor that takes notices, a timer that the test turns, and a service. */
function beating(watchdogMs: number | null) {
  const sent: Notice[] = [];
  const stuck: string[] = [];
  const self = {
    sent,
    stuck,
    health: { status: "ready: 1", stuck: null } as ServiceHealth,
    takes: true,
    everyMs: 0,
    beat: () => {},
    ended: false,
    /** Notices are on their way until then. */
    settled: () => new Promise<void>((resolve) => setImmediate(resolve)),
  };
  const heartbeat = startHeartbeat({
    notices: {
      accepted: true,
      send(notice) {
        sent.push(notice);
        return Promise.resolve(self.takes);
      },
    },
    watchdogMs,
    health: () => self.health,
    onStuck: (reason) => void stuck.push(reason),
    every(ms, run) {
      self.everyMs = ms;
      self.beat = run;
      return () => {
        self.ended = true;
      };
    },
  });
  return Object.assign(self, { heartbeat });
}

t.test(
  "a watchdog hears four times in its time that the service lives, with its status",
  async (t) => {
    const service = beating(20_000);
    t.equal(service.everyMs, 5_000);
    await service.settled();
    service.beat();
    await service.settled();
    service.health = { status: "ready: 2", stuck: null };
    service.beat();
    t.same(service.sent, [
      { ready: true, watchdog: true, status: "ready: 1" },
      { watchdog: true, status: "ready: 1" },
      { watchdog: true, status: "ready: 2" },
    ]);
  },
);

t.test("a stuck commit is the status, is logged once, and stops the notices", async (t) => {
  const service = beating(20_000);
  await service.settled();
  for (const seconds of [120, 125]) {
    service.health = { status: "ready: 1", stuck: `a write hasn't ended for ${seconds} s` };
    service.beat();
    await service.settled();
  }
  t.same(service.sent.slice(1), [
    { status: "a write hasn't ended for 120 s" },
    { status: "a write hasn't ended for 125 s" },
  ]);
  t.same(service.stuck, ["a write hasn't ended for 120 s"]);
  service.health = { status: "ready: 1", stuck: null };
  service.beat();
  t.match(service.sent.at(-1), { watchdog: true });
});

t.test("without a watchdog a status is sent when it has changed or wasn't taken", async (t) => {
  const service = beating(null);
  await service.settled();
  service.beat();
  t.equal(service.sent.length, 1);
  service.health = { status: "ready: 2", stuck: null };
  service.takes = false;
  service.beat();
  await service.settled();
  service.beat();
  await service.settled();
  t.same(service.sent.slice(1), [{ status: "ready: 2" }, { status: "ready: 2" }]);
});

t.test("a slow supervisor gets no second notice while one is on its way", async (t) => {
  const service = beating(20_000);
  service.beat();
  service.beat();
  t.equal(service.sent.length, 1);
  await service.settled();
  service.beat();
  t.equal(service.sent.length, 2);
});

t.test("a stopping service says so immediately, and sends notices to its end", async (t) => {
  const service = beating(20_000);
  service.heartbeat.stopping();
  await service.settled();
  service.health = { status: "ready: 1", stuck: "a write" };
  service.beat();
  t.same(service.sent.slice(1), [
    { stopping: true, status: "stopping" },
    { watchdog: true, status: "stopping" },
  ]);
  service.heartbeat.end();
  t.ok(service.ended);
});

t.test("without a supervisor nothing runs", async (t) => {
  const heartbeat = startHeartbeat({
    notices: { accepted: false, send: () => t.fail() as never },
    watchdogMs: 20_000,
    health: () => t.fail() as never,
    onStuck: () => t.fail(),
    every: () => t.fail() as never,
  });
  heartbeat.stopping();
  heartbeat.end();
});
