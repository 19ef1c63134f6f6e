import t from "tap";
import { createUnpricedNotice } from "../../../proxy/routing/unpriced-notice.js";
import { providerConfig } from "../../support/provider-config.js";

t.test("each model without a price is named once, and a simulator's never", async (t) => {
  const named: unknown[] = [];
  const notice = createUnpricedNotice(
    [providerConfig({ name: "demo", type: "simulator" }), providerConfig({ name: "openai" })],
    { warn: (fields: object) => named.push(fields) },
  );
  for (const provider of ["demo", "openai", "openai"]) notice({ provider, model: "new-model" });
  t.same(named, [{ target: "openai/new-model" }]);
});
