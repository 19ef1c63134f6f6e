import t from "tap";
import { plainUsd } from "../../../../bin/text/number-text.js";
import { run } from "../../command-session.js";
import { startFakeDaemon } from "../../fake-daemon.js";

const item = (subject: string, rest: object = {}): object => ({
  scope: "user_path",
  subject,
  per_child: false,
  amount: 10,
  spent: 2.5,
  usage_ratio: 0.25,
  period_label: "daily",
  period_seconds: 86_400,
  period_end: "2026-01-01T18:00:00Z",
  source: "manual",
  ...rest,
});

t.test(
  "budgets are listed as a table, narrowed by scope and path, or as the API's object",
  async (t) => {
    const budgets = [
      item("research", {
        scope: "label",
        period_label: "monthly",
        period_seconds: 2_592_000,
        spent: 0.000123,
        usage_ratio: 12.5,
        forecast: { exhausts_at: "2026-01-01T00:00:00Z" },
      }),
      item("/team", { per_child: true }),
      item("/team", { forecast: { exhausts_at: "2026-01-01T03:30:00Z" } }),
      item("/lasts", { forecast: { exhausts_at: null } }),
    ];
    const { socket } = await startFakeDaemon(t, {
      budgets,
      answers: {
        "budgets.children": () => ({ children: [{ subject: "/team/app", spent: 7 }] }),
      },
    });
    const list = (...flags: string[]) => run(["budgets", "list", "--socket", socket, ...flags]);
    t.equal(
      (await list()).out,
      `SCOPE      SUBJECT             PERIOD    SPENT / AMOUNT   USED  RUNS OUT  ENDS IN  SOURCE
label      research            monthly  <$0.01 / $10.00  1250%       now      18h  manual
user_path  /team (each child)  daily         - / $10.00      -         -      18h  manual
user_path  /team               daily     $2.50 / $10.00    25%    3h 30m      18h  manual
user_path  /lasts              daily     $2.50 / $10.00    25%         -      18h  manual`,
    );
    t.equal((await list("--scope", "label")).out.split("\n").length, 2);
    t.equal(
      (await list("--for", "/team")).out.split("\n").length,
      2,
      "a template doesn't cover its own path",
    );
    const ofApp = (await list("--for", "team/app/")).out.split("\n");
    t.equal(ofApp.length, 3);
    const own = (await list("--path", "/team/app")).out.split("\n");
    t.equal(own.length, 2);
    t.match(own[1], /\/team\/app \(child\) +daily +\$7\.00 \/ /);
    t.match(ofApp[1], /\/team\/app \(child\) +daily +\$7\.00 \/ \$10\.00/);
    t.same(JSON.parse((await list("--json")).out), {
      budgets,
      server_time: "2026-01-01T00:00:00.000Z",
    });
    t.match(await list("--scope", "team"), {
      exitCode: 2,
      err: 'error: --scope must be user_path, label, provider or model, not "team"',
    });
    t.match(await list("--scope", "label", "--path", "/x"), {
      exitCode: 2,
      err: /--path is for user-path budgets/,
    });
    t.match(await list("--path", "/a/../b"), {
      exitCode: 2,
      err: /--path must not hold the segment \.\./,
    });
  },
);

t.test("what other hosts have spent is shown with its age", async (t) => {
  const other = (age: number | null): object => ({ other_hosts: { spent: 1, age_seconds: age } });
  const last = async (...budgets: object[]): Promise<string | undefined> => {
    const { socket } = await startFakeDaemon(t, { budgets });
    return (await run(["budgets", "list", "--socket", socket])).out.split("\n").at(-1);
  };
  t.equal(
    await last(item("/a", other(0)), item("/b", other(130))),
    "with what other hosts have spent, as of 2 min ago",
  );
  t.equal(
    await last(item("/a", other(0)), item("/b", other(null))),
    "of some budgets it isn't known yet what other hosts have spent",
  );
});

t.test("an empty list is a sentence, and an inert budget has its reason", async (t) => {
  const none = await startFakeDaemon(t);
  t.same(await run(["budgets", "list", "--socket", none.socket]), {
    exitCode: 0,
    out: "no budgets",
    err: "",
  });
  const tiny = await startFakeDaemon(t, {
    budgets: [item("/a", { amount: 1e-12, usage_ratio: 2.5e12 })],
  });
  t.match(
    (await run(["budgets", "list", "--socket", tiny.socket])).out,
    / \/ \$0\.000000000001 +>9999% /,
  );
  const inert = await startFakeDaemon(t, {
    budgets: [item("/a", { inert: "usage is off" }), item("/b", { inert: "usage is off" })],
  });
  t.equal(
    (await run(["budgets", "list", "--socket", inert.socket])).out
      .split("\n")
      .filter((line) => line === "inert: usage is off").length,
    1,
  );
});

