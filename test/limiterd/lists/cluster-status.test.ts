import t from "tap";
import { type HostBoard, hostAliveMs } from "../../../limiterd/cluster/hosts/host-board.js";
import { clusterStatus } from "../../../limiterd/lists/cluster-status.js";

const nowMs = Date.UTC(2026, 0, 1);

const own = {
  id: "h1",
  name: "one",
  version: "1.0",
  startedAtMs: nowMs - 60_000,
  silentMs: 0,
  configuration: "a",
  failureMode: "open",
};

/** What the status says of a cluster with these differences to two hosts that agree. */
function statusOf({
  other = {},
  takenAtMs = null as number | null,
  order = null as number | null,
} = {}) {
  const board = {
    identity: { id: "h1", start: 1, takenAtMs },
    facts: own,
    hosts: [own, { ...own, id: "h2", name: "two", silentMs: 400, ...other }],
  } as unknown as HostBoard;
  const sharedDefinitions = order === null ? null : { state: { order } };
  const state = { sharedDefinitions, clusterFailing: "gone" } as never;
  const member = {
    ...{ name: "eu", failureMode: "open", board },
    engineState: () => ({ kind: "connected" }),
    reception: () => ({ isConfirmed: true, subscribers: 2 }),
  } as never;
  return clusterStatus(state, member, nowMs);
}

t.test("the status says which hosts there are, which lives, and how each differs", async (t) => {
  const host = {
    id: "h1",
    name: "one",
    this_host: true,
    alive: true,
    version: "1.0",
    uptime_seconds: 60,
    silent_seconds: 0,
    configuration_differs: false,
    failure_mode: "open",
    failure_mode_differs: false,
  };
  const two = { ...host, id: "h2", name: "two", this_host: false };
  t.strictSame(statusOf(), {
    name: "eu",
    host: "h1",
    engine: "connected",
    engine_failing: "gone",
    changes_heard: true,
    changes_subscribers: 2,
    failure_mode: "open",
    id_taken_at: null,
    definitions_version: 0,
    hosts: [host, two],
  });
  for (const [other, differing] of [
    [{ silentMs: hostAliveMs - 1 }, { alive: true, silent_seconds: 10 }],
    [{ silentMs: hostAliveMs }, { alive: false, silent_seconds: 10 }],
    [{ silentMs: 1500 }, { silent_seconds: 2 }],
    [{ silentMs: -5000 }, { silent_seconds: 0 }],
    [{ startedAtMs: nowMs - 90_499 }, { uptime_seconds: 90 }],
    [{ startedAtMs: nowMs - 9_000_499 }, { uptime_seconds: 9000 }],
    [{ silentMs: 9_000_499 }, { alive: false, silent_seconds: 9000 }],
    [{ startedAtMs: nowMs + 5000 }, { uptime_seconds: 0 }],
    [{ configuration: "b" }, { configuration_differs: true }],
    [{ failureMode: "closed" }, { failure_mode: "closed", failure_mode_differs: true }],
    [{ failureMode: null }, { failure_mode: null, failure_mode_differs: false }],
  ] as const)
    t.strictSame(
      statusOf({ other }).hosts,
      [host, { ...two, ...differing }],
      JSON.stringify(other),
    );
  t.equal(statusOf({ takenAtMs: nowMs + 999 }).id_taken_at, "2026-01-01T00:00:00Z");
  t.equal(statusOf({ order: 7 }).definitions_version, 7);
});
