import t from "tap";
import { classOrderOf } from "../../../limiterd/waiting/class-order.js";
import {
  type WaitOutcome,
  type WaitPlace,
  WaitQueues,
} from "../../../limiterd/waiting/wait-queues.js";
import { createRandom } from "../../sim/random.js";

interface Sample {
  readonly name: string;
  readonly arrivedMs: number;
  readonly deadlineMs: number;
}

const bounds = { all: 100, perClass: 50, judgements: 64 };

const waiting = (name: string, arrivedMs = 0, deadlineMs = 1e6): Sample => ({
  name,
  arrivedMs,
  deadlineMs,
});

const place = (key: string, className = "", changes: Partial<WaitPlace> = {}): WaitPlace => ({
  key,
  className,
  order: () => classOrderOf(null),
  paceMs: null,
  notBeforeMs: 0,
  againMs: 1000,
  ...changes,
});

/** Admits while there is room at the counters of each; the first full one refuses. */
function lookBy(
  room: Record<string, number>,
  needs: (name: string) => readonly WaitPlace[],
  admitted: string[],
  queues?: WaitQueues<Sample>,
): (sample: Sample) => WaitOutcome {
  return ({ name }) => {
    for (const need of needs(name)) {
      if (room[need.key]! <= 0) return { kind: "refused", place: need };
      if ((queues?.behindMs(need.key, 0, () => need.className) ?? 0) > 0)
        return { kind: "behind", place: need };
    }
    for (const need of needs(name)) room[need.key]!--;
    admitted.push(name);
    return { kind: "admitted" };
  };
}