t.test("flags become the API's bodies, all checked before the first is sent", async (t) => {
  const daemon = await startFakeDaemon(t, { perChildEntitled: true });
  const sent = (): unknown[] =>
    daemon.calls
      .splice(0)
      .filter(({ op }) => op !== "budgets.list")
      .map(({ op, body }) => [op, body]);
  const budgets = (...words: string[]) => run(["budgets", ...words, "--socket", daemon.socket]);
  const table: readonly (readonly [words: readonly string[], calls: readonly unknown[]])[] = [
    [
      ["set", "/team", "--daily", "10", "--monthly", "99.5"],
      [
        [
          "budgets.put",
          { scope: "user_path", subject: "/team", budget_key: { period: "daily" }, amount: 10 },
        ],
        [
          "budgets.put",
          {
            scope: "user_path",
            subject: "/team",
            budget_key: { period: "monthly" },
            amount: 99.5,
          },
        ],
      ],
    ],
    [
      ["set", "/team", "--period-seconds", "300", "--amount", "1", "--per-child"],
      [
        [
          "budgets.put",
          {
            scope: "user_path",
            subject: "/team",
            budget_key: { period_seconds: 300 },
            amount: 1,
            per_child: true,
          },
        ],
      ],
    ],
    [
      ["set", "/team", "--daily", "1e-12"],
      [
        [
          "budgets.put",
          {
            scope: "user_path",
            subject: "/team",
            budget_key: { period: "daily" },
            amount: 1e-12,
          },
        ],
      ],
    ],
    [
      ["set", "research", "--scope", "label", "--weekly", "5"],
      [
        [
          "budgets.put",
          { scope: "label", subject: "research", budget_key: { period: "weekly" }, amount: 5 },
        ],
      ],
    ],
    [["delete", "team/..x", "--period", "day"], []],
    [
      ["delete", "/team", "--period", "day"],
      [
        [
          "budgets.delete",
          { scope: "user_path", subject: "/team", budget_key: { period_seconds: 86_400 } },
        ],
      ],
    ],
    [["reset", "--all", "--yes"], [["budgets.reset", { confirmation: "reset" }]]],
    [["settings"], [["budgets.settings", null]]],
    [
      ["settings", "--daily-reset-hour", "6", "--monthly-reset-day", "31"],
      [["budgets.put-settings", { daily_reset_hour: 6, monthly_reset_day: 31 }]],
    ],
  ];
  for (const [words, calls] of table) {
    await budgets(...words);
    t.same(sent(), calls, words.join(" "));
  }
  t.match(await budgets("settings"), { exitCode: 0, out: /daily reset hour +0\n/ });
});

t.test("a problem names its flag, and nothing is sent", async (t) => {
  const daemon = await startFakeDaemon(t);
  const table: readonly (readonly [words: readonly string[], message: string])[] = [
    [
      ["set", "/team"],
      "nothing to set: give --period with --amount, or one of --hourly, --daily, --weekly, --monthly, --quarterly, --yearly, --session",
    ],
    [["set", "/team", "--amount", "3"], "--period or --period-seconds is required beside --amount"],
    [["set", "/team", "--period", "daily"], "--amount is required: US dollars, greater than 0"],
    [
      ["set", "/team", "--daily", "ten"],
      '--daily must be a finite number of US dollars greater than 0, not "ten"',
    ],
    [
      ["set", "/team", "--daily", "1", "--period", "day", "--amount", "2"],
      "one period is given twice, by --period or --period-seconds and by a short flag: give it once",
    ],
    [
      ["set", "team", "--daily", "1"],
      'subject must be a user path such as /team/app, not "team"; for a label, a provider or a model add --scope label, --scope provider or --scope model',
    ],
    [["set", "/team", "--scope", "team", "--daily", "1"], "subject must be"],
    [
      ["set", "x", "--scope", "label", "--daily", "1", "--per-child"],
      "--per-child is for user-path budgets only",
    ],
    [["delete", "/team"], "--period or --period-seconds is required"],
    [
      ["delete", "/team", "--period", "minute"],
      '--period must be hourly, daily, weekly, monthly, quarterly, yearly, session or a number of seconds, not "minute"',
    ],
    [
      ["reset"],
      "subject is required: the budget's user path, label, provider or model; or --all for every budget",
    ],
    [
      ["reset", "/team", "--all"],
      "--all resets every budget: give neither a subject nor --scope nor --period beside it",
    ],
    [["reset", "--all"], "--yes is required to reset all budgets without a terminal"],
    [
      ["settings", "--daily-reset-hour", "24"],
      "--daily-reset-hour must be an integer from 0 to 23, not 24",
    ],
  ];
  for (const [words, message] of table) {
    const { exitCode, err } = await run(["budgets", ...words, "--socket", daemon.socket]);
    t.equal(exitCode, 2, words.join(" "));
    if (message === "subject must be")
      t.match(err, /^error: --scope must be user_path, label, provider or model, not "team"$/);
    else t.equal(err, `error: ${message}`);
  }
  t.same(daemon.calls, []);
  t.match(
    await run(["budgets", "reset", "/nobody", "--period", "daily", "--socket", daemon.socket]),
    { exitCode: 3, err: "error: no daily budget on user_path /nobody: nothing was reset" },
  );
  t.match(
    await run([
      "budgets",
      "set",
      "/team",
      "--daily",
      "1",
      "--per-child",
      "--socket",
      daemon.socket,
      "--json",
    ]),
    { exitCode: 1, err: /quota_templates_not_entitled/ },
  );
});

t.test("amounts of money have two decimals, or as many as they have", async (t) => {
  t.same([1, 0.5, 10.25, 0.000001, 1234.5678, null].map(plainUsd), [
    "$1.00",
    "$0.50",
    "$10.25",
    "$0.000001",
    "$1,234.5678",
    "-",
  ]);
});
