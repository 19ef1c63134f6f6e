/**
 * Many clients of several proxies at a provider that limits for real, in virtual time: how many
 * 429s it has to send, and how much it serves.
 */
import t from "tap";
import { UpstreamBook } from "../../../limiterd/upstream/upstream-book.js";
import type { ReportedLimit } from "../../../shared/domain/upstream-limits.js";
import { createRandom, type Random } from "../../sim/random.js";

interface Scene {
  readonly clients: number;
  readonly limit: number;
  readonly windowMs: number;
  /** How long a request takes at the provider. */
  readonly workMs: number;
  readonly untilMs: number;
  /** How late a report may reach the daemon. */
  readonly lateMs: number;
  readonly mode: "observe" | "avoid";
  /** How far the clock of the provider is from the daemon's: resets are relative. */
  readonly headerless?: boolean;
}

interface Seen {
  readonly served: number;
  /** In each window, the 429s and the requests in flight when the limit was reached. */
  readonly windows: { refused: number; inFlight: number; served: number }[];
}

const target = { provider: "p", model: "m" };

function play(scene: Scene, random: Random): Seen {
  const { clients, limit, windowMs, workMs, untilMs, lateMs, mode } = scene;
  const policy = { mode, trustsLimits: true, adaptive: null };
  const book = new UpstreamBook(new Map([["p", policy]]));
  const events: { atMs: number; run: () => void }[] = [];
  let nowMs = 1_000_000;
  const startMs = nowMs;
  const after = (ms: number, run: () => void): void => {
    events.push({ atMs: nowMs + ms, run });
  };
  let windowFromMs = -Infinity;
  let count = 0;
  let inFlight = 0;
  let served = 0;
  const windows: Seen["windows"] = [];
  const ask = (): void => {
    const known = book.targetOf(target, nowMs);
    const breach = known?.breach(nowMs) ?? null;
    // A client retries when it may, or soon after if it wasn't told.
    if (breach !== null) return after(breach.waitSeconds > 1 ? 200 : 20, ask);
    known?.noteAdmission(nowMs);
    if (known !== null) known.counter.inFlight++;
    inFlight++;
    const sentMs = nowMs;
    after(random.next() * 5, () => {
      if (nowMs - windowFromMs >= windowMs) {
        windowFromMs = nowMs;
        count = 0;
        windows.push({ refused: 0, inFlight: 0, served: 0 });
      }
      const window = windows.at(-1)!;
      count++;
      if (count === limit) window.inFlight = inFlight;
      const isRefused = count > limit;
      if (isRefused) window.refused++;
      else window.served++;
      after(isRefused ? 2 : workMs * (0.5 + random.next()), () => {
        const resetMs = Math.max(1, windowFromMs + windowMs - nowMs);
        const left = Math.max(0, limit - count);
        const limits: ReportedLimit[] =
          scene.headerless === true
            ? []
            : [{ name: "requests", limit, remaining: left, resetMs: Math.ceil(resetMs) }];
        inFlight--;
        if (known !== null) known.counter.inFlight--;
        if (!isRefused) served++;
        const answeredMs = nowMs;
        after(random.next() * lateMs, () =>
          book.report(
            {
              kind: "reported",
              target,
              startedAgoMs: nowMs - sentMs,
              status: isRefused ? 429 : 200,
              limits,
              waitMs: isRefused
                ? Math.max(1, Math.ceil(resetMs - (nowMs - answeredMs)))
                : undefined,
            },
            nowMs,
          ),
        );
        after(random.next() * 10, ask);
      });
    });
  };
  for (let i = 0; i < clients; i++) after(random.next() * 50, ask);
  while (nowMs - startMs < untilMs) {
    let first = 0;
    for (let i = 1; i < events.length; i++) if (events[i]!.atMs < events[first]!.atMs) first = i;
    const [next] = events.splice(first, 1);
    nowMs = next!.atMs;
    next!.run();
  }
  return { served, windows };
}

const scene: Scene = {
  clients: 40,
  limit: 300,
  windowMs: 20_000,
  workMs: 400,
  untilMs: 120_000,
  lateMs: 1,
  mode: "avoid",
};

for (const [name, more] of [
  ["with counts in its headers", {}],
  ["that only sends 429s", { headerless: true }],
] as const)
  t.test(`a provider ${name} refuses what was in flight, and serves all it can`, async (t) => {
    for (let seed = 1; seed <= 20; seed++) {
      const { served, windows } = play({ ...scene, ...more }, createRandom(seed));
      for (const [i, { refused, inFlight }] of windows.entries())
        if (refused > inFlight) t.fail(`seed ${seed}: ${refused} of ${inFlight} in window ${i}`);
      // A client that knows the limit is served `limit` in each window.
      const ideal = (scene.limit * scene.untilMs) / scene.windowMs;
      t.ok(served >= 0.95 * ideal, `seed ${seed}: ${served} of ${ideal}`);
    }
  });

t.test("late and unordered reports cost 429s of that time, and no more", async (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    const { served, windows } = play({ ...scene, lateMs: 300 }, createRandom(seed));
    const ideal = (scene.limit * scene.untilMs) / scene.windowMs;
    t.ok(served >= 0.95 * ideal, `seed ${seed}: ${served} of ${ideal}`);
    const worst = Math.max(...windows.map(({ refused }) => refused));
    // Each client may repeat its request every 10 ms until the daemon knows.
    t.ok(worst <= scene.clients * 30, `seed ${seed}: ${worst} refused`);
  }
});

t.test("without avoiding, every client is refused again and again", async (t) => {
  const { windows } = play({ ...scene, mode: "observe", untilMs: 40_000 }, createRandom(1));
  t.ok(Math.max(...windows.map(({ refused }) => refused)) > 1000);
});
