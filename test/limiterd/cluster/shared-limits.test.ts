/** What every engine must hold to, shown of the twin; the scripts are compared with it. */
import fc from "fast-check";
import t from "tap";
import { leftSlotsMs, settleMs } from "../../../limiterd/bounds.js";
import type { SyncQuestion } from "../../../limiterd/cluster/shared-limits.js";
import { createCounterTwin, createTwinLimits } from "../../support/cluster/counter-twin.js";
import { modelHost } from "../../support/cluster/modelled-host.js";

const minute = 60_000;
const t0 = 1_800_000_000_000;
const a = { hostId: "a", start: 1 };
const b = { hostId: "b", start: 1 };

interface Changes extends Partial<Omit<SyncQuestion, "units" | "tokens" | "slots">> {
  readonly units?: Partial<SyncQuestion["units"]>;
  readonly tokens?: Partial<SyncQuestion["tokens"]>;
  readonly slots?: Partial<SyncQuestion["slots"]>;
}

function question({ units, tokens, slots, ...rest }: Changes = {}): SyncQuestion {
  const window = t0 / minute;
  const none = { window, spent: 0, spentBefore: 0, held: 0, frozen: 0, frozenBefore: 0, wanted: 0 };
  return {
    ruleId: "rule",
    child: "",
    generation: 0,
    seq: 1,
    syncedMs: 0,
    periodMs: minute,
    capRequests: 10,
    capSlots: null,
    units: { ...none, ...units },
    tokens: { window, current: 0, previous: 0, ...tokens },
    slots: { inUse: 0, wanted: 0, ...slots },
    ...rest,
  };
}

t.test("two hosts are granted a cap between them, and no more", async (t) => {
  const twin = createCounterTwin();
  t.equal(twin.sync(a, question({ units: { wanted: 7 } }), t0).granted, 7);
  const second = twin.sync(b, question({ units: { wanted: 7 } }), t0);
  t.match(second, { status: "synced", granted: 3, totals: { requests: 10 } });
  const back = twin.sync(a, question({ seq: 2, units: { spent: 2, held: 1 } }), t0);
  t.match(back, { granted: 0, totals: { requests: 6 } }, "what isn't held any more is free");
});

t.test("a question that was heard is refused; one with new figures takes its place", async (t) => {
  const twin = createCounterTwin();
  twin.sync(a, question({ seq: 5, units: { wanted: 7 } }), t0);
  t.equal(twin.sync(a, question({ seq: 5, units: { wanted: 7 } }), t0).status, "stale");
  t.equal(twin.sync(a, question({ seq: 4, units: { wanted: 7 } }), t0).status, "stale");
  const after = twin.sync(a, question({ seq: 6, units: { wanted: 2 } }), t0);
  t.match(after, { granted: 2, totals: { requests: 2 } }, "a grant whose reply was lost is free");
});

t.test("what an earlier life of a daemon was granted counts as used, once", async (t) => {
  const twin = createCounterTwin();
  twin.sync(a, question({ units: { wanted: 6 } }), t0);
  const again = { ...a, start: 2 };
  const first = twin.sync(again, question({ units: { frozen: 2, wanted: 9 } }), t0);
  t.match(first, { granted: 4, frozen: 6, totals: { requests: 10 } });
  t.equal(twin.sync(a, question({ seq: 9, units: { wanted: 1 } }), t0).status, "superseded");
  const next = twin.sync(again, question({ seq: 2, units: { frozen: 6, spent: 1 } }), t0);
  t.match(next, { frozen: 6, totals: { requests: 7 } });
  const rolled = twin.sync(again, question({ seq: 3, units: { frozen: 6 } }), t0 + minute);
  t.match(rolled, { frozen: 0, frozenBefore: 6, totals: { requests: 0, requestsBefore: 6 } });
});

t.test("a window that has ended counts what was used in it, and frees what was held", async (t) => {
  const twin = createCounterTwin();
  twin.sync(a, question({ units: { wanted: 10 } }), t0);
  t.match(
    twin.read({ ruleId: "rule", child: "", periodMs: minute, generation: 0 }, t0 + minute),
    { window: t0 / minute + 1, totals: { requests: 0, requestsBefore: 10 } },
    "until the host says what it used",
  );
  const half = t0 + 1.5 * minute;
  const rolled = twin.sync(a, question({ seq: 2, units: { spent: 4, held: 6, wanted: 99 } }), half);
  t.match(rolled, { granted: 8, totals: { requests: 8, requestsBefore: 4 } });
});

t.test("a reset clears earlier counts, whichever host reports them", async (t) => {
  const twin = createCounterTwin();
  twin.sync(a, question({ units: { wanted: 10 } }), t0);
  t.equal(twin.sync(b, question({ generation: 1, units: { wanted: 4 } }), t0).granted, 4);
  const late = twin.sync(a, question({ seq: 2, units: { wanted: 4 } }), t0);
  t.match(late, { status: "stale_generation", granted: 0, totals: { requests: 4 } });
});

t.test("slots that aren't restated are free again", async (t) => {
  const twin = createCounterTwin();
  const slots = { periodMs: 0, capRequests: null, capSlots: 3 };
  const asked = (seq: number, inUse: number, wanted: number) =>
    question({ ...slots, seq, slots: { inUse, wanted }, units: { window: 0 } });
  t.equal(twin.sync(a, asked(1, 0, 2), t0).slotsGranted, 2);
  t.equal(twin.sync(b, asked(1, 0, 2), t0).slotsGranted, 1);
  const again = twin.sync({ ...a, start: 2 }, asked(1, 0, 1), t0 + 1000);
  t.match(again, { slotsGranted: 0, totals: { slots: 3 } }, "an earlier life's may run on");
  const taken = t0 + 1000 + leftSlotsMs;
  t.equal(twin.sync(b, asked(2, 1, 2), taken - 1).slotsGranted, 0);
  t.equal(twin.sync(b, asked(3, 1, 2), taken).slotsGranted, 2, "those that do are taken again");
});

