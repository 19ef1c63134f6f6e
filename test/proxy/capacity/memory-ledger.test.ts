import fc from "fast-check";
import t from "tap";
import { MemoryLedger, MemoryShare, requestPieces } from "../../../proxy/capacity/memory-ledger.js";

t.test("whatever is taken, given back and ended, the bound holds and nothing is left", async () => {
  const step = fc.record({
    what: fc.constantFrom("take", "answer", "give", "handled", "answered"),
    of: fc.nat(4),
    bytes: fc.nat(60),
  });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const ledger = new MemoryLedger(100);
      const shares = Array.from({ length: 5 }, () => new MemoryShare(ledger));
      const held = shares.map(() => 0);
      const ended = shares.map(() => new Set<string>());
      for (const { what, of, bytes } of steps) {
        const share = shares[of]!;
        const isOver = ended[of]!.size === 2;
        const others = ledger.held - held[of]!;
        if (what === "take" || what === "answer") {
          const max = others === 0 ? Infinity : what === "take" ? 75 : 100;
          const fits = !isOver && ledger.held + bytes <= max;
          const taken = what === "take" ? share.take(bytes) : share.takeForAnswer(bytes);
          if (taken !== fits) return false;
          if (taken) held[of]! += bytes;
        } else if (what === "give") {
          const given = Math.min(bytes, held[of]!);
          share.give(given);
          held[of]! -= given;
        } else {
          if (what === "handled") share.onHandlerEnd();
          else share.onResponseEnd();
          ended[of]!.add(what);
          if (ended[of]!.size === 2) held[of] = 0;
        }
        if (ledger.held !== held.reduce((sum, some) => sum + some, 0)) return false;
      }
      for (const share of shares) {
        share.onHandlerEnd();
        share.onResponseEnd();
      }
      return ledger.held === 0;
    }),
  );
});

t.test("it says each time that something doesn't fit", async (t) => {
  let full = 0;
  const ledger = new MemoryLedger(10, () => full++);
  t.ok(ledger.take(10));
  t.notOk(ledger.take(1));
  t.equal(full, 1);
  ledger.give(10);
  t.throws(() => ledger.give(1), /at most the taken bytes are given back/);
});

t.test("a piece takes more than its bytes, and gives back as much", async (t) => {
  const ledger = new MemoryLedger(10_000);
  const pieces = requestPieces(new MemoryShare(ledger));
  t.ok(pieces.hold(1));
  t.ok(ledger.held > 100);
  pieces.release(1);
  t.equal(ledger.held, 0);
});

t.test("what is kept between requests takes nothing from them, and is bounded", async (t) => {
  const ledger = new MemoryLedger(100);
  const socket = new MemoryShare(ledger);
  const request = new MemoryShare(ledger);
  t.ok(socket.keep(20));
  t.notOk(socket.keep(6), "a quarter, also for one alone");
  t.equal(ledger.held, 0);
  t.ok(request.take(75));
  socket.forget(20);
  t.ok(socket.keep(25));
  socket.onHandlerEnd();
  socket.onResponseEnd();
  t.notOk(socket.keep(1));
  socket.forget(25);
  t.ok(request.keep(25), "the end has returned it");
});
