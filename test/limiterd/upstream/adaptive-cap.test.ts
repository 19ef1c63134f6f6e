import t from "tap";
import { AdaptiveCap } from "../../../limiterd/upstream/adaptive-cap.js";
import { createRandom } from "../../sim/random.js";

interface Server {
  readonly slots: number;
  readonly workMs: number;
  /** How much the time of a request varies, in standard deviations of its logarithm. */
  readonly noise?: number;
  /** The factors of the times of prompts of different length. */
  readonly lengths?: readonly number[];
}

/**
 * Clients that always have another request, at a server that works on `slots` requests at a time
 * and queues the others. Returns the mean cap, and the mean of latency ÷ work, after `fromMs`.
 */
function run(
  cap: AdaptiveCap,
  serverAt: (nowMs: number) => Server,
  { untilMs, fromMs, seed }: { readonly untilMs: number; readonly fromMs: number; seed: number },
): { readonly mean: number; readonly slowdown: number; readonly most: number } {
  const random = createRandom(seed);
  const normal = (): number => {
    let sum = 0;
    for (let i = 0; i < 12; i++) sum += random.next();
    return sum - 6;
  };
  let nowMs = 0;
  const queue: { sentMs: number; length: number }[] = [];
  const working: { sentMs: number; length: number; endMs: number; workMs: number }[] = [];
  let caps = 0;
  let slowdowns = 0;
  let measured = 0;
  let most = 0;
  while (nowMs < untilMs) {
    const { slots, workMs, noise = 0, lengths = [1] } = serverAt(nowMs);
    while (queue.length + working.length < cap.cap) {
      const length = Math.floor(random.next() * lengths.length);
      queue.push({ sentMs: nowMs, length });
    }
    while (working.length < slots && queue.length > 0) {
      const next = queue.shift()!;
      const time = workMs * lengths[next.length]! * Math.exp(noise * normal());
      working.push({ ...next, endMs: nowMs + time, workMs: time });
    }
    let first = 0;
    for (let i = 1; i < working.length; i++)
      if (working[i]!.endMs < working[first]!.endMs) first = i;
    const [done] = working.splice(first, 1) as [(typeof working)[number]];
    nowMs = done.endMs;
    const inFlight = queue.length + working.length + 1;
    cap.noteAnswer({
      startedMs: done.sentMs,
      nowMs,
      firstByteMs: nowMs - done.sentMs,
      size: done.length,
      inFlight,
    });
    if (nowMs < fromMs) continue;
    measured++;
    caps += cap.cap;
    most = Math.max(most, cap.cap);
    slowdowns += (nowMs - done.sentMs) / done.workMs;
  }
  return { mean: caps / measured, slowdown: slowdowns / measured, most };
}

for (const slots of [5, 16, 60])
  t.test(`a server of ${slots} slots is found within 20%, and stays fast`, async (t) => {
    for (let seed = 1; seed <= 5; seed++) {
      const cap = new AdaptiveCap({ min: 1, max: 1000 });
      const server = { slots, workMs: 400, noise: 0.15, lengths: [1, 4, 0.5] };
      const times = { untilMs: 300_000, fromMs: 120_000, seed };
      const { mean, slowdown } = run(cap, () => server, times);
      t.ok(Math.abs(mean / slots - 1) <= 0.2, `seed ${seed}: a mean cap of ${mean.toFixed(1)}`);
      t.ok(slowdown < 1.5, `seed ${seed}: ${slowdown.toFixed(2)} times as slow`);
    }
  });

t.test("a server that loses half of its slots gets half of the requests", async (t) => {
  const cap = new AdaptiveCap({ min: 1, max: 1000 });
  const serverAt = (nowMs: number) => ({ slots: nowMs < 200_000 ? 40 : 20, workMs: 300 });
  const { mean } = run(cap, serverAt, { untilMs: 500_000, fromMs: 300_000, seed: 7 });
  t.ok(Math.abs(mean / 20 - 1) <= 0.25, `a mean cap of ${mean.toFixed(1)}`);
});

t.test("a server that becomes slower for every request keeps its slots", async (t) => {
  const cap = new AdaptiveCap({ min: 1, max: 1000 });
  const serverAt = (nowMs: number) => ({ slots: 20, workMs: nowMs < 150_000 ? 200 : 600 });
  const { mean } = run(cap, serverAt, { untilMs: 700_000, fromMs: 400_000, seed: 3 });
  t.ok(Math.abs(mean / 20 - 1) <= 0.25, `a mean cap of ${mean.toFixed(1)}`);
});

t.test("the cap never leaves its bounds, whatever is reported", async (t) => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = createRandom(seed);
    const cap = new AdaptiveCap({ min: 3, max: 9 });
    let nowMs = 0;
    for (let i = 0; i < 400; i++) {
      nowMs += random.next() * 1000;
      const startedMs = nowMs - random.next() * 20_000;
      if (random.next() < 0.1) cap.noteOverload(startedMs, nowMs);
      else
        cap.noteAnswer({
          startedMs,
          nowMs,
          firstByteMs: random.next() < 0.1 ? 0 : random.next() * 1e6,
          size: Math.floor(random.next() * 1000),
          inFlight: Math.floor(random.next() * 20),
        });
      if (!(cap.cap >= 3 && cap.cap <= 9 && Number.isInteger(cap.cap)))
        return void t.fail(`seed ${seed}`);
    }
  }
  t.pass();
});

t.test("refusals of an overloaded server lower the cap once, not once each", async (t) => {
  const cap = new AdaptiveCap({ min: 2, max: 100 });
  for (let i = 0; i < 400; i++)
    cap.noteAnswer({
      startedMs: i * 10,
      nowMs: i * 10 + 5,
      firstByteMs: 5,
      size: 1,
      inFlight: 100,
    });
  const before = cap.cap;
  t.ok(before > 20, String(before));
  for (let i = 0; i < 50; i++) cap.noteOverload(4100, 4200 + i);
  t.equal(cap.cap, Math.floor(before * 0.8));
});

t.test("a cap that isn't used doesn't grow", async (t) => {
  const cap = new AdaptiveCap({ min: 4, max: 100 });
  for (let i = 0; i < 400; i++)
    cap.noteAnswer({ startedMs: i * 10, nowMs: i * 10 + 5, firstByteMs: 5, size: 1, inFlight: 2 });
  t.equal(cap.cap, 4);
  t.equal(cap.slowdown, 1);
});
