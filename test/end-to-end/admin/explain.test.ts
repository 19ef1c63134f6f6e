/**
 * Explaining through real processes: over HTTP and at the command line, now and by the id of a
 * refused request; inert rules wherever they show.
 */
import { readFileSync, writeFileSync } from "node:fs";
import t from "tap";
import { run } from "../../bin/command-session.js";
import { admin, chat, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import { startScriptedUpstream } from "../../support/providers/scripted-upstream.js";

const upstream = await startScriptedUpstream();
t.teardown(() => upstream.close());
const site = makeSite(
  t,
  `
server: { request_id_in_refusals: true }
providers:
  one: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: [gpt-4o] }
  two: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: [gpt-4o] }
virtual_models:
  smart: { strategy: round_robin, targets: [ { model: one/gpt-4o }, { model: two/gpt-4o } ] }
rate_limits:
  providers:
    - { name: two, limits: [ { period: hour, max_requests: 1 } ] }
    - { name: three, limits: [ { period: hour, max_requests: 1 } ] }
`,
);
const start = 1_767_225_600_000;
const daemon = await site.startClockedDaemon(start);
const { ready: url, output } = await site.startProxy();
const explain = (body: unknown): ReturnType<typeof admin> => admin(url, "POST /explain", body);
const sluice = (...argv: string[]): ReturnType<typeof run> =>
  run(argv, {
    env: { SLUICE_SOCKET: site.socket, SLUICE_CONFIG: site.configFile },
    cwd: site.directory,
  });
const refusedMessage = "rate limit exceeded for /team: minute request limit of 3 reached";

t.test(
  "an explanation says where the next request goes, changes no round robin, and consumes nothing",
  async (t) => {
    await admin(url, "PUT /rate-limits", {
      user_path: "/team",
      limit_key: { period: "minute" },
      max_requests: 3,
    });
    const targetOf = async (): Promise<unknown> =>
      (
        (await explain({ user_path: "/team/app", model: "smart" })).body["verdict"] as {
          target: string;
        }
      ).target;
    for (let i = 0; i < 3; i++) t.equal(await targetOf(), "one/gpt-4o");
    await (await chat(url, { path: "/team/app", model: "smart" })).arrayBuffer();
    t.equal(await targetOf(), "two/gpt-4o");
    await (await chat(url, { path: "/team/app", model: "smart" })).arrayBuffer();
    await (await chat(url, { path: "/team/app", model: "smart" })).arrayBuffer();
    t.equal(upstream.calls.length, 3);
    const { status, body } = await explain({ user_path: " team/app ", model: "SMART" });
    t.equal(status, 200);
    t.match(
      body,
      exactly({
        model: "SMART",
        user_path: "/team/app",
        server_time: "2026-01-01T00:00:00.000Z",
        verdict: {
          admitted: false,
          message: refusedMessage,
          retry_after: 61,
          admitted_at: "2026-01-01T00:01:01.000Z",
          needs_slot: false,
        },
        rules: [
          { subject: "/team", requests_used: 3, requests_remaining: 0, breached: ["requests"] },
        ],
        targets: [
          {
            target: "two/gpt-4o",
            chosen: false,
            admits: false,
            message: "rate limit exceeded for provider two: hour request limit of 1 reached",
            rules: [{ scope: "provider", subject: "two", period_label: "hour", requests_used: 1 }],
          },
          { target: "one/gpt-4o", admits: true, rules: { length: 0 } },
        ],
      }),
    );
    t.match((await explain({ model: "one/unlisted" })).body, {
      user_path: "/",
      verdict: { admitted: true, target: "one/unlisted" },
      rules: { length: 0 },
    });
  },
);

t.test(
  "the id of a refused request, from header, body and log line, leads to what happened and how it stands now",
  async (t) => {
    const refused = await chat(url, { path: "/team/x", model: "smart" });
    t.equal(refused.status, 429);
    const { request_id: id, error } = (await refused.json()) as {
      request_id: string;
      error: { message: string };
    };
    t.equal(id, refused.headers.get("x-request-id"));
    t.equal(error.message, refusedMessage);
    await until(
      async () => output(),
      (text) => text.includes(`"request_id":"${id}"`),
    );
    await daemon.setClock(start + 60_000);
    const { status, body } = await explain({ request_id: id });
    t.equal(status, 200);
    t.match(
      body,
      exactly({
        refusal: {
          request_id: id,
          refused_at: "2026-01-01T00:00:00.000Z",
          user_path: "/team/x",
          model: "smart",
          targets: ["two/gpt-4o", "one/gpt-4o"],
          message: refusedMessage,
          rule: { scope: "user_path", subject: "/team", period_label: "minute" },
          dimension: "requests",
          cap: 3,
          retry_after: 61,
          admitted_at: "2026-01-01T00:01:01.000Z",
        },
        verdict: { admitted: false, retry_after: 1 },
      }),
    );
    t.same(
      JSON.parse((await sluice("explain", "--request", id, "--json")).out),
      body,
      "the command line says the same",
    );
    await daemon.setClock(start + 61_000);
    t.match((await explain({ request_id: id })).body, {
      refusal: { retry_after: 61 },
      verdict: { admitted: true, target: "one/gpt-4o" },
    });
    const { out } = await sluice("explain", "--request", id);
    t.same(out.split("\n").slice(0, 7), [
      `request ${id} was refused: ${refusedMessage}`,
      "  refused at   2026-01-01T00:00:00.000Z",
      "  user path    /team/x",
      "  model        smart",
      "  targets      two/gpt-4o, one/gpt-4o",
      "  retry after  1m 1s, at 2026-01-01T00:01:01.000Z",
      "now: admitted, to one/gpt-4o",
    ]);
    t.match(await explain({ request_id: "req_nobody" }), {
      status: 404,
      body: {
        type: "not_found_error",
        code: null,
        param: "request_id",
        message:
          /no refusal of a request "req_nobody" is known: the daemon remembers the last 10000/,
      },
    });
    t.match(await sluice("explain", "--request", "req_nobody"), {
      exitCode: 3,
      out: "",
      err: /^error: no refusal of a request "req_nobody"/,
    });
  },
);

t.test("a caller's own request id leads there too, to its latest refusal", async (t) => {
  await daemon.setClock(start);
  const again = async (path: string): Promise<number> =>
    (
      await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { "x-request-id": "mine-1", "x-sluice-user-path": path },
        body: JSON.stringify({ model: "smart", messages: [] }),
      })
    ).status;
  t.same([await again("/team/first"), await again("/team/second")], [429, 429]);
  t.match((await explain({ request_id: "mine-1" })).body, {
    refusal: { user_path: "/team/second" },
  });
});

