import fc from "fast-check";
import t from "tap";
import { entitlements, SharedCap, SharedCaps } from "../../../limiterd/counters/shared-cap.js";
import type { ChildShares } from "../../../shared/domain/child-shares.js";

interface Tenant {
  readonly name: string;
  readonly weight: number;
  readonly costMax: number;
}

/** Slots that children share, and what each has been served. */
class Slots {
  readonly cap: SharedCap;
  readonly served = new Map<string, number>();
  readonly running: { readonly name: string; readonly cost: number }[] = [];
  readonly #tenants: readonly Tenant[];

  constructor(tenants: readonly Tenant[], shares: ChildShares) {
    this.#tenants = tenants;
    this.cap = new SharedCap({
      shares: () => shares,
      wantMs: 10_000,
      running: (name) => this.running.filter((one) => name === null || one.name === name).length,
      held: () => 0,
      countsRequests: () => false,
    });
    for (const { name } of tenants) this.served.set(name, 0);
  }

  joins(name: string): void {
    this.cap.dropCredit(name, 0);
    this.cap.noteRequest(name, 0);
    this.cap.startWaiting(name);
  }

  start(name: string, cost: number): void {
    this.cap.noteAdmitted(name);
    this.running.push({ name, cost });
  }

  end(index: number): void {
    const [{ name, cost }] = this.running.splice(index, 1) as [{ name: string; cost: number }];
    this.cap.charge(name, cost);
    this.served.set(name, this.served.get(name)! + cost);
  }

  weighted({ name, weight }: Tenant): number {
    return this.served.get(name)! / weight;
  }

  /** What the requests in flight may cost, by weight. */
  get inFlight(): number {
    return this.running.reduce((sum, { name }) => {
      const { costMax, weight } = this.#tenants.find((tenant) => tenant.name === name)!;
      return sum + costMax / weight;
    }, 0);
  }
}

function jain(values: readonly number[]): number {
  const sum = values.reduce((all, value) => all + value, 0);
  return sum ** 2 / (values.length * values.reduce((all, value) => all + value ** 2, 0));
}

const tenantsOf = fc
  .array(
    fc.record({ weight: fc.constantFrom(0.5, 1, 2, 3, 10), costMax: fc.constantFrom(1, 10, 100) }),
    { minLength: 2, maxLength: 6 },
  )
  .map((all) => all.map((each, i): Tenant => ({ ...each, name: `t${i}` })));

t.test("the weighted service of children that always wait differs by a constant", async () => {
  fc.assert(
    fc.property(
      tenantsOf,
      fc.integer({ min: 1, max: 8 }),
      fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
      (tenants, slots, draws) => {
        const draw = (below: number): number => Math.floor((draws.next().value as number) * below);
        const children = Object.fromEntries(tenants.map(({ name, weight }) => [name, { weight }]));
        const all = new Slots(tenants, { children });
        for (const { name } of tenants) all.joins(name);
        const largest = Math.max(...tenants.map(({ costMax, weight }) => costMax / weight));
        let mostInFlight = 0;
        for (let step = 0; step < 400; step++) {
          // Work conservation: a child waits, so no slot stays free.
          while (all.running.length < slots) {
            const [next] = all.cap.waitingInOrder();
            const { costMax } = tenants.find(({ name }) => name === next)!;
            all.start(next!, 1 + draw(costMax));
          }
          mostInFlight = Math.max(mostInFlight, all.inFlight);
          const bound = Math.max(largest, mostInFlight);
          for (const a of tenants)
            for (const b of tenants) {
              const difference = Math.abs(all.weighted(a) - all.weighted(b));
              if (difference > bound * (1 + 1e-9))
                throw new Error(`${difference} is above ${bound}`);
            }
          all.end(draw(all.running.length));
        }
      },
    ),
    { numRuns: 60 },
  );
});

t.test("Jain's index of the tokens is at least 0.99 at request sizes of 1:100", async (t) => {
  const tenants = [
    { name: "small", weight: 1, costMax: 1 },
    { name: "middle", weight: 1, costMax: 10 },
    { name: "large", weight: 1, costMax: 100 },
  ];
  const all = new Slots(tenants, {});
  for (const { name } of tenants) all.joins(name);
  for (let step = 0; step < 20_000; step++) {
    while (all.running.length < 4) {
      const [next] = all.cap.waitingInOrder();
      all.start(next!, tenants.find(({ name }) => name === next)!.costMax);
    }
    all.end(step % all.running.length);
  }
  const index = jain([...all.served.values()]);
  t.ok(index >= 0.99, `${index}`);
});

t.test("a child that comes back from idle has neither credit nor debt", async (t) => {
  const tenants = [
    { name: "busy", weight: 1, costMax: 10 },
    { name: "back", weight: 1, costMax: 10 },
  ];
  const all = new Slots(tenants, {});
  all.joins("back");
  all.start("back", 10);
  all.cap.stopWaiting("back");
  all.end(0);
  all.joins("busy");
  for (let i = 0; i < 100; i++) {
    all.start("busy", 10);
    all.end(0);
  }
  all.joins("back");
  const before = all.served.get("back")!;
  for (let i = 0; i < 20; i++) {
    all.start([...all.cap.waitingInOrder()][0]!, 10);
    all.end(0);
  }
  const gained = all.served.get("back")! - before;
  t.ok(gained >= 90 && gained <= 110, `${gained} of 200`);
});

