import t from "tap";
import { textOfWhen, type WhenField } from "../../../../shared/domain/rule-hours.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { programPath } from "../../../support/processes/program-path.js";
import { run } from "../../command-session.js";
import { fakeServerTime, listed, startFakeDaemon } from "../../fake-daemon.js";
import { startProgram } from "../../program-run.js";

const team = {
  scope: "user_path",
  subject: "/team",
  periodSeconds: 60,
  maxRequests: 10,
  maxTokens: null,
  perChild: false,
} as const;
const error = (err: string): { readonly error: Record<string, unknown> } =>
  JSON.parse(err) as { error: Record<string, unknown> };

t.test("a rule that is set is listed, and the list as JSON is the API's object", async (t) => {
  const { socket } = await startFakeDaemon(t);
  const set = await run([
    "--socket",
    socket,
    "limits",
    "set",
    "/team",
    "--period",
    "minute",
    "--requests",
    "10",
  ]);
  t.match(set, { exitCode: 0, err: "", out: /^user_path +\/team +minute +0\/10 /m });
  const list = await run(["limits", "list", "--json", "--socket", socket]);
  t.equal(list.exitCode, 0);
  t.same(JSON.parse(list.out), { rate_limits: [listed(team)], server_time: fakeServerTime });
});

t.test("an empty book is listed as no rules", async (t) => {
  const { socket } = await startFakeDaemon(t);
  t.same(await run(["limits", "list", "--socket", socket]), {
    exitCode: 0,
    out: "no rules",
    err: "",
  });
});

t.test("a list of several pages is fetched completely and in order", async (t) => {
  const daemon = await startFakeDaemon(t, { itemsPerPage: 2 });
  for (const subject of ["/e", "/d", "/c", "/b", "/a"])
    await run(["limits", "set", subject, "--rpm", "1", "--socket", daemon.socket]);
  daemon.calls.length = 0;
  const { out } = await run(["limits", "list", "--json", "--socket", daemon.socket]);
  const { rate_limits: rules } = JSON.parse(out) as { rate_limits: { subject: string }[] };
  t.same(
    rules.map(({ subject }) => subject),
    ["/a", "/b", "/c", "/d", "/e"],
  );
  t.equal(daemon.calls.length, 3);
});

