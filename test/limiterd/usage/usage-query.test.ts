import t from "tap";
import { parseGrouping } from "../../../limiterd/usage/usage-query.js";
import { groupings } from "../../../shared/wire/admin-op.js";

t.test("a summary has a grouping that there is, or none", async (t) => {
  for (const by of groupings) t.strictSame(parseGrouping({ by }), { ok: true, value: by });
  for (const body of [null, {}, { by: null }, 7])
    t.strictSame(parseGrouping(body), { ok: true, value: null });
  for (const by of ["", "hour", 7, ["day"]])
    t.match(parseGrouping({ by }), { ok: false }, String(by));
});