t.test("a child that was served while none waited has no debt", async (t) => {
  const tenants = ["alone", "back"].map((name) => ({ name, weight: 1, costMax: 10 }));
  const all = new Slots(tenants, {});
  all.joins("back");
  all.cap.stopWaiting("back");
  all.joins("alone");
  for (let i = 0; i < 100; i++) {
    all.start("alone", 10);
    all.end(0);
  }
  all.cap.stopWaiting("alone");
  all.joins("back");
  all.joins("alone");
  const before = all.served.get("alone")!;
  for (let i = 0; i < 20; i++) {
    all.start([...all.cap.waitingInOrder()][0]!, 10);
    all.end(0);
  }
  const gained = all.served.get("alone")! - before;
  t.ok(gained >= 90 && gained <= 110, `${gained} of 200`);
});

t.test("a child that always has a request running, and none waiting, gets no credit", async (t) => {
  const tenants = ["busy", "steady"].map((name) => ({ name, weight: 1, costMax: 10 }));
  const all = new Slots(tenants, {});
  all.joins("steady");
  all.cap.stopWaiting("steady");
  all.start("steady", 10);
  all.joins("busy");
  for (let i = 0; i < 100; i++) {
    all.start("busy", 10);
    all.end(1);
  }
  all.joins("steady");
  const before = all.served.get("steady")!;
  for (let i = 0; i < 20; i++) {
    all.start([...all.cap.waitingInOrder()][0]!, 10);
    all.end(0);
  }
  const gained = all.served.get("steady")! - before;
  t.ok(gained >= 90 && gained <= 120, `${gained} of 200`);
});

t.test("a higher priority comes first, and the lower ones get their minimum", async (t) => {
  const tenants = ["a", "b", "c"].map((name) => ({ name, weight: 1, costMax: 10 }));
  const children = { a: { priority: 2 }, b: { priority: 1 } };
  const all = new Slots(tenants, { min_share: 0.1, children });
  for (const { name } of tenants) all.joins(name);
  t.equal([...all.cap.waitingInOrder()][0], "a");
  for (let i = 0; i < 1000; i++) {
    all.start([...all.cap.waitingInOrder()][0]!, 10);
    all.end(0);
  }
  const [a, b, c] = ["a", "b", "c"].map((name) => all.served.get(name)!);
  t.ok(Math.abs(a! - 9000) <= 50, `${a}`);
  t.ok(Math.abs(b! - 500) <= 50 && Math.abs(c! - 500) <= 50, `${b} and ${c}`);
});

t.test("entitlements add up to the cap, and none is below its floor", async () => {
  const contender = fc.record({
    weight: fc.constantFrom(0.001, 0.5, 1, 3, 1000),
    floor: fc.constantFrom(0, 0, 0.05, 0.1),
    priority: fc.constantFrom(-1, 0, 0, 1),
    wantsMore: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.array(contender, { minLength: 1, maxLength: 10 }),
      fc.constantFrom(1, 10, 100_000),
      (drawn, cap) => {
        const contenders = drawn.map((each, i) => ({
          ...each,
          name: `c${i}`,
          wantsMore: i === 0 || each.wantsMore,
        }));
        const parts = entitlements(cap, contenders, 0.05);
        const sum = parts.reduce((all, part) => all + part, 0);
        if (Math.abs(sum - cap) > cap * 1e-9) throw new Error(`${sum} of ${cap}`);
        for (const [i, { floor }] of contenders.entries())
          if (parts[i]! < floor * cap * (1 - 1e-9)) throw new Error(`${parts[i]} is too little`);
      },
    ),
  );
});

t.test("the division: floors while they are wanted, weights after a refusal", async (t) => {
  const cap = new SharedCap({
    shares: () => ({ children: { a: { weight: 3, floor: 0.2 }, b: { weight: 1 } } }),
    wantMs: 60_000,
    running: () => 0,
    held: () => 0,
    countsRequests: () => true,
  });
  t.equal(cap.divide("b", { cap: 100, request: "new" }, 0), null, "a hasn't asked");
  cap.noteRequest("a", 0);
  t.strictSame(cap.divide("b", { cap: 100, request: "new" }, 0), {
    floor: 0,
    part: 0,
    claims: [{ name: "a", floor: 20, claimed: 20 }],
  });
  t.equal(
    cap.divide("b", { cap: 100, request: "new" }, 60_000),
    null,
    "a wants nothing after a window",
  );
  cap.noteRefusal("a", 1000);
  t.strictSame(cap.divide("b", { cap: 100, request: "new" }, 1000), {
    floor: 0,
    part: 25,
    claims: [{ name: "a", floor: 20, claimed: 75 }],
  });
  t.equal(cap.divide("a", { cap: 100, request: "new" }, 1000), null, "b hasn't asked");
});

t.test("more children than are remembered have no claims", async (t) => {
  const caps = new SharedCaps({
    shares: () => ({}),
    wantMs: 60_000,
    running: () => 0,
    runningIn: () => 0,
    held: () => 0,
    countsRequests: () => true,
  });
  const cap = caps.findOrMake("", 0)!;
  for (let i = 0; i < 1100; i++) cap.noteRefusal(`c${i}`, 0);
  t.equal(cap.divide("c5", { cap: 1100, request: "new" }, 0)?.claims.length, 999);
  cap.noteRefusal("new", 60_000);
  t.equal(
    cap.divide("other", { cap: 100, request: "new" }, 60_000)?.claims.length,
    1,
    "the others have left",
  );
  t.equal(caps.find("x"), undefined);
  caps.addRequests("x/c", 1);
});
