/** Whether the gateway and its daemon are said to answer. */
import t from "tap";
import { ConnectionWatch } from "../../../proxy/dashboard/web/data/connection.js";
import type { Problem } from "../../../proxy/dashboard/web/data/gateway-client.js";

const problem = (kind: Problem["kind"]): Problem => ({ kind, message: "", field: null, status: 0 });

t.test("the proxy's own answers don't say that the daemon is back", async (t) => {
  const watch = new ConnectionWatch();
  t.equal(watch.state.value, "ok");
  watch.heard(problem("daemon-away"), "/admin/status");
  watch.heard(null, "/health");
  t.equal(watch.state.value, "daemon-away");
  watch.heard(problem("refused"), "/admin/rate-limits");
  t.equal(watch.state.value, "ok", "an answer to a wrong question is one");
});

t.test("any answer says that the gateway is back", async (t) => {
  const watch = new ConnectionWatch();
  watch.heard(problem("unreachable"), "/health");
  t.equal(watch.state.value, "unreachable");
  watch.heard(null, "/health");
  t.equal(watch.state.value, "ok");
});
