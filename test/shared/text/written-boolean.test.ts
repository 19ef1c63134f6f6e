import t from "tap";
import { booleanOf } from "../../../shared/text/written-boolean.js";

t.test("a boolean is written in several ways, and nothing else is one", async (t) => {
  for (const raw of [true, "true", " Yes", "on", "1", 1]) t.equal(booleanOf(raw), true, `${raw}`);
  for (const raw of [false, "false", "NO", "off", "0", 0]) t.equal(booleanOf(raw), false, `${raw}`);
  for (const raw of ["", "maybe", 2, null, undefined, [true]]) t.equal(booleanOf(raw), undefined);
});
