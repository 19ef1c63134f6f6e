/** What a share makes of the engine's answers, and what it says of itself: without any daemon. */
import t from "tap";
import { settleMs, slotsValidMs } from "../../../limiterd/bounds.js";
import type { SyncQuestion } from "../../../limiterd/cluster/shared-limits.js";
import { newWindow } from "../../../limiterd/counters/window.js";
import { ClusterTurn } from "../../../limiterd/shares/cluster-turn.js";
import { Share } from "../../../limiterd/shares/share.js";
import type { ClusterFailureMode } from "../../../shared/cluster/cluster-config.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import { createCounterTwin } from "../../support/cluster/counter-twin.js";
import { bookOf, now, rule } from "../book-of.js";

const minute = 60_000;
/** The beginning of a minute by the engine's clock. */
const engineAtStart = now;

/** One share of a rule, its host's clocks, and an engine whose clock is that of the host. */
class Played {
  readonly turn: ClusterTurn<Share>;
  readonly twin = createCounterTwin();
  readonly share: Share;
  readonly own = newWindow(minute, now);
  needed = 0;
  #seq = 0;

  constructor(definition: RuleDefinition, mode: ClusterFailureMode = "closed") {
    this.turn = new ClusterTurn<Share>(mode);
    this.turn.hostCount = 2;
    this.turn.lsn = 7;
    const [only] = bookOf(definition).sorted();
    this.share = new Share({
      rule: only!,
      child: "",
      own: this.own,
      turn: this.turn,
      need: () => void this.needed++,
      generation: 0,
    });
  }

  get engineMs(): number {
    return engineAtStart + this.turn.monoMs;
  }

