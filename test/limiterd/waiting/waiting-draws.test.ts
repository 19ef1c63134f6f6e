/** Draws that wait for what other requests hold of a hard cap. */
import t from "tap";
import { Held } from "../../../limiterd/counters/held.js";
import type { PeerState } from "../../../limiterd/peer.js";
import { drawTickMs, type Waited, WaitingDraws } from "../../../limiterd/waiting/waiting-draws.js";
import { drawWaitMsMax } from "../../../shared/bounds.js";
import type { Drawn } from "../../../shared/wire/message-from-daemon.js";
import type { Lease } from "../../../shared/wire/message-to-daemon.js";
import { counts, pathRule, settleOf, startDaemon, target } from "../in-memory-daemon.js";

const cap = 400_000;
const prompt = { bound: 8000, used: 2000 };

/** The part of a cap that a wave of streams with large prompts uses, each until it is cut. */
function useOfWave(drawsWait: boolean): number {
  const rule = { ...pathRule("/team", 86_400, { tokens: cap }), hold: "hard" as const };
  const daemon = startDaemon([rule], { drawsWait });
  const peer = daemon.proxy("p1");
  const streams = new Map<number, { lease: Lease; total: number; isAsking: boolean }>();
  for (let id = 2; id < 42; id++) {
    const metered = {
      promptTokens: prompt.bound,
      outputMax: null,
      isStreamed: true,
      rates: [null],
    };
    peer.send({
      ...{ read: 0, kind: "admit", id, userPath: "/team", credential: "authenticated" },
      ...{ targets: [target], submission: false, metered },
    } as never);
    const answer = peer.received.at(-1)!;
    if (answer.kind !== "admitted") throw new Error(JSON.stringify(answer));
    const { admittedAtMs, lsn, allowance } = answer;
    const lease = {
      ...{ lease: id, userPath: "/team", admittedAtMs, lsn, target, submission: false },
      ...{ targetAtMs: admittedAtMs, targetLsn: lsn },
    };
    streams.set(id, { lease, total: allowance!, isAsking: false });
  }
  let seq = 0;
  let read = peer.received.length;
  for (let turn = 0; streams.size > 0; turn++) {
    if (turn > 10_000) throw new Error(`${streams.size} streams don't end`);
    for (const stream of streams.values()) {
      if (stream.isAsking) continue;
      stream.isAsking = true;
      peer.send({ kind: "draw", id: stream.lease.lease, total: stream.total + 512 });
    }
    daemon.tickDraws();
    // What is answered in this turn reaches the proxy, and its settle the daemon, in the next one.
    const answers = peer.received.slice(read) as readonly Drawn[];
    read = peer.received.length;
    for (const { id, total, cap: words } of answers) {
      const stream = streams.get(id)!;
      Object.assign(stream, { total, isAsking: false });
      if (words === undefined) continue;
      streams.delete(id);
      peer.send(settleOf(stream.lease, ++seq, prompt.used + total));
      read = peer.received.length;
    }
  }
  return counts(daemon, rule).tokens / cap;
}

t.test("a wave of streams with large prompts uses more than 99% of a cap", async (t) => {
  const [waiting, without] = [useOfWave(true), useOfWave(false)];
  t.ok(waiting > 0.99 && waiting <= 1, `${waiting} of the cap is used`);
  t.ok(without < 0.98, `without waiting, ${without}`);
});

/** Draws of a cap; a judgement refuses them, but gives to those that `given` allows. */
function drawsAt() {
  const time = { nowMs: 0, timers: [] as (() => void)[] };
  const draws = new WaitingDraws({
    monoMs: () => time.nowMs,
    schedule: (_ms, run) => void time.timers.push(run),
  });
  const answered: (readonly [lease: number, atMs: number, isLast: boolean])[] = [];
  const judged: number[] = [];
  const peer = { leases: new Map() } as unknown as PeerState;
  const held = new Held();
  const other = new Held();
  const refusing = {
    ...{ given: 0, moves: new Set<number>(), shares: new Map<number, string>() },
    waits: new Map<number, number>(),
  };
  const add = (lease: number, since: Waited | null = null): boolean => {
    const by = refusing.moves.has(lease) ? other : held;
    const share = refusing.shares.get(lease) ?? null;
    return draws.add(
      {
        ...{ peer, lease, held: by, child: "", share },
        waitMs: refusing.waits.get(lease) ?? drawWaitMsMax,
        judge: (waited, isLast) => {
          judged.push(lease);
          const isGiven = !isLast && !refusing.moves.has(lease) && refusing.given > 0;
          if (isGiven) refusing.given--;
          else if (!isLast && add(lease, waited)) return "refused";
          answered.push([lease, time.nowMs, isLast]);
          return "answered";
        },
      },
      since,
    );
  };
  const pass = (ms: number): void => {
    for (const until = time.nowMs + ms; time.nowMs < until; time.nowMs += drawTickMs)
      for (const run of time.timers.splice(0)) run();
  };
  const begin = (lease: number): void => {
    (peer.leases as unknown as Map<number, object>).set(lease, {});
    held.add("", 10);
  };
  const end = (lease: number): void => {
    (peer.leases as unknown as Map<number, object>).delete(lease);
    held.remove("", 10);
  };
  return { draws, add, pass, begin, end, answered, judged, refusing };
}

