import t from "tap";
import { renderServiceLogLine } from "../../../bin/supervisor/service-log-line.js";

const time = "2025-06-01T12:00:18.123Z";

t.test("a warning is shown with its time, its process and its plain fields", async (t) => {
  const line = JSON.stringify({
    level: "warn",
    time,
    process: "limiterd",
    version: "0.1.0",
    rule: "user_path /team minute",
    nested: { a: 1 },
    msg: "rule can't be enforced",
  });
  t.equal(
    renderServiceLogLine("limiterd", line),
    "12:00:18 warn limiterd rule can't be enforced rule=user_path /team minute",
  );
});

t.test("an error shows the message of its cause", async (t) => {
  const line = JSON.stringify({
    level: "error",
    time,
    process: "proxy",
    err: { type: "Error", message: "disk full", stack: "…" },
    msg: "the stop failed",
  });
  t.equal(renderServiceLogLine("proxy", line), "12:00:18 error proxy the stop failed (disk full)");
});

t.test("lines below warn are left out", async (t) => {
  for (const level of ["trace", "debug", "info"])
    t.equal(renderServiceLogLine("proxy", JSON.stringify({ level, time, msg: "x" })), null);
});

t.test(
  "a line that isn't a log line of Sluice is shown unchanged, with the service's name",
  async (t) => {
    for (const line of ["plain text", '{"level":"info","ti', "{}", "[1]"])
      t.equal(renderServiceLogLine("proxy", line), `proxy: ${line}`);
  },
);

t.test("a level that isn't known is shown rather than hidden", async (t) => {
  t.equal(
    renderServiceLogLine("proxy", JSON.stringify({ level: 35, time, msg: "odd" })),
    "12:00:18 error proxy odd",
  );
});