t.test("at the command line the model is resolved by the configuration", async (t) => {
  const { exitCode, out } = await sluice("explain", "--path", "/team/app", "--model", "smart");
  t.equal(exitCode, 0);
  t.same(out.split("\n"), [
    `now: refused: ${refusedMessage}; admitted in 1m 1s, at 2026-01-01T00:01:01.000Z`,
    "target one/gpt-4o: has room",
    "target two/gpt-4o: has no room: rate limit exceeded for provider two: hour request limit of 1 reached; in 1h",
    "FOR           SCOPE      SUBJECT  PERIOD  REQUESTS  TOKENS  IN FLIGHT  RESETS IN  VERDICT",
    "every target  user_path  /team    minute       3/3       -          -         1m  refuses (requests), 1m 1s",
    "two/gpt-4o    provider   two      hour         1/1       -          -         1h  refuses (requests), 1h",
  ]);
  t.match(
    JSON.parse((await sluice("explain", "--path", "/team/app", "--model", "smart", "--json")).out),
    { model: "smart", verdict: { admitted: false } },
  );
  t.equal(
    (await sluice("explain", "--model", "gpt-4o")).out,
    "now: admitted, to one/gpt-4o\ntarget one/gpt-4o: gets the request\nno rule applies",
  );
});

t.test("what is asked wrongly is refused by name", async (t) => {
  const table: readonly (readonly [
    body: unknown,
    status: number,
    param: string | null,
    message: RegExp,
  ])[] = [
    [{}, 400, "model", /model or request_id is required/],
    [[], 400, "body", /must be a JSON object/],
    ["{", 400, "body", /must be a JSON object/],
    [{ model: 5 }, 400, "model", /not 5/],
    [
      { model: "smart", path: "/a" },
      400,
      "path",
      /unknown field path: expected user_path, key, model, session, request_id/,
    ],
    [{ model: "smart", user_path: "/a/../b" }, 400, "user_path", /segment/],
    [{ model: "smart", user_path: 7 }, 400, "user_path", /not 7/],
    [{ model: "smart", request_id: "x" }, 400, "request_id", /can't be combined/],
    [{ request_id: "" }, 400, "request_id", /X-Request-ID/],
    [{ model: "nobody" }, 404, "model", /"nobody" does not exist/],
  ];
  for (const [body, status, param, message] of table)
    t.match(
      await explain(body),
      { status, body: { param, message, status_code: status } },
      JSON.stringify(body),
    );
  t.match(await sluice("explain"), { exitCode: 2, err: "error: --model or --request is required" });
  t.match(await sluice("explain", "--model", "x", "--request", "y", "--path", "/../a"), {
    exitCode: 2,
    err: /--path must not hold.*\nerror: --request can't be combined/,
  });
  t.match(await sluice("explain", "--model", "nobody"), {
    exitCode: 2,
    err: 'error: --model "nobody" is no virtual model and no configured provider lists it',
  });
});

t.test(
  "a rule that nothing routes to shows in the log, in the list, in the status and, as a number, in /health",
  async (t) => {
    const reason = "no provider three is configured";
    await until(
      async () => daemon.output(),
      (text) => text.includes(`"rule":"provider three hour: ${reason}"`),
    );
    t.match(
      (await sluice("limits", "list")).out,
      new RegExp(`\ninert: provider three hour: ${reason}$`),
    );
    const health = async (): Promise<unknown> =>
      ((await (await fetch(`${url}/health`)).json()) as { limiter: { inert_rules: number } })
        .limiter.inert_rules;
    t.equal(await health(), 1);
    const { body } = await admin(url, "PUT /rate-limits", {
      scope: "model",
      subject: "gpt-5",
      limit_key: { period: "minute" },
      max_requests: 1,
    });
    t.match(
      body.rate_limits.find(({ subject }) => subject === "gpt-5"),
      { inert: /^no configured provider lists this model/ },
    );
    t.equal(await health(), 2);
    await daemon.printed(/"rule":"model gpt-5 minute: no configured provider/);
    const status = (await sluice("status")).out;
    t.match(status, /\n {2}inert rules +2\n/);
    t.match(status, /\n {2}inert +.*provider three hour: no provider three is configured/);
    await admin(url, "DELETE /rate-limits", {
      scope: "model",
      subject: "GPT-5",
      limit_key: { period: "minute" },
    });
    t.equal(await health(), 1);
  },
);

t.test("a model that only the running gateway can know is asked there", async (t) => {
  writeFileSync(
    site.configFile,
    readFileSync(site.configFile, "utf8").replace(", models: [gpt-4o] }\n  two", " }\n  two"),
  );
  const explainAt = (port: string, model: string): ReturnType<typeof run> =>
    run(["explain", "--model", model], {
      env: { SLUICE_SOCKET: site.socket, SLUICE_CONFIG: site.configFile, PORT: port },
      cwd: site.directory,
    });
  const { port } = new URL(url);
  t.match(await explainAt(port, "gpt-9"), { exitCode: 3, err: /"gpt-9"/ });
  t.match(await explainAt(port, "one/gpt-9"), { exitCode: 0, out: /admitted, to one\/gpt-9/ });
  const unknown =
    /^error: --model "gpt-9" can't be resolved by the configuration alone: one lists its models to a running proxy only; write provider\/model, or start the gateway: /;
  t.match(await explainAt("1", "gpt-9"), {
    exitCode: 2,
    err: new RegExp(`${unknown.source}.*127\\.0\\.0\\.1:1`),
  });
  t.match(await explainAt("0", "gpt-9"), {
    exitCode: 2,
    err: new RegExp(`${unknown.source}its port is chosen when it starts$`),
  });
});
