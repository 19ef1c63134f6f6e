import t from "tap";
import type { Admission } from "../../../../proxy/limiter/admission.js";
import { UnreportedAdmissions } from "../../../../proxy/limiter/client/report-leases.js";
import { leasesPerHello, leasesPerPeerMax } from "../../../../shared/bounds.js";
import { IdMap } from "../../../../shared/id-map.js";
import { uncountedLsn } from "../../../../shared/wire/lsn.js";
import { exactly } from "../../../support/patterns/exactly.js";

type Context = ConstructorParameters<typeof UnreportedAdmissions>[0];

function bench(linked = false) {
  let id = 0;
  const settled: { part: string; lsn: number; lease: number }[] = [];
  const sent: { readonly leases: readonly { readonly lease: number }[] }[] = [];
  const held = new IdMap<Admission>();
  const connection = {
    linked,
    silent: false,
    wireVersion: 1000,
    nextId: () => ++id,
    send: (message: (typeof sent)[number]) => sent.push(message),
  };
  const outbox = {
    add: (part: string, { lsn, lease }: Admission) => settled.push({ part, lsn, lease }),
  };
  const context = { connection, held, outbox, monoMs: () => 0 } as unknown as Context;
  return { unreported: new UnreportedAdmissions(context), held, settled, sent, connection };
}

const admission = (changes: Partial<Admission> = {}): Admission =>
  ({
    lease: 0,
    userPath: "/a",
    admittedAtMs: 5,
    admittedMonoMs: 5,
    lsn: 0,
    target: { provider: "p", model: "m" },
    targetAtMs: 5,
    targetMonoMs: 5,
    targetLsn: 0,
    submission: false,
    ...changes,
  }) as Admission;

t.test("one without a verdict gets a lease, once; its settle counts it", (t) => {
  const { unreported, held, settled } = bench();
  const one = admission();
  unreported.add(one);
  unreported.add(admission({ submission: true }));
  unreported.add(admission({ lsn: 7, targetLsn: 8 }));
  const left = admission();
  unreported.add(left);
  unreported.delete(left);
  t.same(unreported.giveLeases(), [one]);
  t.same(settled, [{ part: "request", lsn: 0, lease: 0 }]);
  t.equal(held.get(one.lease), one);
  t.same(unreported.giveLeases(), []);
  t.end();
});

t.test("a proxy that holds as many leases as it may reports no more, until one ends", (t) => {
  const { unreported, held } = bench();
  const first = 100_000;
  for (let i = 0; i < leasesPerPeerMax - 1; i++) held.set(first + i, admission());
  const [one, two] = [admission(), admission()];
  unreported.add(one);
  unreported.add(two);
  t.same(unreported.giveLeases(), [one]);
  t.same(unreported.giveLeases(), []);
  held.take(first);
  t.same(unreported.giveLeases(), [two]);
  t.end();
});

t.test("a daemon that answers gets the report immediately", (t) => {
  const { unreported, sent } = bench(true);
  unreported.add(admission());
  t.match(sent, exactly([{ kind: "hold", leases: exactly([{ lease: 1 }]) }]));
  t.end();
});

t.test("one that has a verdict by now, or no target any more, isn't reported", (t) => {
  for (const changes of [
    { lsn: 7, targetLsn: 8 },
    { lsn: 7, target: null },
  ]) {
    const { unreported, held, settled, sent, connection } = bench();
    const one = admission();
    unreported.add(one);
    Object.assign(one, changes);
    connection.linked = true;
    unreported.report();
    t.same([sent, settled, held.size], [[], [], 0]);
  }
  t.end();
});

t.test("a silent daemon gets no report", (t) => {
  for (const [changes, reports] of [
    [{}, 1],
    [{ silent: true }, 0],
  ] as const) {
    const { unreported, sent, connection } = bench(true);
    Object.assign(connection, changes);
    unreported.add(admission());
    t.equal(sent.length, reports, JSON.stringify(changes));
  }
  t.end();
});

t.test("one that is between two targets is reported without any", (t) => {
  const { unreported, settled } = bench();
  const one = admission();
  unreported.add(one);
  Object.assign(one, { target: null, targetAtMs: 0 });
  t.same(unreported.giveLeases(), [one]);
  t.same(settled, [{ part: "request", lsn: 0, lease: 0 }]);
  t.match(one, { lsn: uncountedLsn, target: null, targetLsn: 0 });
  t.end();
});

t.test("one that was reported isn't reported again", (t) => {
  const { unreported, settled } = bench();
  unreported.add(admission({ lease: 3, lsn: uncountedLsn, targetLsn: uncountedLsn }));
  unreported.add(admission({ lease: 4, lsn: uncountedLsn, target: null, targetLsn: 0 }));
  t.same([unreported.giveLeases(), settled], [[], []]);
  t.end();
});

t.test("as many holds are sent as the leases take, and no empty one", (t) => {
  for (const [count, leases] of [
    [0, []],
    [leasesPerHello - 1, [leasesPerHello - 1]],
    [leasesPerHello, [leasesPerHello]],
    [leasesPerHello + 1, [leasesPerHello, 1]],
  ] as const) {
    const { unreported, sent, connection } = bench();
    for (let i = 0; i < count; i++) unreported.add(admission());
    connection.linked = true;
    unreported.report();
    t.same(
      sent.map((hold) => hold.leases.length),
      leases,
    );
  }
  t.end();
});

t.test("a request that moved on without a verdict keeps its lease and its own count", (t) => {
  const { unreported, held, settled } = bench();
  const one = admission({ lease: 40, lsn: 7, targetLsn: 0 });
  unreported.add(one);
  t.same(unreported.giveLeases(), [one]);
  t.same(settled, [{ part: "request", lsn: uncountedLsn, lease: 0 }], "its target alone is new");
  t.match(one, { lease: 40, lsn: 7, targetLsn: uncountedLsn });
  t.equal(held.get(40), one);
  t.end();
});