t.test("first come is first served within a class, and classes take turns", async (t) => {
  const queues = new WaitQueues<Sample>(bounds);
  const classOf = (name: string): string => name[0]!;
  for (const [at, name] of ["a1", "a2", "a3", "a4", "b1", "b2", "c1"].entries())
    queues.add(waiting(name, at), place("rule", classOf(name)), at);
  t.equal(queues.size, 7);
  const admitted: string[] = [];
  const look = lookBy({ rule: 7 }, (name) => [place("rule", classOf(name))], admitted);
  queues.wake("rule");
  t.equal(queues.turn(10, look), false);
  t.same(admitted, ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
  t.equal(queues.size, 0);
  t.notOk(queues.isQueued("rule"));
});

t.test("a refusal ends the turn of its counter, until it is due or woken", async (t) => {
  const queues = new WaitQueues<Sample>(bounds);
  for (const name of ["1", "2"]) queues.add(waiting(name), place("rule"), 0);
  let looks = 0;
  const refuse = (): WaitOutcome => {
    looks++;
    return { kind: "refused", place: place("rule", "", { againMs: 500 }) };
  };
  queues.turn(999, refuse);
  t.equal(looks, 0, "it isn't due");
  queues.turn(1000, refuse);
  t.equal(looks, 1, "the second isn't looked at");
  queues.turn(499, refuse);
  t.equal(looks, 1);
  queues.wake("rule");
  t.ok(queues.isWoken);
  queues.turn(499, refuse);
  t.equal(looks, 2, "it was woken");
  queues.wake("another");
  t.notOk(queues.isWoken);
  queues.wakeAll();
  queues.turn(0, refuse);
  t.equal(looks, 3);
});

t.test("one that comes to a woken queue doesn't undo the wake-up", async (t) => {
  const queues = new WaitQueues<Sample>(bounds);
  queues.add(waiting("1"), place("rule"), 0);
  queues.wake("rule");
  queues.add(waiting("2"), place("rule", "", { againMs: 5000 }), 0);
  const admitted: string[] = [];
  queues.turn(
    1,
    lookBy({ rule: 1 }, () => [place("rule")], admitted),
  );
  t.same(admitted, ["1"]);
});

t.test("a request moves to the counter that refuses it, with its arrival", async (t) => {
  const queues = new WaitQueues<Sample>(bounds);
  queues.add(waiting("late", 5), place("b"), 5);
  queues.add(waiting("early", 1), place("a"), 5);
  const room = { a: 1, b: 0 };
  const admitted: string[] = [];
  const needs = (name: string): WaitPlace[] =>
    name === "late" ? [place("b")] : [place("a"), place("b")];
  queues.wake("a");
  queues.turn(6, lookBy(room, needs, admitted));
  t.notOk(queues.isQueued("a"));
  t.same(room, { a: 1, b: 0 }, "nothing counts while it waits");
  room.b = 1;
  queues.wake("b");
  queues.turn(7, lookBy(room, needs, admitted));
  t.same(admitted, ["early"]);
  t.equal(queues.size, 1);
});

t.test("an older request of another queue is judged first", async (t) => {
  const queues = new WaitQueues<Sample>(bounds);
  queues.add(waiting("old", 1), place("b"), 1);
  queues.add(waiting("new", 2), place("a"), 2);
  const admitted: string[] = [];
  const needs = (name: string): WaitPlace[] =>
    name === "old" ? [place("b")] : [place("a"), place("b")];
  // Only the newer one's queue is due.
  queues.wake("a");
  queues.turn(3, lookBy({ a: 1, b: 1 }, needs, admitted, queues));
  t.same(admitted, ["old"]);
  t.equal(queues.size, 1, "the newer one waits for the other counter now");
  t.ok(queues.isQueued("b"));
});

t.test("a small request of another queue doesn't pass an older large one", async (t) => {
  const queues = new WaitQueues<Sample>(bounds);
  queues.add(waiting("large", 1), place("tokens"), 1);
  queues.add(waiting("small", 2), place("slots"), 2);
  queues.add(waiting("other", 3), place("slots"), 3);
  const tokens = (name: string): number => (name === "large" ? 5 : 1);
  const room = { tokens: 2, slots: 1 };
  const admitted: string[] = [];
  const look = ({ name }: Sample): WaitOutcome => {
    if (room.slots === 0) return { kind: "refused", place: place("slots") };
    if (name !== "other") {
      if (room.tokens < tokens(name)) return { kind: "refused", place: place("tokens") };
      if (queues.behindMs("tokens", 3, () => "") > 0)
        return { kind: "behind", place: place("tokens") };
      room.tokens -= tokens(name);
    }
    room.slots--;
    admitted.push(name);
    return { kind: "admitted" };
  };
  queues.wake("slots");
  t.equal(queues.turn(3, look), false);
  t.same(admitted, ["other"], "one that needs no tokens passes");
  Object.assign(room, { tokens: 6, slots: 2 });
  queues.wake("tokens");
  queues.turn(4, look);
  t.same(admitted, ["other", "large", "small"]);
});

t.test("a new request waits behind the others", async (t) => {
  const queues = new WaitQueues<Sample>(bounds);
  t.equal(
    queues.behindMs("rule", 0, () => ""),
    0,
  );
  queues.add(waiting("1"), place("rule", "", { notBeforeMs: 700, paceMs: 100 }), 0);
  t.equal(
    queues.behindMs("rule", 0, () => ""),
    800,
  );
  const [only] = [...queues.views(0)];
  t.match(only, { key: "rule", size: 1, expectedMs: 800 });
  t.same(only?.classes, [{ name: "", waiting: 1 }]);
});

t.test("a class may be refused alone", async (t) => {
  const queues = new WaitQueues<Sample>(bounds);
  const base = classOrderOf(null);
  const order = () => ({
    addClass: (name: string) => base.addClass(name, 0),
    removeClass: (name: string) => base.removeClass(name),
    admitted: (name: string) => base.admitted(name, 0),
    inOrder: () => base.inOrder(0),
    refusesByClass: true,
  });
  queues.add(waiting("full"), place("rule", "full", { order }), 0);
  queues.add(waiting("free"), place("rule", "free", { order }), 0);
  const admitted: string[] = [];
  const look = ({ name }: Sample): WaitOutcome => {
    if (name === "full") return { kind: "refused", place: place("rule", name, { order }) };
    admitted.push(name);
    return { kind: "admitted" };
  };
  queues.wake("rule");
  queues.turn(1, look);
  t.same(admitted, ["free"]);
  queues.wake("rule");
  let looks = 0;
  queues.turn(2, (sample) => {
    looks++;
    return look(sample);
  });
  t.equal(looks, 1, "it is looked at again in the next turn");
});

t.test("the number of waiting requests is bounded, in all and of a class", async (t) => {
  const queues = new WaitQueues<Sample>({ all: 3, perClass: 2, judgements: 1 });
  const add = (name: string, className: string): boolean =>
    queues.add(waiting(name), place("rule", className), 0);
  t.same(
    [add("1", "a"), add("2", "a"), add("3", "a"), add("4", "b"), add("5", "b")],
    [true, true, false, true, false],
  );
  queues.wake("rule");
  const admitted: string[] = [];
  const look = lookBy({ rule: 9 }, (name) => [place("rule", name === "4" ? "b" : "a")], admitted);
  t.equal(queues.turn(1, look), true, "the others are left for another turn");
  t.same(admitted, ["1"]);
});

t.test("deadlines, positions and the counts of other hosts", async (t) => {
  const queues = new WaitQueues<Sample>(bounds);
  const samples = ["1", "2", "3"].map((name, i) => waiting(name, i, 100 + i * 100));
  for (const sample of samples) queues.add(sample, place("rule", "", { paceMs: 10 }), 0);
  t.same(
    samples.map((sample) => queues.placeOf(sample, 0)),
    [0, 10, 20].map((expectedMs, i) => ({ position: i + 1, expectedMs })),
  );
  t.same(queues.expired(99), []);
  t.same(queues.expired(250), samples.slice(0, 2));
  queues.remove(samples[0]!);
  queues.remove(samples[0]!);
  t.equal(queues.placeOf(samples[0]!, 0), null);
  queues.wake("rule");
  let looks = 0;
  const ask = (): WaitOutcome => {
    looks++;
    return { kind: "asking" };
  };
  queues.turn(260, ask);
  queues.wake("rule");
  queues.turn(260, ask);
  t.equal(looks, 1, "the queue waits for the answer");
  t.equal(queues.behindMs("rule", 260, () => "") > 0, true);
  queues.judgeAgain(samples[1]!, 270, () => ({ kind: "admitted" }));
  t.notOk(queues.has(samples[1]!));
  t.ok(queues.isWoken, "the next one is looked at soon");
  queues.turn(271, () => ({ kind: "later" }));
  queues.turn(272, ask);
  t.equal(looks, 1, "not before other hosts can be asked again");
  queues.judgeAgain(samples[0]!, 270, ask);
  t.equal(looks, 1, "it has left");
});

t.test("whatever happens, the order holds and nobody is lost", async (t) => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = createRandom(seed);
    const queues = new WaitQueues<Sample>({ all: 1000, perClass: 1000, judgements: 8 });
    const rules = ["a", "b", "c"];
    const room: Record<string, number> = { a: 0, b: 0, c: 0 };
    const needsOf = new Map<string, readonly WaitPlace[]>();
    const left = new Set<Sample>();
    const admitted: string[] = [];
    for (let now = 0; now < 300; now++) {
      const needs = (name: string): readonly WaitPlace[] => needsOf.get(name)!;
      if (random.chance(0.5)) {
        const sample = waiting(`${now}`, now);
        const of = rules.filter(() => random.chance(0.5));
        const chosen = of.length === 0 ? [rules[0]!] : of;
        const className = `c${random.int(0, 2)}`;
        needsOf.set(
          sample.name,
          chosen.map((key) => place(key, className, { againMs: now + 1000 })),
        );
        const full = needs(sample.name).find(
          ({ key }) => room[key]! <= 0 || queues.behindMs(key, now, () => className) > 0,
        );
        if (full === undefined) for (const { key } of needs(sample.name)) room[key]!--;
        else {
          queues.add(sample, full, now);
          left.add(sample);
        }
      }
      if (random.chance(0.5)) {
        const key = rules[random.int(0, 2)]!;
        room[key]!++;
        queues.wake(key);
      }
      while (
        queues.turn(now, (sample) => {
          const classOf = (name: string): string => needs(name)[0]!.className;
          const found = lookBy(room, needs, admitted, queues)(sample);
          if (found.kind !== "admitted") return found;
          left.delete(sample);
          for (const other of left)
            if (
              classOf(other.name) === classOf(sample.name) &&
              other.arrivedMs < sample.arrivedMs &&
              needs(other.name).every(({ key }) => needs(sample.name).some((n) => n.key === key))
            )
              t.fail(`seed ${seed}: ${sample.name} has passed ${other.name}`);
          return found;
        })
      );
      for (const sample of left)
        if (needs(sample.name).every(({ key }) => room[key]! > 0))
          t.fail(`seed ${seed}: ${sample.name} waits although there is room`);
    }
    t.equal(queues.size, left.size);
  }
});

