import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import {
  listenForPresence,
  runProgram,
  scriptPath,
  startProgram,
  temporaryDirectory,
} from "../program-run.js";

const script = scriptPath("supervisor/fake-part.js");
const messages = (lines: readonly string[]): unknown =>
  lines.map((line) => (JSON.parse(line) as { msg: string }).msg);

t.test("a part serves until a signal, stops and ends with 0", async (t) => {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    const part = startProgram(t, script, ["limiterd"]);
    await part.line(/"serves"/);
    part.child.kill(signal);
    t.same(await part.ended, { code: 0, signal: null }, signal);
    t.same(messages(part.out), ["started", "serves", "stopping", "stops"]);
    t.same(part.err, []);
  }
});

t.test("a signal that comes while it starts is obeyed once it has started", async (t) => {
  const { path, next } = await listenForPresence(t);
  const part = startProgram(t, script, ["limiterd"], { env: { FAKE_PRESENCE: path } });
  await next("limiterd");
  part.child.kill("SIGTERM");
  t.same(await part.ended, { code: 0, signal: null });
});

t.test("a second signal ends it at once", async (t) => {
  const part = startProgram(t, script, ["proxy"], { env: { FAKE_PROXY: "stubborn" } });
  await part.line(/"serves"/);
  part.child.kill("SIGTERM");
  await part.line(/"stops"/);
  part.child.kill("SIGTERM");
  t.same(await part.ended, { code: 130, signal: null });
});

t.test("a stop that takes longer than the drain and its grace ends it with 70", async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, "sluice.yaml"), "server: { drain_seconds: 0 }\n");
  const part = startProgram(t, script, ["proxy"], {
    env: { FAKE_PROXY: "stubborn" },
    cwd: directory,
  });
  await part.line(/"serves"/);
  part.child.kill("SIGTERM");
  t.same(await part.ended, { code: 70, signal: null });
  t.match(part.out.at(-1), /"fatal".*"the stop took too long"/);
});

t.test(
  "a parent with an IPC channel is told when it is ready, and its end is a stop",
  async (t) => {
    const { path, next } = await listenForPresence(t);
    const part = startProgram(t, script, ["proxy"], { env: { FAKE_PRESENCE: path }, ipc: true });
    const ready = await new Promise((resolve) => part.child.once("message", resolve));
    t.same(ready, { ready: "http://proxy.test", open: true });
    const { gone } = await next("proxy");
    part.child.disconnect();
    await gone;
    t.same(await part.ended, { code: 0, signal: null });
    t.match(
      part.out.find((line) => line.includes("stopping")),
      /"reason":"the parent process is gone"/,
    );
  },
);

t.test("what keeps it from starting is one line, and an exit code for each kind", async (t) => {
  const table = [
    { scenario: "taken", exitCode: 75, err: "error: another daemon listens on /run/fake.sock" },
    { scenario: "locked", exitCode: 75, err: "error: another daemon has the store" },
    { scenario: "unreadable", exitCode: 74, err: "error: the store can't be read" },
    { scenario: "fail", exitCode: 1, err: "error: the address is in use" },
  ];
  for (const { scenario, ...expected } of table)
    t.same(
      await runProgram(t, script, ["limiterd"], { env: { FAKE_LIMITERD: scenario } }),
      { ...expected, out: "" },
      scenario,
    );
});

t.test("a mistake that nobody caught is logged whole before it ends with 70", async (t) => {
  for (const scenario of ["mistake", "rejection"]) {
    const { exitCode, out } = await runProgram(t, script, ["limiterd"], {
      env: { FAKE_LIMITERD: scenario },
    });
    t.equal(exitCode, 70, scenario);
    t.match(JSON.parse(out.split("\n").at(-1)!), {
      level: "fatal",
      err: { message: "planted", stack: /fake-part/ },
    });
  }
});

t.test("a wrong configuration is told line by line with its file, and ends with 78", async (t) => {
  const directory = temporaryDirectory(t);
  const file = join(directory, "sluice.yaml");
  writeFileSync(
    file,
    "server: { port: 99999 }\nrate_limits: { user_paths: [{ path: /a, limits: [{ period: minute, max_requests: 0 }] }] }\n",
  );
  const { exitCode, out, err } = await runProgram(t, script, ["proxy", "--config", file]);
  t.same({ exitCode, out }, { exitCode: 78, out: "" });
  const lines = err.split("\n");
  t.equal(lines.length, 2, err);
  for (const line of lines) t.ok(line.startsWith(`${file}: `), line);
});

t.test("the parts take only their own flags, and end with 2 on any other", async (t) => {
  t.match(await runProgram(t, script, ["limiterd", "--port", "1"]), {
    exitCode: 2,
    out: "",
    err: /^error: unknown option '--port'/,
  });
  t.match(await runProgram(t, script, ["proxy", "--data-dir", "/x"]), {
    exitCode: 2,
    err: /^error: unknown option '--data-dir'/,
  });
  t.match(await runProgram(t, script, ["proxy", "--port", "x"]), {
    exitCode: 2,
    err: 'error: --port must be an integer from 0 to 65535, not "x"',
  });
  t.match(await runProgram(t, script, ["proxy", "--help"]), {
    exitCode: 0,
    out: /^Usage: sluice-proxy /,
    err: "",
  });
  t.match(await runProgram(t, script, ["proxy", "--version"]), {
    exitCode: 0,
    out: /^\d+\.\d+\.\d+$/,
  });
});
