import fc from "fast-check";
import t from "tap";
import {
  type PlanOptions,
  planLimits,
} from "../../../../limiterd/handlers/limit-files/plan-limits.js";
import type { RuleSource } from "../../../../shared/domain/rule.js";
import { runAtOnce, type SlicedWork, Turns } from "../../../../shared/long-lists.js";

/** A limit as far as plans look at it. */
interface Limit {
  readonly id: string;
  readonly cap: number;
}

interface Known {
  readonly definition: Limit;
  readonly source: RuleSource;
}

const sort = {
  idOf: ({ id }: Limit) => id,
  isSame: (a: Limit, b: Limit) => a.cap === b.cap,
  compare: (a: Limit, b: Limit) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0),
};

type Plan = ReturnType<typeof planLimits<Limit>> extends SlicedWork<infer P> ? P : never;

/** What there is: by hand, and what the configuration declares. */
class World {
  readonly present = new Map<string, Known>();
  readonly #declared: ReadonlyMap<string, Limit>;

  constructor(declared: readonly Limit[], byHand: readonly Limit[]) {
    this.#declared = new Map(declared.map((limit) => [limit.id, limit]));
    for (const definition of declared)
      this.present.set(definition.id, { definition, source: "config" });
    for (const definition of byHand)
      this.present.set(definition.id, { definition, source: "manual" });
  }

  plan(wanted: readonly Limit[], options: PlanOptions): Plan {
    return runAtOnce(
      planLimits(
        sort,
        { present: this.present, declared: (id) => this.#declared.get(id) ?? null },
        wanted,
        { ...options, turns: new Turns(2) },
      ),
    );
  }

  carryOut({ changes }: Plan): void {
    for (const { action, id, after } of changes)
      if (action === "remove") this.present.delete(id);
      else if (action !== "locked")
        this.present.set(id, {
          definition: after!,
          source: action === "revert" ? "config" : "manual",
        });
  }

  /** What an export has, in the order of lists. */
  byHand(): readonly Limit[] {
    return [...this.present.values()]
      .filter(({ source }) => source === "manual")
      .map(({ definition }) => definition)
      .sort(sort.compare);
  }
}

const is = (id: string, cap: number): Limit => ({ id, cap });
const plain: PlanOptions = { prune: false, takeOver: false };

const table: readonly {
  readonly name: string;
  readonly declared?: readonly Limit[];
  readonly byHand?: readonly Limit[];
  readonly wanted: readonly Limit[];
  readonly options?: PlanOptions;
  readonly actions: readonly string[];
  readonly unchanged?: number;
  readonly kept?: number;
}[] = [
  { name: "what isn't there is added", wanted: [is("a", 1)], actions: ["add a"] },
  {
    name: "what says something else is changed, the same is left alone",
    byHand: [is("a", 1), is("b", 2)],
    wanted: [is("a", 9), is("b", 2)],
    actions: ["change a"],
    unchanged: 1,
  },
  {
    name: "what the file doesn't have stays",
    byHand: [is("a", 1), is("b", 2)],
    wanted: [],
    actions: [],
    kept: 2,
  },
  {
    name: "with prune it goes, and the configuration's is put back where there is one",
    declared: [is("b", 7), is("c", 8)],
    byHand: [is("a", 1), is("b", 2)],
    wanted: [],
    options: { prune: true, takeOver: false },
    actions: ["remove a", "revert b"],
  },
  {
    name: "the configuration's is locked where it says something else, and not where it is the same",
    declared: [is("a", 1), is("b", 2)],
    wanted: [is("a", 1), is("b", 3)],
    actions: ["locked b"],
    unchanged: 1,
  },
  {
    name: "taken over it becomes the file's, the same or not",
    declared: [is("a", 1), is("b", 2), is("c", 3)],
    wanted: [is("a", 1), is("b", 3)],
    options: { prune: true, takeOver: true },
    actions: ["take_over a", "take_over b"],
  },
];

for (const { name, declared = [], byHand = [], wanted, options = plain, ...expected } of table)
  t.test(name, async (t) => {
    const { changes, unchanged, kept } = new World(declared, byHand).plan(wanted, options);
    t.same(
      { actions: changes.map(({ action, id }) => `${action} ${id}`), unchanged, kept },
      { unchanged: 0, kept: 0, ...expected },
    );
  });

const limits = fc
  .uniqueArray(fc.record({ id: fc.constantFrom(..."abcdefg"), cap: fc.integer({ max: 3 }) }), {
    selector: ({ id }) => id,
  })
  .map((all) => all.toSorted(sort.compare));
const options = fc.record({ prune: fc.boolean(), takeOver: fc.boolean() });

t.test(
  "from any limits to any others: carried out, a second plan has nothing but what is locked",
  async (t) => {
    fc.assert(
      fc.property(limits, limits, limits, options, (declared, byHand, wanted, how) => {
        const world = new World(declared, byHand);
        const plan = world.plan(wanted, how);
        const locked = plan.changes.filter(({ action }) => action === "locked");
        world.carryOut(plan);
        t.same(world.plan(wanted, how).changes, how.takeOver ? [] : locked);
        for (const limit of wanted)
          if (!locked.some(({ id }) => id === limit.id))
            t.same(world.present.get(limit.id)?.definition, limit);
        if (how.prune && how.takeOver) t.same(world.byHand(), wanted);
      }),
    );
  },
);

t.test("what there is, exported and applied, changes nothing", async (t) => {
  fc.assert(
    fc.property(limits, limits, options, (declared, byHand, how) => {
      const world = new World(declared, byHand);
      t.same(world.plan(world.byHand(), how).changes, []);
    }),
  );
});
