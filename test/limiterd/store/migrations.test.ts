import t from "tap";
import {
  type Migration,
  neededMigrations,
  refuseNewerSchema,
  schemaAfter,
  storeMigrations,
} from "../../../limiterd/store/migrations.js";

const to = (schema: number): Migration => ({ to: schema, changes: () => [] });

t.test(
  "each schema is led to from the one below it, the newest by the last migration",
  async (t) => {
    t.equal(schemaAfter([]), 1);
    t.equal(schemaAfter([to(2), to(3)]), 3);
    t.throws(() => schemaAfter([to(3)]), /a schema is left out/);
    t.equal(schemaAfter(storeMigrations), 1);
  },
);

t.test(
  "a store needs the migrations above its own schema, and a newer one is refused",
  async (t) => {
    const all = [to(2), to(3)];
    for (const [schema, needed] of [
      [1, [2, 3]],
      [2, [3]],
      [3, []],
    ] as const)
      t.same(
        neededMigrations("file", schema, all).map((migration) => migration.to),
        needed,
      );
    for (const check of [neededMigrations, refuseNewerSchema])
      t.throws(() => check("/data/limiterd.mdb", 4, all), {
        name: "StoreUnreadableError",
        message:
          "/data/limiterd.mdb was written by a later release: it has the schema 4, and this Sluice reads up to 3. Install that release again, or restore a backup from before the upgrade",
      });
  },
);
