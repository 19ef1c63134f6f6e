/** Holds the numbers in the text of docs/reference/metrics.md to the code. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { pathsMax, unvouchedModelsMax } from "../../../proxy/metrics/labels.js";
import { semanticConventions } from "../../../shared/metrics/metrics-table.js";
import { root } from "../../tidy/source-tree.js";

const page = readFileSync(join(root, "docs/reference/metrics.md"), "utf8");

t.test("the page says which conventions the names follow, and the bounds of labels", async (t) => {
  t.match(page, `version ${semanticConventions}`);
  t.match(page, `, ${unvouchedModelsMax} get one`);
  t.match(page, `At most ${pathsMax.toLocaleString("en")} paths get one`);
});
