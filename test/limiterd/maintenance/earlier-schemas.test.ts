/** Stores that releases of each schema have left, recorded: this one opens them whole. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import t from "tap";
import { verifyStoreFile } from "../../../limiterd/maintenance/verify-store-file.js";
import { openLmdbStore } from "../../../limiterd/store/lmdb/open-lmdb-store.js";
import { schemaAfter, storeMigrations } from "../../../limiterd/store/migrations.js";
import { temporary } from "../store/lmdb/store-fixture.js";

const fixtures = new URL("../../../../test/support/store-fixtures/", import.meta.url);

/** What is in each of them: a rule of the configuration with two limits, one of the API, … */
const content = { rules: 3, budgets: 1, keys: 1, records: 12, daysCompared: 1, problems: [] };

t.test("there is a recorded store of each schema", async (t) => {
  t.same(
    readdirSync(fixtures).sort(),
    Array.from({ length: schemaAfter(storeMigrations) }, (_, i) => `schema-${i + 1}.mdb.gz`),
  );
});

for (const name of readdirSync(fixtures))
  t.test(`the store of ${name} is opened, brought to the newest schema, and whole`, async (t) => {
    const directory = temporary(t);
    const file = join(directory, "limiterd.mdb");
    writeFileSync(file, gunzipSync(readFileSync(new URL(name, fixtures))));
    t.match(await verifyStoreFile(file, () => {}), {
      ...content,
      schema: Number(/\d+/.exec(name)![0]),
    });
    const store = await openLmdbStore(directory);
    t.equal([...store.entries("denials")].length, 1);
    await store.close();
    t.match(await verifyStoreFile(file, () => {}), {
      ...content,
      schema: schemaAfter(storeMigrations),
    });
  });
