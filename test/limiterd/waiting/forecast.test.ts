/** What waiting requests are told of their wait ("number 4, about 6 s"), against the truth. */
import t from "tap";
import { explainNow } from "../../../limiterd/handlers/admin/handle-explain.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { Lease } from "../../../shared/wire/message-to-daemon.js";
import { createRandom } from "../../sim/random.js";
import { leaseOf, pathRule, settleOf, startDaemon, target } from "../in-memory-daemon.js";

const tickMs = 50;

interface Load {
  readonly rule: RuleDefinition;
  /** The tokens of a request of each tenant. */
  readonly sizes: Readonly<Record<string, number>>;
  /** How many requests each keeps waiting. */
  readonly backlog: number;
  readonly lastMs: readonly [number, number];
}

interface Forecast {
  readonly expectedMs: number;
  readonly actualMs: number;
}

/** What was expected when each request began to wait, and how long it waited. */
async function forecasts({ rule, sizes, backlog, lastMs }: Load): Promise<Forecast[]> {
  const random = createRandom(5);
  const daemon = startDaemon([rule], { waiting: { maxMs: 1e9, defaultMs: 1e9, paths: [] } });
  const peer = daemon.proxy("p");
  const { queues } = daemon.state.waiters;
  const asked = new Map<number, { name: string; atMs: number; expectedMs: number | null }>();
  let running: { lease: Lease; name: string; endMs: number }[] = [];
  const found: Forecast[] = [];
  let [lastId, seq, read] = [1, 0, 0];
  for (let tick = 0; tick < 3000; tick++) {
    daemon.nowMs += tickMs;
    for (const name in sizes)
      for (let left = backlog - countOf(asked, name); left > 0; left--) {
        const id = ++lastId;
        asked.set(id, { name, atMs: daemon.nowMs, expectedMs: null });
        peer.send({
          ...{ kind: "admit", id, userPath: `/team/${name}`, credential: "authenticated", read: 0 },
          ...{ targets: [target], submission: false },
          wait: { askedMs: null, timeoutMs: null, waitedMs: 0 },
        });
        const waiter = daemon.state.waiters.find(peer.state, id);
        const expectedMs =
          waiter === undefined ? null : queues.placeOf(waiter, daemon.nowMs)!.expectedMs;
        asked.set(id, { name, atMs: daemon.nowMs, expectedMs });
      }
    const due = running.filter(({ endMs }) => endMs <= daemon.nowMs);
    running = running.filter(({ endMs }) => endMs > daemon.nowMs);
    for (const { lease, name } of due) peer.send(settleOf(lease, ++seq, sizes[name]!));
    await daemon.commit();
    for (; read < peer.received.length; read++) {
      const message = peer.received[read]!;
      if (message.kind !== "admitted") continue;
      const { name, atMs, expectedMs } = asked.get(message.id)!;
      asked.delete(message.id);
      const lease = leaseOf(message, `/team/${name}`);
      running.push({ lease, name, endMs: daemon.nowMs + random.int(...lastMs) });
      // In the first minute the pace isn't known yet.
      if (expectedMs !== null && tick > 1200)
        found.push({ expectedMs, actualMs: daemon.nowMs - atMs });
    }
  }
  return found;
}

function countOf(asked: ReadonlyMap<number, { readonly name: string }>, name: string): number {
  let sum = 0;
  for (const each of asked.values()) if (each.name === name) sum++;
  return sum;
}

const one = { a: 1 };
const unequal = { small: 1, large: 100 };
const tokens = pathRule("/team", 10, { tokens: 500 });
const slots = pathRule("/team", 0, { requests: 4 });
const loads: Readonly<Record<string, Load>> = {
  "a slot": {
    ...{ rule: pathRule("/team", 0, { requests: 1 }), sizes: one, backlog: 5 },
    lastMs: [1000, 3000],
  },
  slots: { rule: slots, sizes: one, backlog: 20, lastMs: [1000, 3000] },
  "slots that become free together": {
    ...{ rule: pathRule("/team", 0, { requests: 40 }), sizes: one, backlog: 100 },
    lastMs: [5000, 5100],
  },
  requests: {
    ...{ rule: pathRule("/team", 10, { requests: 20 }), sizes: one, backlog: 30 },
    lastMs: [100, 200],
  },
  tenants: { rule: slots, sizes: { a: 1, b: 1, c: 1 }, backlog: 10, lastMs: [1000, 3000] },
  "tenants who share slots": {
    ...{ rule: { ...slots, childShares: {} }, sizes: { small: 1, large: 10 }, backlog: 20 },
    lastMs: [500, 1500],
  },
  "tenants who share tokens": {
    ...{ rule: { ...tokens, childShares: {} }, sizes: unequal, backlog: 40 },
    lastMs: [500, 1500],
  },
};

for (const [name, load] of Object.entries(loads))
  t.test(`most waits are forecast within a factor of two: ${name}`, async (t) => {
    const found = await forecasts(load);
    const isNear = ({ expectedMs, actualMs }: Forecast): boolean =>
      expectedMs <= 2 * actualMs + 1000 && actualMs <= 2 * expectedMs + 1000;
    const near = found.filter(isNear).length;
    t.comment(`${near} of ${found.length}: ${JSON.stringify(found.slice(0, 3))}`);
    t.ok(found.length >= 20, `${found.length} waits`);
    t.ok(near >= 0.9 * found.length, `${near} of ${found.length}`);
  });

t.test("explain says the place of the asking path among those that take turns", async (t) => {
  const daemon = startDaemon([pathRule("/team", 60, { requests: 60 })], {
    waiting: { maxMs: 1e9, defaultMs: 1e9, paths: [] },
  });
  const peer = daemon.proxy("p");
  for (let id = 2; id < 462; id++)
    peer.send({
      ...{ kind: "admit", id, userPath: "/team/busy", credential: "authenticated", read: 0 },
      ...{ targets: [target], submission: false },
      wait: { askedMs: null, timeoutMs: null, waitedMs: 0 },
    });
  t.equal(daemon.state.waiters.size, 400);
  const placeOf = (userPath: string): unknown =>
    explainNow(
      daemon.state,
      { userPath, targets: [target], submission: false },
      { nowMs: daemon.nowMs, within: "/" },
    ).verdict;
  t.match(placeOf("/team/busy"), { queue: { position: 401 } });
  t.match(placeOf("/team/other"), { queue: { position: 2 } });
});
