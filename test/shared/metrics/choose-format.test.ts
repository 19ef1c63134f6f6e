/** Which text a scrape gets. */
import t from "tap";
import { chooseFormat } from "../../../shared/metrics/choose-format.js";

t.test("OpenMetrics is the format for callers that accept it", async (t) => {
  const table: readonly (readonly [string | undefined, string])[] = [
    [undefined, "prometheus"],
    ["", "prometheus"],
    ["*/*", "prometheus"],
    ["text/plain", "prometheus"],
    ["application/openmetrics-text", "openmetrics"],
    ["application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.4", "openmetrics"],
    // Of Prometheus 2.42, and of 3.
    [
      "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
      "openmetrics",
    ],
    [
      "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,*/*;q=0.1",
      "openmetrics",
    ],
    ["text/plain,application/openmetrics-text;q=0.9", "prometheus"],
    ["application/openmetrics-text;q=0", "prometheus"],
    ["application/openmetrics-text;q=x", "prometheus"],
    ['application/openmetrics-text; version="2.0.0"', "prometheus"],
    ["text/html,".repeat(10_000), "prometheus"],
  ];
  for (const [accept, format] of table)
    t.equal(chooseFormat(accept), format, String(accept).slice(0, 80));
});