t.test("a queue isn't left waiting for the answer to a request that has left", async (t) => {
  const queues = new WaitQueues<Sample>(bounds);
  const samples = ["1", "2"].map((name) => waiting(name));
  for (const sample of samples) queues.add(sample, place("rule"), 0);
  queues.wake("rule");
  queues.turn(1, () => ({ kind: "asking" }));
  queues.remove(samples[0]!);
  t.ok(queues.isWoken, "the next one is judged soon");
  queues.turn(2, () => ({ kind: "asking" }));
  queues.judgeAgain(samples[0]!, 3, () => ({ kind: "admitted" }));
  queues.judgeAgain(samples[1]!, 3, () => ({ kind: "admitted" }));
  t.equal(queues.size, 0);
});

t.test("a turn judges fewer requests if their queue has many classes", async (t) => {
  const queues = new WaitQueues<Sample>({ all: 1000, perClass: 2, judgements: 12 });
  for (let i = 0; i < 250; i++) queues.add(waiting(`${i}`), place("rule", `c${i}`), 0);
  queues.wake("rule");
  let judged = 0;
  t.equal(
    queues.turn(1, () => {
      judged++;
      return { kind: "admitted" };
    }),
    true,
    "the others are left for another turn",
  );
  t.equal(judged, 4);
});
