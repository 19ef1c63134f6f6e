import fc from "fast-check";
import t from "tap";
import { ConnectionRoom, connectionsWithin } from "../../../proxy/capacity/connection-room.js";
import { connectionsReserveMax } from "../../../shared/bounds.js";

class Connection {
  closed = false;
  running = 0;
  idleSince = 0;
  destroy(): void {
    this.closed = true;
  }
}

t.test("whatever opens, begins and ends, the bound holds and no busy one is closed", async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.array(fc.tuple(fc.constantFrom("open", "begin", "end", "go"), fc.nat())),
      (max, steps) => {
        const room = new ConnectionRoom<Connection>(max);
        const all: Connection[] = [];
        let at = 0;
        for (const [step, pick] of steps) {
          at++;
          const open = all.filter((connection) => !connection.closed);
          const one = open[pick % Math.max(1, open.length)];
          if (step === "open") {
            const added = new Connection();
            added.idleSince = at;
            all.push(added);
            room.onOpen(added);
          } else if (one === undefined) continue;
          else if (step === "begin") {
            room.began(one);
            one.running++;
            // The proxy refuses it, and closes its connection.
            if (room.isFull) {
              room.onGone(one);
              one.running = 0;
              one.closed = true;
            }
          } else if (step === "end" && one.running > 0) {
            room.onRequestEnd(one);
            if (--one.running === 0) one.idleSince = at;
          } else if (step === "go") {
            room.onGone(one);
            one.running = 0;
            one.closed = true;
          }
          const left = all.filter((connection) => !connection.closed);
          const idle = left.filter(({ running }) => running === 0);
          const requests = left.reduce((sum, { running }) => sum + running, 0);
          if (room.open !== left.length || room.requests !== requests)
            throw new Error("miscounted");
          if (left.length > max + 4) throw new Error(`${left.length} are open`);
          if (all.some(({ closed, running }) => closed && running > 0))
            throw new Error("a busy one is closed");
          // Those that had to go had been idle longer than those that stayed.
          if (step === "open" && idle.length > 0 && idle.at(-1) !== all.at(-1))
            throw new Error("the new one had to go");
        }
      },
    ),
  );
});

t.test("a connection that is reported twice counts once, a closed one not at all", async (t) => {
  const room = new ConnectionRoom<Connection>(2);
  const [a, b] = [new Connection(), new Connection()];
  for (const one of [a, a, b, a]) room.onOpen(one);
  t.equal(room.open, 2);
  room.began(b);
  room.onGone(b);
  for (const step of ["onRequestEnd", "began", "onGone"] as const) room[step](b);
  t.same([room.open, room.requests, room.runningOn(b)], [1, 0, 0]);
  room.closeIdle(5);
  t.same([room.open, a.closed, b.closed], [0, true, false]);
});

t.test("those that have been idle longest go first", async (t) => {
  const room = new ConnectionRoom<Connection>(2);
  const [a, b, c, ...more] = Array.from({ length: 9 }, () => new Connection());
  for (const one of [a!, b!, c!]) room.onOpen(one);
  room.began(a!);
  room.began(b!);
  room.onRequestEnd(a!);
  for (const one of more) room.onOpen(one);
  t.same(
    [a, b, c, ...more].map((one) => one!.closed),
    [true, false, true, true, true, false, false, false, false],
  );
});

t.test("each closed connection, and each request too many, is reported", async (t) => {
  let calls = 0;
  const room = new ConnectionRoom<Connection>(1, () => calls++);
  const all = Array.from({ length: 6 }, () => new Connection());
  for (const one of all) room.onOpen(one);
  t.equal(calls, 2);
  room.began(all[4]!);
  room.began(all[5]!);
  t.same([calls, room.isFull], [3, true]);
});

t.test("a process that may open few files holds few connections", async (t) => {
  for (const [files, wanted, max] of [
    [Number.POSITIVE_INFINITY, 10_000, 10_000],
    [1_048_576, 10_000, 10_000],
    [65_536, 100_000, 32_608],
    [1024, 10_000, 452],
    [128, 10_000, 30],
    [64, 10_000, 1],
    [0, 5, 1],
  ] as const) {
    t.equal(connectionsWithin(files, wanted), max, `${files} files`);
    if (max > 1) t.ok(2 * max + 64 + Math.min(connectionsReserveMax, Math.floor(max / 8)) <= files);
  }
});
