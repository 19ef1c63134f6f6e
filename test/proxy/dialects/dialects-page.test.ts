/**
 * docs/reference/dialects.md shows every table by which fields are translated. That the page is
 * what they make is in `configuration-page.test.ts`.
 */
import t from "tap";
import { shownTables } from "../../shared/config/dialect-reference.js";

t.test("no table is missing from the page", async (t) => {
  for (const [module, places] of shownTables) {
    const shown = new Set(places.flatMap(([, ...tables]) => tables));
    const tables = Object.entries(module).filter(([, value]) => value instanceof Map);
    t.ok(tables.length > 5);
    for (const [name, table] of tables) t.ok(shown.has(table), name);
  }
});
