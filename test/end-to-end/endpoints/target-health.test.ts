/** The health of targets, as counts of tokens meet it and administrators see it. */
import t from "tap";
import { admin, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import { startScriptedUpstream } from "../../support/providers/scripted-upstream.js";

const counting = await startScriptedUpstream();
t.teardown(() => counting.close());
counting.answer = ({ response }) =>
  response.writeHead(200, { "content-type": "application/json" }).end('{"input_tokens":3}');
const site = makeSite(
  t,
  `
providers:
  dead: { type: anthropic, base_url: "http://127.0.0.1:1", api_key: none, models: [a], breaker_failures: 2, breaker_open_ms: 60000 }
  well: { type: anthropic, base_url: "${counting.baseUrl}", api_key: none, models: [b], breaker_failures: 2 }
virtual_models:
  smart: { strategy: failover, targets: [{ model: dead/a }, { model: well/b }] }
`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();

t.test("counts of tokens leave a target alone that keeps failing, and say so of it", async (t) => {
  const count = (): Promise<Response> =>
    fetch(`${url}/v1/messages/count_tokens`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "smart", messages: [{ role: "user", content: "hi" }] }),
    });
  for (const status of [502, 502, 200, 200]) {
    const answer = await count();
    t.equal(answer.status, status);
    await answer.text();
  }
  t.equal((await count()).headers.get("x-sluice-target"), "well/b");
  const { body } = await admin(url, "GET /status");
  t.match(
    body["targets"],
    exactly([{ target: "dead/a", state: "open", failures: 2, reason: /ECONNREFUSED|connect/i }]),
  );
  const [seen] = body["targets"] as { retry_in_seconds: number }[];
  t.ok(seen!.retry_in_seconds > 0 && seen!.retry_in_seconds <= 60);
  t.match((await admin(url, "GET /targets")).body, exactly({ targets: [{ target: "dead/a" }] }));
  const named = await until(
    async () => (await admin(url, "GET /status")).body["open_targets"] as readonly string[],
    (targets) => targets.length > 0,
  );
  t.match(
    named,
    exactly([/^dead\/a: .*\(2 failures in a row\)$/]),
    "the daemon knows, for sluice status",
  );
});
