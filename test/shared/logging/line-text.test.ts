import t from "tap";
import { lineText } from "../../../shared/logging/line-text.js";

const time = "2025-06-01T12:00:18.123Z";

t.test("a warning is shown with its time, its process and its plain fields", async (t) => {
  const line = JSON.stringify({
    level: "warn",
    time,
    process: "limiterd",
    version: "0.1.0",
    store: "/a.mdb",
    rule: "user_path /team minute",
    nested: { a: 1 },
    msg: "rule can't be enforced",
  });
  t.equal(
    lineText("limiterd", line),
    '12:00:18 warn limiterd rule can\'t be enforced store=/a.mdb rule="user_path /team minute"',
  );
});

t.test("a request begins with what it was and what came of it", async (t) => {
  const line = JSON.stringify({
    level: "info",
    time,
    process: "proxy",
    request_id: "req_1",
    method: "POST",
    path: "/v1/messages",
    status: 200,
    outcome: "complete",
    ms: 12.3,
    user_path: "/team a",
    msg: "request",
  });
  t.equal(
    lineText("proxy", line, "info"),
    '12:00:18 info proxy POST /v1/messages 200 12.3ms request_id=req_1 outcome=complete user_path="/team a"',
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
  t.equal(lineText("proxy", line), "12:00:18 error proxy the stop failed (disk full)");
});

t.test("lines below the least level are left out", async (t) => {
  for (const level of ["trace", "debug", "info"])
    t.equal(lineText("proxy", JSON.stringify({ level, time, msg: "x" })), null);
  t.ok(lineText("proxy", JSON.stringify({ level: "debug", time, msg: "x" }), "trace"));
});

t.test("what isn't a log line of Sluice is shown, with the service's name", async (t) => {
  for (const line of ["plain text", '{"level":"info","ti', "{}", "[1]"])
    t.equal(lineText("proxy", line), `proxy: ${line}`);
});

t.test("a level that isn't known is shown rather than hidden", async (t) => {
  t.equal(
    lineText("proxy", JSON.stringify({ level: 35, time, msg: "odd" })),
    "12:00:18 error proxy odd",
  );
});

t.test("what others have written stays one line and one field, and steers no terminal", (t) => {
  const hostile = "a b=c\n12:00:19 fatal proxy\r\u001b]0;t\u0007\u009b31m\u202e";
  for (const fields of [
    { msg: hostile },
    { msg: "request", method: "GET", path: hostile, status: 404, ms: 1 },
    { msg: "x", model: hostile },
    { msg: "x", err: { message: hostile } },
    { msg: "x", process: hostile },
  ]) {
    const text = lineText("proxy", JSON.stringify({ level: "warn", time, ...fields }));
    t.notMatch(text, /[\u0000-\u001f\u007f-\u009f\u202e]/, JSON.stringify(fields));
  }
  t.notMatch(lineText("proxy", `plain\u001b[31m\nline`), /[\u0000-\u001f]/);
  const forged = JSON.stringify({ level: "warn", time, msg: "x", model: 'm status=200 "' });
  t.ok(lineText("proxy", forged)?.endsWith('model="m status=200 \\""'));
  t.end();
});
