import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { until } from "../../support/client.js";
import {
  listenForPresence,
  runProgram,
  scriptPath,
  startProgram,
  temporaryDirectory,
} from "../program-run.js";

const script = scriptPath("supervisor/fake-service.js");
const messages = (lines: readonly string[]): unknown =>
  lines.map((line) => (JSON.parse(line) as { msg: string }).msg);

t.test("a service runs until a signal, stops and ends with 0", async (t) => {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    const service = startProgram(t, script, ["limiterd"]);
    await service.line(/"serves"/);
    service.child.kill(signal);
    t.same(await service.ended, { code: 0, signal: null }, signal);
    t.same(messages(service.out), ["started", "serves", "stopping", "stops"]);
    t.same(service.err, []);
  }
});

t.test("a service logs only what its supervisor prints", async (t) => {
  for (const [env, logged] of [
    [{ SLUICE_LOG_PRINTED: "warn" }, ["serves", "stops"]],
    [{ SLUICE_LOG_PRINTED: "trace", LOG_LEVEL: "warn" }, ["serves", "stops"]],
    [{ SLUICE_LOG_PRINTED: "warn", LOG_LEVEL: "fatal" }, []],
    [{ SLUICE_LOG_PRINTED: "everything" }, ["started", "serves", "stopping", "stops"]],
  ] as const) {
    const { path, next } = await listenForPresence(t);
    const service = startProgram(t, script, ["limiterd"], {
      env: { ...env, FAKE_PRESENCE: path },
    });
    await next("limiterd");
    service.child.kill("SIGTERM");
    t.same(await service.ended, { code: 0, signal: null });
    t.same(messages(service.out), logged, JSON.stringify(env));
  }
});

t.test("a signal during the start takes effect after the start", async (t) => {
  const { path, next } = await listenForPresence(t);
  const service = startProgram(t, script, ["limiterd"], { env: { FAKE_PRESENCE: path } });
  await next("limiterd");
  service.child.kill("SIGTERM");
  t.same(await service.ended, { code: 0, signal: null });
});

t.test("a second signal ends it immediately", async (t) => {
  const service = startProgram(t, script, ["proxy"], { env: { FAKE_PROXY: "stubborn" } });
  await service.line(/"serves"/);
  service.child.kill("SIGTERM");
  await service.line(/"stops"/);
  service.child.kill("SIGTERM");
  t.same(await service.ended, { code: 130, signal: null });
});

t.test("a stop that takes longer than the drain and its grace ends it with 70", async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, "sluice.yaml"), "server: { drain_seconds: 0 }\n");
  const service = startProgram(t, script, ["proxy"], {
    env: { FAKE_PROXY: "stubborn" },
    cwd: directory,
  });
  await service.line(/"serves"/);
  service.child.kill("SIGTERM");
  t.same(await service.ended, { code: 70, signal: null });
  t.match(service.out.at(-1), /"fatal".*"the stop took too long"/);
});

t.test(
  "a parent with an IPC channel gets a message when it is ready, and the parent's end is a stop",
  async (t) => {
    const { path, next } = await listenForPresence(t);
    const service = startProgram(t, script, ["proxy"], { env: { FAKE_PRESENCE: path }, ipc: true });
    const ready = await new Promise((resolve) => service.child.once("message", resolve));
    t.same(ready, { ready: "http://proxy.test", open: true });
    const { gone } = await next("proxy");
    service.child.disconnect();
    await gone;
    t.same(await service.ended, { code: 0, signal: null });
    t.match(
      service.out.find((line) => line.includes("stopping")),
      /"reason":"the parent process is gone"/,
    );
  },
);

t.test("an error at the start is one line, with an exit code for each kind", async (t) => {
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

t.test("an uncaught error is logged completely before it ends with 70", async (t) => {
  for (const scenario of ["mistake", "rejection"]) {
    const { exitCode, out } = await runProgram(t, script, ["limiterd"], {
      env: { FAKE_LIMITERD: scenario },
    });
    t.equal(exitCode, 70, scenario);
    // What was being written at that moment may come behind it.
    const lines = out.split("\n").map((line) => JSON.parse(line));
    t.match(
      lines.find(({ level }) => level === "fatal"),
      { err: { message: "planted", stack: /fake-service/ } },
    );
  }
});

t.test("an uncaught error that the service survives is logged, and it serves on", async (t) => {
  const service = startProgram(t, script, ["proxy"], { env: { FAKE_PROXY: "survivor" } });
  const logged = () => service.out.filter((line) => line.includes("outside any request"));
  await until(
    async () => logged().length,
    (count) => count === 2,
  );
  service.child.kill("SIGTERM");
  t.same(await service.ended, { code: 0, signal: null });
  for (const line of logged())
    t.match(JSON.parse(line), { level: "error", err: { message: "planted" } });
});

t.test(
  "a wrong configuration is printed line by line with its file, and ends with 78",
  async (t) => {
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
    for (const line of lines) t.match(line.slice(file.length), /^:\d+:\d+: \S/, line);
  },
);

t.test("the services accept only their own flags, and end with 2 on any other", async (t) => {
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