t.test(
  "if all requests on a cap wait, one ends at once, and the next when it has ended",
  async (t) => {
    const { draws, add, pass, begin, end, answered } = drawsAt();
    for (const lease of [1, 2, 3]) begin(lease);
    for (const lease of [1, 2, 3]) t.ok(add(lease));
    t.equal(draws.size, 3);
    pass(50);
    t.same(answered, [[1, 0, true]]);
    t.notOk(add(1), "its stream gets no more");
    end(1);
    pass(20);
    t.same(answered[1], [2, 50, true]);
    pass(150);
    t.same(answered[2], [3, 150, true], "its stream doesn't end, so the next one does");
    t.equal(draws.size, 0);
  },
);

t.test("while others run, a draw waits for them, and one after the other ends", async (t) => {
  const { add, pass, begin, answered } = drawsAt();
  for (const lease of [1, 2, 3, 4]) begin(lease);
  for (const lease of [1, 2]) add(lease);
  pass(100);
  t.same(answered, []);
  pass(drawWaitMsMax);
  t.same(
    answered.map(([lease, atMs]) => [lease, atMs]),
    [
      [1, 100],
      [2, 200],
    ],
  );
});

t.test("no draw waits longer than the proxy allows", async (t) => {
  const { draws, add, pass, begin, answered } = drawsAt();
  for (let lease = 1; lease <= 20; lease++) begin(lease);
  for (let lease = 1; lease < 20; lease++) add(lease);
  pass(drawWaitMsMax + drawTickMs);
  t.equal(answered.length, 19);
  t.ok(answered.every(([, atMs, isLast]) => isLast && atMs <= drawWaitMsMax));
  t.equal(draws.size, 0);
});

t.test("a draw waits no longer than its stream can", async (t) => {
  const { add, pass, begin, answered, refusing } = drawsAt();
  for (const lease of [1, 2, 3]) begin(lease);
  refusing.waits.set(2, 3 * drawTickMs);
  for (const lease of [1, 2]) add(lease);
  pass(drawWaitMsMax + drawTickMs);
  t.same(answered, [
    [2, 30, true],
    [1, 100, true],
  ]);
});

t.test("a tick judges the first draw of a cap, and goes on while it gives something", async (t) => {
  const { add, pass, begin, answered, judged, refusing } = drawsAt();
  for (let lease = 1; lease <= 1001; lease++) begin(lease);
  for (let lease = 1; lease <= 1000; lease++) add(lease);
  pass(5 * drawTickMs);
  t.same(judged, [1, 1, 1, 1, 1], "of a thousand");
  refusing.given = 2;
  pass(drawTickMs);
  t.same(judged.slice(5), [1, 2, 3], "first come, first served");
  t.same(answered, [
    [1, 50, false],
    [2, 50, false],
  ]);
});

t.test("a draw that another cap refuses moves there, and the next one is judged", async (t) => {
  const { add, pass, begin, judged, answered, refusing } = drawsAt();
  for (let lease = 1; lease <= 5; lease++) begin(lease);
  for (let lease = 1; lease < 5; lease++) add(lease);
  refusing.moves.add(1);
  pass(drawTickMs);
  t.same(judged.slice(0, 2), [1, 2]);
  refusing.given = 1;
  pass(drawTickMs);
  t.same(
    answered.filter(([, , isLast]) => !isLast).map(([lease]) => lease),
    [2],
  );
});

t.test("a draw at its child's share doesn't hold up the draws of others", async (t) => {
  const { add, pass, begin, judged, refusing } = drawsAt();
  for (let lease = 1; lease <= 5; lease++) begin(lease);
  refusing.shares.set(1, "a").set(2, "a").set(3, "b");
  for (let lease = 1; lease < 5; lease++) add(lease);
  pass(drawTickMs);
  t.same(judged, [1, 3, 4]);
});

t.test("requests that have ended aren't counted among those that wait", async (t) => {
  const { draws, add, pass, begin, end, answered } = drawsAt();
  for (const lease of [1, 2, 3, 4]) begin(lease);
  for (const lease of [1, 2, 3]) add(lease);
  end(1);
  pass(5 * drawTickMs);
  t.same(answered, [], "the fourth still runs");
  t.equal(draws.size, 2);
  t.ok(add(2), "the same draw, repeated, keeps its place");
  t.equal(draws.size, 2);
});
