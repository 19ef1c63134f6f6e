import t from "tap";
import { createTargetOrder } from "../../../proxy/routing/order-targets.js";
import type { VirtualRoute } from "../../../proxy/routing/resolve-model.js";
import { createTargetLoad } from "../../../proxy/routing/target-load.js";
import type { Strategy } from "../../../shared/config/config.js";

const targets = [
  { provider: "a", model: "m", weight: 1 },
  { provider: "b", model: "m", weight: 2 },
  { provider: "c", model: "m", weight: 1 },
] as const;
const [a, b, c] = targets;

function routed(strategy: Strategy) {
  const clock = { nowMs: 0 };
  const load = createTargetLoad([{ source: "s", strategy, targets }], () => clock.nowMs)!;
  const order = createTargetOrder(() => null, load);
  const route: VirtualRoute = { kind: "virtual", source: "s", strategy, targets };
  const names = (): string =>
    order
      .order(route)
      .map(({ provider }) => provider)
      .join("");
  return { clock, load, names };
}

t.test("a target that was measured once is as fast as one that always was so", async (t) => {
  const { load, names } = routed("latency");
  for (const [target, times] of [
    [a, 1],
    [b, 9],
  ] as const)
    for (let i = 0; i < times; i++) {
      load.begin(target);
      load.end(target, 1000);
    }
  load.begin(c);
  load.end(c, 9000);
  t.equal(load.latencyClass(a), load.latencyClass(b));
  t.equal(names().at(-1), "c");
});

t.test("least_busy takes the target with the fewest requests for its weight", async (t) => {
  const { load, names } = routed("least_busy");
  t.equal(names()[0], "b", "equals take their turns by weight");
  load.begin(b);
  t.not(names()[0], "b");
  load.begin(a);
  load.begin(c);
  t.equal(names()[0], "b", "half a request for its weight");
  load.begin(b);
  load.begin(b);
  t.equal(names().at(-1), "b");
  for (let i = 0; i < 3; i++) load.end(b, null);
  t.equal(names()[0], "b");
});

t.test(
  "latency takes the fastest; what isn't known is tried first, and what is old again",
  async (t) => {
    const { clock, load, names } = routed("latency");
    const measured = (target: (typeof targets)[number], ms: number): void => {
      load.begin(target);
      load.end(target, ms);
    };
    measured(a, 100);
    measured(b, 400);
    t.equal(names(), "cab");
    measured(c, 1000);
    t.equal(names(), "abc");
    for (let i = 0; i < 12; i++) measured(a, 2000);
    t.equal(names(), "bca", "smoothed");
    measured(b, 405);
    measured(c, 400);
    for (let i = 0; i < 20; i++) measured(c, 400);
    t.same(new Set([names()[0], names()[0], names()[0], names()[0]]), new Set(["b", "c"]));
    clock.nowMs = 60_000;
    t.equal(load.latencyClass(b), 0);
    measured(a, 5);
    t.equal(names().at(-1), "a");
  },
);

t.test("a failed attempt measures nothing, and other targets aren't watched", async (t) => {
  const { load } = routed("latency");
  load.begin(a);
  load.end(a, null);
  t.equal(load.latencyClass(a), 0);
  const other = { provider: "x", model: "m" };
  load.begin(other);
  load.end(other, 5);
  t.same([load.inFlight(other), load.latencyClass(other)], [0, 0]);
  t.equal(
    createTargetLoad([{ source: "s", strategy: "cost", targets }], () => 0),
    null,
  );
});

t.test("times have classes of a quarter each, and a new one counts for three tenths", async (t) => {
  const clock = { nowMs: 0 };
  const virtual = { source: "s", strategy: "latency", targets: [a] } as const;
  const loadAfter = (...times: readonly (number | null)[]): number => {
    const load = createTargetLoad([virtual], () => clock.nowMs)!;
    for (const ms of times) {
      load.begin(a);
      load.end(a, ms);
    }
    return load.latencyClass(a);
  };
  for (const [times, expected] of [
    [[], 0],
    [[0.2], 1],
    [[1], 1],
    [[100], 22],
    [[400], 28],
    [[100, 200], 23],
    [[100, null], 22],
    [[400, 100], 27],
  ] as const)
    t.equal(loadAfter(...times), expected, times.join());
});

t.test(
  "what was measured a minute ago says nothing, of a target that is measured again",
  async (t) => {
    const clock = { nowMs: 0 };
    const virtual = { source: "s", strategy: "latency", targets: [a] } as const;
    const load = createTargetLoad([virtual], () => clock.nowMs)!;
    t.equal(load.inFlight(a), 0);
    load.begin(a);
    t.equal(load.inFlight(a), 1, "one target is watched, too");
    load.end(a, 100);
    clock.nowMs = 59_999;
    t.equal(load.latencyClass(a), 22);
    clock.nowMs = 60_000;
    t.equal(load.latencyClass(a), 0);
    load.end(a, 1000);
    t.equal(load.latencyClass(a), 32, "not smoothed by what is too old");
    clock.nowMs = 119_999;
    t.equal(load.latencyClass(a), 32, "its time runs from the last measurement");
  },
);
