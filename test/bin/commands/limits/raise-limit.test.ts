import t from "tap";
import { run } from "../../command-session.js";
import { startFakeDaemon } from "../../fake-daemon.js";

t.test("a raise has its values, its time and its reason; its end has its period", async (t) => {
  const { socket, calls } = await startFakeDaemon(t);
  const at = ["--socket", socket];
  await run(["limits", "set", "/team", "--rpm", "100", ...at]);
  calls.length = 0;
  const because = ["--for", "2h", "--reason", "launch day", "--by", "ann", ...at];
  const raised = await run(["limits", "raise", "/team", "--rpm", "200", ...because]);
  t.match(raised, { exitCode: 0, err: "", out: /^user_path +\/team +minute/m });
  await run(["limits", "raise", "/team/app", "--rpm", "200", ...because]);
  await run(["limits", "raise", "/team", "--period", "minute", "--end", "--by", "ann", ...at]);
  await run(["budgets", "raise", "/team", "--daily", "50", ...because]);
  const asked = calls.filter(({ op }) => op.endsWith("raise"));
  const why = { for_seconds: 7200, reason: "launch day", by: "ann" };
  const key = { scope: "user_path", subject: "/team", limit_key: { period_seconds: 60 } };
  t.same(
    asked.map(({ op, body }) => [op, body]),
    [
      ["rate-limits.raise", { ...key, max_requests: 200, ...why }],
      ["rate-limits.raise", { ...key, subject: "/team/app", max_requests: 200, ...why }],
      ["rate-limits.end-raise", { ...key, by: "ann" }],
      [
        "budgets.raise",
        {
          scope: "user_path",
          subject: "/team",
          budget_key: { period: "daily" },
          amount: 50,
          ...why,
        },
      ],
    ],
  );
});

t.test("what is missing is named, and nothing is asked", async (t) => {
  const { socket, calls } = await startFakeDaemon(t);
  for (const [flags, message] of [
    [["--rpm", "5", "--reason", "x"], "--for must be a length of time such as 2h"],
    [["--rpm", "5", "--reason", "x", "--for", "32d"], "at most 31d"],
    [["--rpm", "5", "--for", "2h"], "--reason is required: why the limit is raised"],
    [["--for", "2h", "--reason", "x"], "nothing to set: give --period with"],
    [["--rpm", "no", "--for", "2h", "--reason", "x"], "--rpm must be an integer"],
    [["--end"], "--period or --period-seconds is required"],
  ] as const) {
    const { exitCode, err } = await run(["limits", "raise", "/team", ...flags, "--socket", socket]);
    t.equal(exitCode, 2, message);
    t.match(err, message);
  }
  t.same(calls, []);
});
