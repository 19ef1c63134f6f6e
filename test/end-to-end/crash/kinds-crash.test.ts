/**
 * Limits of every kind over deaths of the daemon, through real processes: what requests have used
 * counts once by each measure, whatever they were doing, and a raise is there until it ends.
 */
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin, type RuleItem, ruleNow, until } from "../../support/client.js";
import { makeSite, type Part } from "../../support/processes/processes.js";
import { startPassthroughProvider } from "../../support/providers/passthrough-provider.js";

const upstream = await startPassthroughProvider();
t.teardown(() => upstream.close());
const many = 1_000_000;
/** The daemon's clock stands still: neither a raise nor an hour ends unless a test says so. */
let clockMs = Date.parse("2026-03-10T12:00:00Z");
const startDaemon = (): Promise<Part> => site.startClockedDaemon(clockMs);
/** Hours from now on in which it is this much later, in UTC. */
function hoursIn(from: number, to: number): string {
  const [first, last] = [from, to].map(
    (hours) => `"${new Date(clockMs + hours * 3_600_000).toISOString().slice(11, 16)}"`,
  );
  return `when: { from: ${first}, to: ${last} }`;
}
const limits: Readonly<Record<string, string>> = {
  "/hours": `max_requests: ${many}, max_tokens: ${many}, ${hoursIn(-11, 11)}`,
  "/off": `max_requests: 1, ${hoursIn(10, 12)}`,
  "/models": `max_requests: ${many}, max_tokens: ${many}, models: [m]`,
  "/measured": `max_input_tokens: ${many}, max_output_tokens: ${many}, max_cost: 9000`,
  "/weighed": `max_tokens: ${many}, token_weights: { cached: 0.5, reasoning: 0 }`,
  "/tools": `max_tool_calls: ${many}, models: ["tool:web_search"]`,
  "/warned": "max_requests: 1, on_exhausted: warn",
  "/raised": "max_requests: 1",
};
const site = makeSite(
  t,
  `
providers:
  test: { type: openai, base_url: "${upstream.origin}/v1", api_key: secret, models: [m], operations: [responses] }
limiter: { deadline_ms: 30000 }
prices: { test/m: { input: 1, output: 2 } }
rate_limits:
  user_paths:
${Object.entries(limits)
  .map(
    ([path, caps]) =>
      `    - { path: ${path}, limits: [{ period_seconds: ${agesSeconds}, ${caps} }] }`,
  )
  .join("\n")}
`,
);
let daemon = await startDaemon();
const { ready: url } = await site.startProxy();

/** What each answer reports: its tokens weigh 3 + 4 / 2 + 1, and cost 13 millionths of a dollar. */
const usage = {
  input_tokens: 7,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 3,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 10,
};
const output = [{ type: "web_search_call", id: "w", action: { type: "search" } }];
upstream.answer = ({ response }) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(
    JSON.stringify({ id: "resp_1", object: "response", status: "completed", output, usage }),
  );
};

/** What a rule has counted of so many requests. */
const counted: Readonly<Record<string, (requests: number) => Partial<RuleItem>>> = {
  "/models": (n) => ({ requests_used: n, tokens_used: 10 * n }),
  "/measured": (n) => ({
    ...{ requests_used: n, input_tokens_used: 7 * n, output_tokens_used: 3 * n },
    cost_used: Math.round(13 * n) / 1e6,
  }),
  "/weighed": (n) => ({ requests_used: n, tokens_used: 6 * n }),
  "/tools": (n) => ({ requests_used: n, tool_calls_used: n }),
  "/warned": (n) => ({ requests_used: n }),
  "/raised": (n) => ({ requests_used: n }),
  "/hours": (n) => ({ requests_used: n, tokens_used: 10 * n }),
  "/off": () => ({ requests_used: 0 }),
};

function ask(path: string): Promise<Response> {
  return fetch(`${url}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-sluice-user-path": path },
    body: JSON.stringify({ model: "test/m", input: "hi", tools: [{ type: "web_search" }] }),
  });
}

async function die(signal: NodeJS.Signals): Promise<void> {
  await daemon.kill(signal);
  daemon = await startDaemon();
}

const raised = { user_path: "/raised", limit_key: { period_seconds: agesSeconds } };
async function raise(seconds: number): Promise<void> {
  const values = { max_requests: many, for_seconds: seconds, reason: "a test", by: "test" };
  const { status } = await admin(url, "POST /rate-limits/raise", { ...raised, ...values });
  t.equal(status, 200);
}

t.test("each kind counts once, whatever dies", async (t) => {
  await raise(3600);
  const { raises } = await ruleNow(url, "/raised", agesSeconds);
  let sent = 0;
  for (const signal of ["SIGKILL", "SIGTERM", "SIGKILL"] as const)
    for (const atOnce of [1, 5]) {
      const before = upstream.received.length;
      const answers = Object.keys(limits).flatMap((path) =>
        Array.from({ length: atOnce }, () => ask(path)),
      );
      sent += atOnce;
      await until(
        async () => upstream.received.length,
        (received) => received > before,
      );
      await die(signal);
      for (const { status } of await Promise.all(answers)) t.equal(status, 200, signal);
      for (const [path, of] of Object.entries(counted)) {
        const expected = Object.entries(of(sent));
        const rule = await until(
          () => ruleNow(url, path, agesSeconds),
          (item) => expected.every(([field, value]) => item[field] === value),
        );
        t.match(rule, { in_flight: 0 }, `${path} after ${sent}`);
      }
      const rule = await ruleNow(url, "/raised", agesSeconds);
      t.same(rule["raises"], raises, "it ends when it was to end");
    }
  t.match((await ask("/warned")).headers.get("x-sluice-exhausted"), /\/warned$/);
});

t.test("a raise that ends while no daemon runs has ended", async (t) => {
  const { status } = await admin(url, "DELETE /rate-limits/raise", raised);
  t.equal(status, 200);
  t.equal((await ask("/raised")).status, 429);
  await raise(60);
  t.equal((await ask("/raised")).status, 200);
  await daemon.kill("SIGKILL");
  clockMs += 60_000;
  daemon = await startDaemon();
  t.equal((await ask("/raised")).status, 429);
  t.equal((await ruleNow(url, "/raised", agesSeconds))["raises"], undefined);
});
