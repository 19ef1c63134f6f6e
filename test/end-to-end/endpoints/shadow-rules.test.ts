/**
 * A shadow rule in whole processes: callers see nothing of it, operators do, and it becomes the
 * enforced rule. And the headers of caps on output tokens, as Anthropic's clients read them.
 */
import t from "tap";
import { run } from "../../bin/command-session.js";
import { agesSeconds } from "../../support/ages.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";

const masterKey = "master-key-of-the-test";
const site = makeSite(
  t,
  `
server: { master_key: ${masterKey} }
providers:
  simulator: { type: simulator, models: [sim-fast] }
rate_limits:
  user_paths:
    - { path: /team, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1, mode: shadow }, { period_seconds: ${agesSeconds}, max_requests: 50 }] }
    - { path: /capped, limits: [{ period_seconds: ${agesSeconds}, max_output_tokens: 1 }] }
`,
);
await site.startDaemon();
const proxy = await site.startProxy();
const { ready: url } = proxy;
const here = ["--config", site.configFile, "--socket", site.socket];
const env = { SLUICE_API_KEY: masterKey, SLUICE_SOCKET: site.socket };

async function ask(path: string, body: object | null, userPath: string) {
  const answer = await fetch(`${url}${path}`, {
    method: body === null ? "GET" : "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${masterKey}`,
      "x-sluice-user-path": userPath,
    },
    body: body === null ? null : JSON.stringify(body),
  });
  const headers = Object.fromEntries(answer.headers);
  return { status: answer.status, headers, body: (await answer.json()) as unknown };
}

const messages = [{ role: "user", content: "Hello!" }];
const question = { model: "sim-fast", max_tokens: 9, messages };

t.test("it refuses nothing, is noted for operators alone, and is enforced", async (t) => {
  for (const remaining of ["49", "48", "47"])
    t.match(await ask("/v1/chat/completions", question, "/team/app"), {
      status: 200,
      headers: {
        "x-ratelimit-limit-requests": "50",
        "x-ratelimit-remaining-requests": remaining,
      },
    });
  await proxy.printed(/"shadow":\["\/team \d+s"\]/);
  t.match(
    (await ask("/v1/usage", null, "/team/app")).body,
    exactly({ rate_limits: [{ max_requests: 50, mode: undefined }] }),
  );
  const list = ["limits", "list", "--path", "/team", ...here];
  t.match(await run(list, { env }), {
    out: /WOULD REFUSE[^]*\/team \(shadow\).* 1\/1 .* 2, last /,
  });
  const explain = ["explain", "--path", "/team", "--model", "sim-fast", ...here];
  t.match(await run(explain, { env }), { out: /now: admitted[^]*would refuse \(requests\)/ });
  const period = ["--period-seconds", String(agesSeconds)];
  const enforce = ["limits", "enforce", "/team", ...period, ...here];
  t.match(await run(enforce, { env }), { exitCode: 0, out: / 1\/1 / });
  t.match(await ask("/v1/chat/completions", question, "/team/app"), { status: 429 });
  t.match(await run(enforce, { env }), { exitCode: 3, err: /no \d+s rule on .*\(shadow\)/ });
});

t.test("a cap on output tokens has the headers that Anthropic's clients read", async (t) => {
  const tokens = { "anthropic-ratelimit-output-tokens-limit": "1" };
  t.match(await ask("/v1/messages", question, "/capped"), {
    status: 200,
    headers: { ...tokens, "anthropic-ratelimit-output-tokens-remaining": "1" },
  });
  const reset = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
  t.match(await ask("/v1/messages", question, "/capped"), {
    status: 429,
    headers: { ...tokens, "anthropic-ratelimit-output-tokens-reset": reset },
  });
  const other = await ask("/v1/chat/completions", question, "/capped");
  t.notOk(
    Object.keys(other.headers).some((name) => name.startsWith("anthropic-")),
    "only there",
  );
});