t.test("the list is narrowed by scope and by path", async (t) => {
  const { socket } = await startFakeDaemon(t);
  await run(["limits", "set", "/team", "--rpm", "1", "--socket", socket]);
  await run(["limits", "set", "/other", "--rpm", "1", "--socket", socket]);
  await run(["limits", "set", "openai", "--scope", "provider", "--rpm", "1", "--socket", socket]);
  const subjects = async (...filter: string[]): Promise<unknown> =>
    (
      JSON.parse((await run(["limits", "list", "--json", "--socket", socket, ...filter])).out) as {
        rate_limits: { subject: string }[];
      }
    ).rate_limits.map(({ subject }) => subject);
  t.same(await subjects("--scope", "provider"), ["openai"]);
  t.same(await subjects("--for", "team/app/"), ["/team"]);
  t.same(await subjects("--path", "team/app/"), []);
  t.same(await subjects("--path", "team"), ["/team"]);
  t.match(
    await run(["limits", "list", "--socket", socket, "--scope", "provider", "--path", "/team"]),
    { exitCode: 2, err: /--path .* can't be combined/ },
  );
  t.match(await run(["limits", "list", "--socket", socket, "--scope", "user"]), {
    exitCode: 2,
    err: 'error: --scope must be user_path, provider or model, not "user"',
  });
});

t.test("short flags write several rules together", async (t) => {
  const daemon = await startFakeDaemon(t);
  const { exitCode, out } = await run([
    "limits",
    "set",
    "/team",
    "--rpm",
    "10",
    "--tpm",
    "500",
    "--concurrent",
    "3",
    "--socket",
    daemon.socket,
  ]);
  t.equal(exitCode, 0);
  t.equal(out.split("\n").length, 3);
  t.same(
    [...daemon.rules.values()].map(({ periodSeconds, maxRequests, maxTokens }) => [
      periodSeconds,
      maxRequests,
      maxTokens,
    ]),
    [
      [60, 10, 500],
      [0, 3, null],
    ],
  );
});

t.test(
  "nothing is sent when one of several rules is invalid, and every problem has a line",
  async (t) => {
    const daemon = await startFakeDaemon(t);
    const { exitCode, err, out } = await run([
      "limits",
      "set",
      "/team",
      "--rpm",
      "10",
      "--tph",
      "0",
      "--concurrent",
      "x",
      "--socket",
      daemon.socket,
    ]);
    t.same(
      { exitCode, out, lines: err.split("\n") },
      {
        exitCode: 2,
        out: "",
        lines: [
          "error: --tph must be greater than 0, not 0",
          'error: --concurrent must be an integer from 1 to 9007199254740991, not "x"',
        ],
      },
    );
    t.same(daemon.calls, []);
  },
);

t.test("a refusal by the daemon ends with exit code 1 and its message", async (t) => {
  const { socket } = await startFakeDaemon(t);
  const argv = ["limits", "set", "/team", "--rpm", "1", "--per-child", "--socket", socket];
  t.same(await run(argv), {
    exitCode: 1,
    out: "",
    err: "error: per_child on /team requires the entitlement quota_templates",
  });
  const json = await run([...argv, "--json"]);
  t.equal(json.exitCode, 1);
  t.match(error(json.err), {
    error: { type: "permission_error", code: "quota_templates_not_entitled", param: "per_child" },
  });
});

t.test("a rule is deleted once; the second time it isn't found", async (t) => {
  const { socket } = await startFakeDaemon(t);
  await run(["limits", "set", "/team", "--rpm", "1", "--socket", socket]);
  const argv = ["limits", "delete", "/team", "--period", "minute", "--socket", socket];
  t.same(await run(argv), { exitCode: 0, out: "deleted: user_path /team minute", err: "" });
  t.match(await run(argv), { exitCode: 3, out: "" });
  t.match(error((await run([...argv, "--json"])).err), {
    error: { type: "not_found_error", code: "rate_limit_not_found" },
  });
});

t.test("resetting one rule prints it; an unknown one isn't found", async (t) => {
  const daemon = await startFakeDaemon(t);
  await run([
    "limits",
    "set",
    "OpenAI",
    "--scope",
    "provider",
    "--rpm",
    "1",
    "--socket",
    daemon.socket,
  ]);
  daemon.calls.length = 0;
  const reset = await run([
    "limits",
    "reset",
    "openai",
    "--scope",
    "provider",
    "--period",
    "minute",
    "--socket",
    daemon.socket,
  ]);
  t.match(reset, { exitCode: 0, out: /OpenAI +minute/, err: "" });
  t.match(daemon.calls[0], {
    op: "rate-limits.reset-one",
    body: { scope: "provider", subject: "openai", limit_key: { period_seconds: 60 } },
  });
  t.match(await run(["limits", "reset", "/nobody", "--period", "day", "--socket", daemon.socket]), {
    exitCode: 3,
    err: "error: no day rule on user_path /nobody: nothing was reset",
  });
});

t.test("resetting all asks first, and does it only on a yes", async (t) => {
  const daemon = await startFakeDaemon(t);
  const argv = ["limits", "reset", "--all", "--socket", daemon.socket];
  for (const answer of ["", "n", "no", "yess"]) {
    t.match(
      await run(argv, { answer }),
      {
        exitCode: 1,
        out: "",
        err: "Reset the live counters of every rule? [y/N] \nnothing was reset",
      },
      answer,
    );
  }
  t.same(daemon.calls, []);
  for (const answer of ["y", "YES"])
    t.match(await run(argv, { answer }), {
      exitCode: 0,
      out: "reset: the live counters of every rule",
    });
  t.match(
    daemon.calls,
    exactly([
      { op: "rate-limits.reset", body: { confirmation: "reset" } },
      { op: "rate-limits.reset" },
    ]),
  );
});

t.test("resetting all needs --yes without a terminal", async (t) => {
  const daemon = await startFakeDaemon(t);
  t.match(await run(["limits", "reset", "--all", "--socket", daemon.socket]), {
    exitCode: 2,
    err: "error: --yes is required to reset all rules without a terminal",
  });
  t.same(daemon.calls, []);
  t.match(await run(["limits", "reset", "--all", "--yes", "--socket", daemon.socket]), {
    exitCode: 0,
  });
  t.equal(daemon.calls.length, 1);
});

t.test("a reset of all accepts no subject, a reset of one needs it", async (t) => {
  const table: readonly (readonly [readonly string[], RegExp])[] = [
    [["/team", "--all", "--yes"], /^error: --all resets every rule/],
    [["--all", "--yes", "--period", "minute"], /^error: --all resets every rule/],
    [[], /^error: subject is required/],
    [["/team"], /^error: --period or --period-seconds is required/],
  ];
  for (const [argv, err] of table)
    t.match(
      await run(["limits", "reset", ...argv, "--socket", "/nowhere"]),
      { exitCode: 2, err },
      argv.join(" "),
    );
});

t.test("without a daemon every command ends with exit code 69 and what to do", async (t) => {
  const commands = [
    ["list"],
    ["set", "/team", "--rpm", "1"],
    ["delete", "/team", "--period", "minute"],
    ["reset", "/team", "--period", "minute"],
    ["reset", "--all", "--yes"],
  ];
  for (const command of commands) {
    t.same(
      await run(["limits", ...command, "--socket", "/nowhere/limiterd.sock"]),
      {
        exitCode: 69,
        out: "",
        err: "error: no daemon listens on /nowhere/limiterd.sock: start it with `sluice up`",
      },
      command.join(" "),
    );
  }
});

t.test("a daemon that doesn't welcome the command line is a failure, not an absence", async (t) => {
  const { socket } = await startFakeDaemon(t, { onHello: "refuse" });
  t.match(await run(["limits", "list", "--socket", socket]), {
    exitCode: 1,
    err: /refuses this command line/,
  });
});

t.test("wrong usage ends with exit code 2, and with --json as JSON", async (t) => {
  for (const argv of [
    ["limits", "list", "--nope"],
    ["limits", "frobnicate"],
    ["limits", "set"],
    ["limits", "delete"],
    ["limits", "list", "extra"],
    ["nope"],
  ]) {
    const { exitCode, out, err } = await run(argv);
    t.equal(exitCode, 2, argv.join(" "));
    t.equal(out, "");
    t.match(err, /^error: [^\n]+$/);
  }
  t.match(error((await run(["limits", "list", "--json", "--nope"])).err), {
    error: { type: "invalid_request_error", code: null, message: "unknown option '--nope'" },
  });
  t.match(await run(["limits"]), { exitCode: 2, err: /^Examples:\n[^]*\nUsage: sluice limits/ });
});

t.test("a rule is tested by the recorded requests, until the daemon is done", async (t) => {
  const report = {
    start: "2026-03-03T12:00:00.000Z",
    end: "2026-03-10T12:00:00.000Z",
    oldest_record_at: "2026-03-05T00:00:00.000Z",
    requests: 1280,
    refused: 31,
    refused_for: { requests: 20, tokens: 11, concurrent: 0, children: 0, banned: 0 },
    first_refused_at: "2026-03-06T09:00:01.500Z",
    last_refused_at: "2026-03-09T17:10:00.000Z",
    days: [],
    paths: [{ user_path: "/team/app", refused: 31 }],
    lowest_caps: { max_requests: 87, max_tokens: 12_001 },
    late: 2,
    progress: 1,
    next: null,
    server_time: "2026-03-10T12:00:00.000Z",
  };
  const backTest = [{ ...report, progress: 0.4, next: "1" }, report];
  const daemon = await startFakeDaemon(t, { backTest });
  const flags = ["--rpm", "60", "--tpm", "9000", "--days", "7", "--socket", daemon.socket];
  const tested = await run(["limits", "test", "/team", ...flags]);
  t.match(tested, { exitCode: 0, err: "" });
  t.equal(
    tested.out,
    `minute rule on user_path /team:
  requests              1,280 that began 2026-03-03T12:00:00.000Z to 2026-03-10T12:00:00.000Z
  refused               31 (2.4%): by requests 20, by tokens 11
  first                 2026-03-06T09:00:01.500Z
  last                  2026-03-09T17:10:00.000Z
  paths                 /team/app 31
  refuses nothing from  87 requests, 12,001 tokens
records begin 2026-03-05T00:00:00.000Z: before that it isn't known
2 more were recorded too late to be judged, and are counted alone
Judged by what is recorded, for each rule alone: budgets, other rules, requests that were refused then, and what clients would have sent again, aren't in it.`,
  );
  const asked = {
    ...{ scope: "user_path", subject: "/team", limit_key: { period_seconds: 60 } },
    ...{ max_requests: 60, max_tokens: 9000, days: 7 },
  };
  t.same(
    daemon.calls.map(({ body }) => body),
    [asked, { ...asked, after: "1" }],
  );
  for (const flag of ["--daily", "--session", "--amount"])
    t.match(await run(["limits", "test", "/team", flag, "20", "--socket", daemon.socket]), {
      exitCode: 2,
      err: `error: ${flag} is an amount of a budget. Budgets aren't tested; for a daily one of $20 test --period day --cost 20.`,
    });
  const json = await run(["limits", "test", "/team", ...flags, "--json"]);
  t.same(JSON.parse(json.out), { tests: [report] });
  t.match(await run(["limits", "test", "/team", "--rpm", "0", "--socket", daemon.socket]), {
    exitCode: 2,
    err: /--rpm must be greater than 0/,
  });
});

t.test("revert changes nothing where the configuration has no other rule", async (t) => {
  const daemon = await startFakeDaemon(t);
  const set = ["limits", "set", "/team", "--rpm", "5", "--socket", daemon.socket];
  await run(set);
  const { calls } = daemon;
  for (const [subject, message] of [
    ["/team", "the configuration has no other minute rule on user_path /team"],
    ["/nobody", "no minute rule on user_path /nobody"],
  ] as const) {
    const args = ["limits", "revert", subject, "--period", "minute", "--socket", daemon.socket];
    const { exitCode, err } = await run(args);
    t.equal(exitCode, 3);
    t.match(err, `error: ${message}: nothing was changed`);
  }
  t.notOk(calls.some(({ op }) => op === "rate-limits.delete"));
});

t.test("a list with children says that other hosts may have met more", async (t) => {
  const ann = { subject: "/users/ann", requests_used: 3, tokens_used: 0, in_flight: 0 };
  for (const [others, note] of [
    [2, /\n\n.*this host have met; 2 other hosts may have met more\.$/],
    [1, /; another host may have met more\.$/],
    [0, /\/users\/ann[^;]*$/],
  ] as const) {
    const { socket } = await startFakeDaemon(t, {
      perChildEntitled: true,
      explanation: { children: [ann], other_hosts: others },
    });
    await run(["limits", "set", "/users", "--rpm", "5", "--per-child", "--socket", socket]);
    const { out } = await run(["limits", "list", "--children", "5", "--socket", socket]);
    t.match(out, /\/users\/ann/);
    t.match(out, note);
  }
});

t.test("children of a template with hours are asked for by its hours", async (t) => {
  const ann = { subject: "/users/ann", requests_used: 3, tokens_used: 0, in_flight: 0 };
  const when: WhenField = {
    days: ["mon", "tue"],
    from: "09:00",
    to: "17:00",
    time_zone: "Europe/Berlin",
  };
  const template = { ...listed(team), subject: "/users", per_child: true, when };
  const { socket, calls } = await startFakeDaemon(t, {
    answers: {
      "rate-limits.list": () => ({
        rate_limits: [template],
        server_time: fakeServerTime,
        next: null,
      }),
      "rate-limits.children": () => ({ children: [ann] }),
    },
  });
  for (const flags of [["--children"], ["--path", "/users/ann"], ["--for", "/users/ann/app"]]) {
    calls.length = 0;
    const { out } = await run(["limits", "list", ...flags, "--socket", socket]);
    t.match(out, /\/users\/ann/);
    const asked = calls.find(({ op }) => op === "rate-limits.children");
    t.match(asked?.body, { subject: "/users", when: textOfWhen(when) });
  }
});

t.test("a reader that goes away, as head does, ends a command silently", async (t) => {
  const { socket } = await startFakeDaemon(t);
  for (const argv of [["export"], ["list", "--watch", "1s"]]) {
    const program = startProgram(t, programPath("sluice"), ["limits", ...argv, "--socket", socket]);
    program.child.stdout!.destroy();
    t.match(await program.ended, { code: 141 }, argv.join(" "));
    t.same(program.err, []);
  }
});

t.test("a child that has submitted nothing but batches is listed with their tokens", async (t) => {
  const template = { ...listed(team), subject: "/users", per_child: true };
  const onBatches = { ...template, period_label: "concurrent", period_seconds: 0 };
  const capped = { ...onBatches, max_requests: undefined, max_enqueued_tokens: 300 };
  const held = { enqueued_tokens_used: 239, enqueued_tokens_remaining: 61 };
  const { socket } = await startFakeDaemon(t, {
    answers: {
      "rate-limits.list": (body) => ({
        rate_limits:
          (body as { user_path?: string } | null)?.user_path === "/users/ann"
            ? [
                { ...template, subject: "/users/ann", template: "/users", requests_used: 7 },
                { ...capped, subject: "/users/ann", template: "/users", ...held },
              ]
            : [template, capped],
        server_time: fakeServerTime,
        next: null,
      }),
      "rate-limits.children": () => ({ children: [] }),
    },
  });
  for (const [path, used] of [
    ["/users/ann", "239"],
    ["/users/bob", "-"],
  ] as const) {
    const { out } = await run(["limits", "list", "--path", path, "--socket", socket]);
    t.match(out, new RegExp(`${path} \\(child\\) +concurrent.* ${used}/300 enqueued`));
  }
});
