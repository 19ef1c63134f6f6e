import t from "tap";
import { UnaskedAdmissions } from "../../../../proxy/limiter/client/unasked-admissions.js";
import type { Admission } from "../../../../proxy/limiter/limiter.js";
import { leasesPerPeerMax } from "../../../../shared/bounds.js";
import { IdMap } from "../../../../shared/id-map.js";

type Context = ConstructorParameters<typeof UnaskedAdmissions>[0];

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
  return { unasked: new UnaskedAdmissions(context), held, settled, sent };
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
  const { unasked, held, settled } = bench();
  const one = admission();
  unasked.add(one);
  unasked.add(admission({ submission: true }));
  unasked.add(admission({ lsn: 7, targetLsn: 8 }));
  const left = admission();
  unasked.add(left);
  unasked.delete(left);
  t.same(unasked.lease(), [one]);
  t.same(settled, [{ part: "request", lsn: 0, lease: 0 }]);
  t.equal(held.get(one.lease), one);
  t.same(unasked.lease(), []);
  t.end();
});

t.test("a proxy that holds as many leases as it may tells of no more, until one ends", (t) => {
  const { unasked, held } = bench();
  const first = 100_000;
  for (let i = 0; i < leasesPerPeerMax - 1; i++) held.set(first + i, admission());
  const [one, two] = [admission(), admission()];
  unasked.add(one);
  unasked.add(two);
  t.same(unasked.lease(), [one]);
  t.same(unasked.lease(), []);
  held.take(first);
  t.same(unasked.lease(), [two]);
  t.end();
});

t.test("a daemon that answers is told at once", (t) => {
  const { unasked, sent } = bench(true);
  unasked.add(admission());
  t.match(sent, [{ kind: "hold", leases: [{ lease: 1 }] }]);
  t.equal(sent[0]?.leases.length, 1);
  t.end();
});