t.test("an engine that lost a counter grants nothing until hosts have restated", async (t) => {
  const twin = createCounterTwin();
  const { nowMs: syncedMs } = twin.sync(a, question({ units: { wanted: 10 } }), t0);
  twin.wipe();
  const report = { units: { held: 10, wanted: 5 } };
  const lost = twin.sync(a, question({ seq: 2, syncedMs, ...report }), t0 + 10);
  t.match(lost, { granted: 0, settlingMs: settleMs, totals: { requests: 10 } });
  t.equal(twin.sync(b, question({ units: { wanted: 1 } }), t0 + 20).granted, 0);
  const late = twin.sync(b, question({ seq: 2, syncedMs }), t0 + 10 + settleMs);
  t.equal(late.settlingMs, 0, "who restates later holds nobody up");

  const idle = t0 + 10 * minute;
  twin.wipe();
  t.equal(twin.sync(a, question({ seq: 3, syncedMs, units: { wanted: 1 } }), idle).granted, 1);
});

t.test("an engine that took over from an older copy is noticed", async (t) => {
  const twin = createCounterTwin();
  twin.sync(a, question({ units: { wanted: 2 } }), t0);
  const takeOver = twin.copy();
  const later = question({ seq: 2, syncedMs: t0, units: { held: 2, wanted: 5 } });
  t.equal(twin.sync(a, later, t0 + 10).granted, 5);
  takeOver();
  const next = question({ seq: 3, syncedMs: t0 + 10, units: { held: 7, wanted: 1 } });
  t.match(twin.sync(a, next, t0 + 20), { granted: 0, settlingMs: settleMs });
});

t.test("counts near 2^53 are exact", async (t) => {
  const twin = createCounterTwin();
  const most = Number.MAX_SAFE_INTEGER;
  twin.sync(a, question({ capRequests: most, units: { spentBefore: most - 1 } }), t0);
  const read = twin.sync(b, question({ capRequests: most, units: { wanted: most } }), t0 + 1);
  const weighed = Number((BigInt(most - 1) * BigInt(minute - 1)) / BigInt(minute));
  t.equal(read.granted, most - weighed);
});

const step = fc.oneof(
  fc.record({ kind: fc.constant("ask" as const), host: fc.nat(2), wanted: fc.nat(12) }),
  fc.record({ kind: fc.constant("lose" as const), host: fc.nat(2), wanted: fc.nat(12) }),
  fc.record({ kind: fc.constant("use" as const), host: fc.nat(2), times: fc.nat(12) }),
  fc.record({ kind: fc.constant("restart" as const), host: fc.nat(2) }),
  fc.record({ kind: fc.constant("back" as const), host: fc.nat(2) }),
  fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(1500) }),
  fc.record({ kind: fc.constant("wipe" as const) }),
);

t.test("whatever happens, hosts together never use more than the cap", async () => {
  const periodMs = 1000;
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.array(step, { maxLength: 60 }),
      (cap, steps) => {
        const clock = { nowMs: t0 };
        const twin = createCounterTwin();
        const hosts = ["a", "b", "c"].map((id) => modelHost(id, { periodMs, cap }, clock));
        const used: number[] = [];
        const inWindow = (window: number): number =>
          used.filter((ms) => Math.floor(ms / periodMs) === window).length;
        const ask = (host: (typeof hosts)[number], wanted: number): void =>
          host.hear(twin.sync(host, host.question(wanted), clock.nowMs));
        for (const each of steps) {
          if (each.kind === "wait") clock.nowMs += each.ms;
          else if (each.kind === "wipe") {
            twin.wipe();
            for (const host of hosts) ask(host, 0);
          } else {
            const host = hosts[each.host]!;
            if (each.kind === "ask") ask(host, each.wanted);
            if (each.kind === "lose") twin.sync(host, host.question(each.wanted), clock.nowMs);
            if (each.kind === "restart") host.restart();
            if (each.kind === "back") host.giveBack();
            if (each.kind === "use")
              for (let i = 0; i < each.times && host.use(); i++) used.push(clock.nowMs);
          }
          const window = Math.floor(clock.nowMs / periodMs);
          const left = (window + 1) * periodMs - clock.nowMs;
          const estimate = Math.floor((inWindow(window - 1) * left) / periodMs) + inWindow(window);
          if (estimate > cap) return false;
        }
        for (const host of hosts) {
          host.giveBack();
          ask(host, 0);
        }
        const { totals, window } = twin.read(
          { ruleId: "rule", child: "", periodMs, generation: 0 },
          clock.nowMs,
        );
        return totals.requests >= inWindow(window);
      },
    ),
    { numRuns: 2000 },
  );
});

t.test("at rest the engine counts what hosts used, if none was started again", async (t) => {
  const clock = { nowMs: t0 };
  const limits = createTwinLimits(createCounterTwin(), a, () => clock.nowMs);
  const host = modelHost("a", { periodMs: minute, cap: 10 }, clock);
  host.hear((await limits.sync([host.question(5)]))[0]!);
  t.ok(host.use() && host.use());
  host.giveBack();
  host.hear((await limits.sync([host.question(0)]))[0]!);
  const [read] = await limits.read([
    { ruleId: "rule", child: "", periodMs: minute, generation: 0 },
  ]);
  t.match(read, { totals: { requests: 2 } });
});