  ask(inFlight = 0): SyncQuestion {
    return this.share.question({ window: this.own, inFlight }, ++this.#seq);
  }

  /** The engine executes it now; the answer is here now. */
  answer(question: SyncQuestion, sentMonoMs = this.turn.monoMs): boolean {
    const reply = this.twin.sync({ hostId: "a", start: 1 }, question, this.engineMs);
    return this.share.answered(question, reply, { sentMonoMs, receivedMonoMs: this.turn.monoMs });
  }

  /** Another host uses so many. */
  other(spent: number): void {
    const window = Math.floor(this.engineMs / minute);
    const { ruleId, periodMs } = { ruleId: this.share.rule.id, periodMs: minute };
    const units = { window, spent, spentBefore: 0, held: 0, frozen: 0, frozenBefore: 0, wanted: 0 };
    this.twin.sync(
      { hostId: "b", start: 1 },
      {
        ruleId,
        child: "",
        generation: 0,
        seq: ++this.#seq,
        syncedMs: 0,
        periodMs,
        capRequests: null,
        capSlots: null,
        units,
        tokens: { window, current: 0, previous: 0 },
        slots: { inUse: 0, wanted: 0 },
      },
      this.engineMs,
    );
  }

  sync(wanted = 0, inFlight = 0): void {
    this.share.waiting = wanted;
    const question = this.ask(inFlight);
    this.share.waiting = 0;
    this.answer(question);
  }

  /** 0: admitted. */
  wait(cap = 10, purpose: "ask" | "decide" = "ask"): number {
    this.turn.begin(purpose);
    return this.share.waitOfRequests(this.own, cap, this.engineMs);
  }

  admit(cap = 10): boolean {
    if (this.wait(cap) > 0) return false;
    this.share.counted(this.own);
    return true;
  }
}

const tenAMinute = rule("user_path", "/a");

t.test("it admits what was granted, and no more", async (t) => {
  const played = new Played(tenAMinute);
  t.notOk(played.admit());
  t.ok(played.turn.isUnsure, "the engine must be asked");
  played.sync(3);
  t.same(
    [1, 2, 3, 4].map(() => played.admit()),
    [true, true, true, false],
  );
});

t.test("a unit is good until its window ends by the clock of the question", async (t) => {
  const played = new Played(tenAMinute);
  played.turn.monoMs = minute - 500;
  played.share.waiting = 2;
  const question = played.ask();
  played.turn.monoMs += 100;
  played.answer(question, minute - 500);
  played.turn.monoMs = minute - 101;
  t.ok(played.admit(), "the engine may be a hundred milliseconds further");
  played.turn.monoMs = minute - 100.5;
  t.notOk(played.admit(), "and its milliseconds are whole ones");
});

t.test("units that a share holds are reported as used", async (t) => {
  const played = new Played(tenAMinute);
  played.sync(4);
  played.admit();
  played.turn.monoMs += 100;
  const kept = "one is used, two of nine are kept by one host of two, and one goes back";
  t.match(played.ask().units, { spent: 3, held: 0, wanted: 0 }, kept);
});

t.test("idle units are given back, and a lost question gives nothing away", async (t) => {
  const played = new Played(tenAMinute);
  played.sync(4);
  played.admit();
  t.equal(played.share.dueMonoMs, 200);
  played.turn.monoMs = 200;
  const lost = played.ask();
  t.match(lost.units, { spent: 1, held: 0, wanted: 0 });
  played.share.unanswered(lost);
  t.notOk(played.admit(), "what was given back isn't used, heard or not");
  played.turn.monoMs = 300;
  played.sync();
  t.match(
    played.twin.read(
      { ruleId: tenId, child: "", periodMs: minute, generation: 0 },
      played.engineMs,
    ),
    {
      totals: { requests: 1 },
    },
  );
});

const tenId = bookOf(tenAMinute).sorted()[0]!.id;

t.test("a grant whose reply is lost comes back with the next answer", async (t) => {
  const played = new Played(tenAMinute);
  played.share.waiting = 10;
  const lost = played.ask();
  played.twin.sync({ hostId: "a", start: 1 }, lost, played.engineMs);
  played.share.unanswered(lost);
  t.notOk(played.admit());
  played.answer(played.ask());
  for (let i = 0; i < 10; i++) t.ok(played.admit());
  t.notOk(played.admit());
});

t.test("a withdrawn request gives its unit back, in the window that has used it", async (t) => {
  const played = new Played(tenAMinute);
  played.sync(2);
  played.admit();
  played.turn.lsn = 8;
  played.admit();
  played.share.withdrawn(8);
  t.match(played.ask().units, { spent: 1 });

  const later = new Played(tenAMinute);
  later.sync(2);
  later.admit();
  later.turn.lsn = 9;
  later.turn.monoMs = minute;
  later.sync(0, 1);
  later.share.withdrawn(9);
  t.match(later.ask(1).units, { spent: 0, spentBefore: 1 }, "which window that was isn't known");
  const earlier = new Played(tenAMinute);
  earlier.sync(2);
  earlier.admit();
  earlier.turn.lsn = 9;
  earlier.turn.monoMs = minute;
  earlier.sync(0, 1);
  earlier.share.withdrawn(7);
  t.match(earlier.ask(1).units, { spent: 0, spentBefore: 0 });
});

t.test("a counter that is full refuses with the wait of all hosts", async (t) => {
  const played = new Played(tenAMinute);
  played.other(10);
  played.sync(1);
  t.equal(played.wait(), 60 + 1, "the window of another host's ten");
  t.notOk(played.turn.isUnsure, "it is known just now");
  played.turn.monoMs = 101;
  t.equal(played.wait(), 60);
  t.ok(played.turn.isUnsure, "another host may have given some back");
});

t.test("of a window that has ended, only the used units are reported", async (t) => {
  const played = new Played(tenAMinute);
  played.sync(6);
  for (let i = 0; i < 4; i++) played.admit();
  played.turn.monoMs = minute + 10;
  t.notOk(played.admit());
  const question = played.ask(4);
  t.match(question.units, { window: engineAtStart / minute + 1, spent: 0, spentBefore: 4 });
  played.answer(question);
  t.match(played.share.view(played.own, 0, 0), {
    window: { previousRequests: 4, currentRequests: 0 },
  });
});

t.test("slots are good for half of what the engine keeps them", async (t) => {
  const played = new Played(rule("user_path", "/a", 0));
  const isFull = (inFlight: number): boolean => {
    played.turn.begin("ask");
    return played.share.isFull(inFlight, 10);
  };
  played.sync(2, 1);
  t.same([1, 2, 3].map(isFull), [false, false, true]);
  played.turn.monoMs = slotsValidMs / 2;
  t.ok(isFull(1));
  t.ok(played.turn.isUnsure);
});

t.test("slots that are few of what is left are reported each second, others soon", async (t) => {
  for (const [cap, dueMs] of [
    [10, 100],
    [1000, 1000],
  ] as const) {
    const played = new Played(rule("user_path", "/a", 0, { requests: cap }));
    played.sync(2, 1);
    played.turn.monoMs = 1000;
    played.share.counted(played.own);
    played.sync(0, 2);
    played.share.changed();
    t.equal(played.share.dueMonoMs, 1000 + dueMs, `${cap}`);
    played.turn.monoMs = 4000;
    played.sync();
    played.share.changed();
    t.equal(played.share.dueMonoMs, 4100, "one that is held again without a grant is told soon");
  }
});

t.test("the engine away: closed doesn't know, local has its part, open admits", async (t) => {
  const table = [
    { mode: "closed", waits: [1, 1, 1, 1, 1, 1], unsure: true },
    { mode: "local", waits: [0, 0, 0, 0, 0, 61], unsure: false },
    { mode: "open", waits: [0, 0, 0, 0, 0, 0], unsure: false },
  ] as const;
  for (const { mode, waits, unsure } of table) {
    const played = new Played(tenAMinute, mode);
    played.turn.isAway = true;
    const waited = waits.map(() => {
      const wait = played.wait(10, "decide");
      if (wait === 0) {
        played.share.counted(played.own);
        played.own.currentRequests++;
      }
      return wait;
    });
    t.same(waited, waits, mode);
    t.equal(played.turn.isUnsure, unsure, mode);
  }
});

t.test("admissions without a unit are reported", async (t) => {
  const played = new Played(tenAMinute, "open");
  played.turn.isAway = true;
  for (let i = 0; i < 12; i++) {
    t.equal(played.wait(10, "decide"), 0);
    played.share.counted(played.own);
  }
  played.turn.isAway = false;
  played.sync(1);
  t.equal(played.wait(), 61 + 10, "twelve of ten");
});

t.test(
  "an engine that lost its data grants nothing until all hosts have reported to it again",
  async (t) => {
    const played = new Played(tenAMinute);
    played.sync(2);
    played.admit();
    played.twin.wipe();
    played.turn.monoMs = 50;
    played.share.restate();
    t.ok(played.share.dueMonoMs <= 50);
    played.sync(3);
    t.ok(played.admit(), "what it held it may use");
    t.notOk(played.admit());
    t.equal(played.wait(10, "decide"), 1);
    t.ok(played.turn.isUnsure, "it settles");
    played.turn.monoMs += settleMs;
    played.sync(3);
    t.ok(played.admit());
  },
);

t.test(
  "a share that nothing uses is folded and forgotten: the engine keeps its counts",
  async (t) => {
    const played = new Played(tenAMinute);
    played.sync(2);
    played.admit();
    played.turn.monoMs = 5000;
    t.notOk(played.share.isForgettable);
    t.ok(played.share.dueMonoMs <= 5000);
    const question = played.ask();
    t.match(question.units, { spent: 0, frozen: 1 });
    played.answer(question);
    t.ok(played.share.isForgettable);
    const { totals } = played.twin.read(
      { ruleId: tenId, child: "", periodMs: minute, generation: 0 },
      played.engineMs,
    );
    t.equal(totals.requests, 1);
  },
);

t.test("a reset restarts the share, and an earlier answer has no effect", async (t) => {
  const played = new Played(tenAMinute);
  played.sync(5);
  played.admit();
  played.share.waiting = 5;
  const before = played.ask();
  played.share.restart(1);
  t.notOk(played.answer(before));
  t.notOk(played.admit());
  played.share.waiting = 10;
  const question = played.ask();
  t.match(question, { generation: 1, units: { spent: 0, wanted: 10 } });
  played.answer(question);
  t.ok(played.admit());
});

t.test("tokens that are a large part of what is left are reported soon", async (t) => {
  for (const [maxTokens, charged, soon, along] of [
    [1000, 124, false, true],
    [1000, 126, true, true],
    [null, 1_000_000, false, false],
  ] as const) {
    const played = new Played({ ...rule("user_path", "/a", 60), maxTokens });
    played.sync(1);
    played.admit();
    played.share.charged(charged);
    t.equal(played.share.dueMonoMs, soon ? 100 : 1000, `${charged} of ${maxTokens}, of two hosts`);
    t.equal(played.share.joinsRound, along);
    played.sync();
    t.notOk(played.share.joinsRound);
  }
});

t.test("far from its caps a share reports and asks within four seconds", async (t) => {
  const played = new Played({
    ...rule("user_path", "/a", 60, { requests: 100_000 }),
    maxTokens: 1_000_000,
  });
  const use = (): void => {
    played.admit(100_000);
    played.share.charged(10);
    played.own.currentTokens += 10;
  };
  played.sync(1);
  use();
  t.equal(played.share.dueMonoMs, 1000, "how fast it is used isn't known yet");
  for (const ms of [1000, 2000]) {
    played.turn.monoMs = ms;
    played.sync(1);
    use();
  }
  t.notOk(played.share.joinsRound);
  t.equal(played.share.dueMonoMs, 2000 + 4000);
  played.turn.monoMs = 6999;
  played.turn.begin("ask");
  t.equal(played.share.waitOfTokens(played.own, 1_000_000, played.engineMs), 0);
  t.same(played.turn.lacking, [], "what others have charged may be five seconds old");
  played.turn.monoMs = 7001;
  played.share.waitOfTokens(played.own, 1_000_000, played.engineMs);
  t.equal(played.turn.lacking.length, 1);
  played.sync();
  played.share.charged(125_001);
  t.equal(played.share.dueMonoMs, 7101, "much at once is told as soon as near a cap");
});

t.test("a host whose own use jumps asks what others have used", async (t) => {
  const played = new Played({ ...rule("user_path", "/a", 60), maxRequests: null, maxTokens: 1e9 });
  for (const ms of [0, 1000, 2000]) {
    played.turn.monoMs = ms;
    played.share.counted(played.own);
    played.sync();
  }
  for (let i = 0; i < 18; i++) played.share.counted(played.own);
  t.equal(played.needed, 0);
  for (let i = 0; i < 18; i++) played.share.counted(played.own);
  t.ok(played.needed > 0);
  played.sync();
  const { needed } = played;
  played.share.counted(played.own);
  t.equal(played.needed, needed, "and not again at once");
});

t.test("what others have used much of meanwhile isn't held for long", async (t) => {
  const played = new Played(rule("user_path", "/a", 60, { requests: 1000 }));
  for (const ms of [0, 1000, 2000, 3000]) {
    played.turn.monoMs = ms;
    played.sync(1);
    for (let i = 0; i < 2; i++) played.admit(1000);
  }
  t.equal(played.share.units.held, 8, "some seconds' use");
  t.ok(played.share.dueMonoMs > 4000);
  played.other(950);
  played.turn.monoMs = 4000;
  played.sync();
  t.ok(played.share.units.held > 2);
  t.equal(played.share.dueMonoMs, 4100, "a sixteenth of what is left is less for two hosts");
  played.turn.monoMs = 4100;
  played.sync();
  t.ok(played.share.units.held <= 2);
});

t.test("a cap that is lowered: what was granted under the higher one is given back", async (t) => {
  const played = new Played(rule("user_path", "/a", 60, { requests: 1000 }));
  played.sync(20);
  for (let i = 0; i < 5; i++) t.ok(played.admit(1000));
  const { rule: counted } = played.share;
  counted.edit({ ...counted.definition, maxRequests: 8 }, "manual", now);
  t.notOk(played.admit(8), "it asks first");
  t.ok(played.turn.isUnsure);
  played.sync(10);
  t.same(
    [1, 2, 3, 4].map(() => played.admit(8)),
    [true, true, true, false],
  );
});

t.test("far from a cap of tokens that is lowered, hosts tell each other as near it", async (t) => {
  const played = new Played({ ...rule("user_path", "/a", 60), maxRequests: null, maxTokens: 1e9 });
  for (const ms of [0, 1000, 2000]) {
    played.turn.monoMs = ms;
    played.share.counted(played.own);
    played.sync();
  }
  const { rule: counted } = played.share;
  counted.edit({ ...counted.definition, maxTokens: 1_000_000 }, "manual", now);
  played.turn.monoMs = 3500;
  played.turn.begin("ask");
  played.share.waitOfTokens(played.own, 1_000_000, played.engineMs);
  t.equal(played.turn.lacking.length, 1, "what others have charged may be a second old");
  played.share.charged(1);
  t.ok(played.share.dueMonoMs < 3500, "told at once");
  played.sync();
  played.share.charged(1);
  t.ok(played.share.dueMonoMs > 3500 + 1000, "this cap is far, too");
});

t.test("more is asked for before the last unit is gone", async (t) => {
  const played = new Played(rule("user_path", "/a", 60, { requests: 1000 }));
  played.sync(20);
  for (let i = 0; i < 20; i++) played.admit(1000);
  played.turn.monoMs = 100;
  played.sync(1);
  const before = played.needed;
  for (let i = 0; i < 50; i++) played.admit(1000);
  t.same([played.share.joinsRound, played.needed - before], [true, 0], "a quarter of it is gone");
  for (let i = 0; i < 101; i++) played.admit(1000);
  t.ok(played.needed > before, "three quarters are gone");
});
