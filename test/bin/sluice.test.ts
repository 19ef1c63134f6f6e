import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t from "tap";
import { exitCodeMeanings } from "../../bin/session/exit-code.js";
import { configSchema } from "../../shared/config/config-schema.js";
import { version } from "../../shared/version.js";
import { exactly } from "../support/patterns/exactly.js";
import { programPath } from "../support/processes/program-path.js";
import { run } from "./command-session.js";
import { startFakeDaemon } from "./fake-daemon.js";
import { runProgram, startProgram, temporaryDirectory } from "./program-run.js";

const script = programPath("sluice");
const otherUser = 65_534;

t.test(
  "the version and the help are printed, and the exit codes where they are asked for",
  async (t) => {
    t.same(await runProgram(t, script, ["--version"]), { exitCode: 0, out: version, err: "" });
    const help = await runProgram(t, script, ["--help"]);
    t.match(help, { exitCode: 0, out: /^Examples:[^]*\nUsage: sluice /, err: "" });
    const codes = await runProgram(t, script, ["exit-codes"]);
    for (const { code, meaning } of exitCodeMeanings)
      t.match(codes.out, new RegExp(`^ +${code} +${meaning}$`, "m"));
    t.match(await runProgram(t, script, ["limits", "set", "--help"]), {
      exitCode: 0,
      out: /--rpm <n>[^]*--config <file>/,
    });
  },
);

t.test("in a directory that is gone every command still says what it has to say", async (t) => {
  const gone = `${temporaryDirectory(t)}/gone`;
  const shell = 'mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@"';
  for (const [program, args, exitCode, said] of [
    [script, ["status", "--socket", "/nowhere.sock"], 69, /^error: no daemon listens on/m],
    [script, ["--help"], 0, /Usage: sluice/],
    [script, ["config", "check"], 0, /./],
    [programPath("sluice-limiterd"), ["--config", "x.yaml"], 78, /gone \(deleted\)\/x\.yaml/],
    [programPath("sluice-proxy"), ["--config", "x.yaml"], 78, /gone \(deleted\)\/x\.yaml/],
  ] as const) {
    const { status, stdout, stderr } = spawnSync(
      "sh",
      ["-c", shell, gone, process.execPath, program, ...args],
      { encoding: "utf8", env: { PATH: process.env["PATH"] } },
    );
    t.equal(status, exitCode, `${args.join(" ")}: ${stdout}${stderr}`);
    t.match(stdout + stderr, said);
    t.notMatch(stdout + stderr, /^ {4}at /m, "without a stack");
  }
});

t.test("a command talks to the daemon of its socket and leaves with its exit code", async (t) => {
  const { socket } = await startFakeDaemon(t);
  t.match(
    await runProgram(t, script, ["limits", "set", "/team", "--rpm", "5", "--socket", socket]),
    { exitCode: 0, out: /\/team +minute +0\/5/, err: "" },
  );
  t.match(
    await runProgram(t, script, [
      "limits",
      "delete",
      "/nobody",
      "--period",
      "day",
      "--socket",
      socket,
    ]),
    { exitCode: 3, out: "", err: /^error: / },
  );
  t.match(await runProgram(t, script, ["limits", "list", "--socket", "/nowhere.sock"]), {
    exitCode: 69,
    err: "error: no daemon listens on /nowhere.sock: start it with `sluice up`",
  });
});

t.test("without a flag the socket is that of the configuration", async (t) => {
  const { socket, directory } = await startFakeDaemon(t);
  writeFileSync(join(directory, "sluice.yaml"), `limiter: { socket: ${socket} }\n`);
  t.match(await runProgram(t, script, ["limits", "list"], { cwd: directory }), {
    exitCode: 0,
    out: "no rules",
  });
  t.match(await runProgram(t, script, ["limits", "list"], { env: { SLUICE_SOCKET: socket } }), {
    exitCode: 0,
    out: "no rules",
  });
});

t.test("with --socket a broken configuration is no obstacle", async (t) => {
  const { socket, directory } = await startFakeDaemon(t);
  writeFileSync(join(directory, "sluice.yaml"), "nonsense: 1\n");
  t.match(await runProgram(t, script, ["limits", "list", "--socket", socket], { cwd: directory }), {
    exitCode: 0,
  });
  t.match(await runProgram(t, script, ["limits", "list"], { cwd: directory }), {
    exitCode: 78,
    out: "",
    err: /sluice\.yaml:1:1: nonsense/,
  });
});

t.test("a socket of another user ends with 69 and reports that permission is denied", async (t) => {
  const { socket, directory } = await startFakeDaemon(t);
  const isRoot = process.getuid?.() === 0;
  chmodSync(directory, isRoot ? 0o700 : 0o000);
  const refused = await runProgram(
    t,
    script,
    ["limits", "list", "--socket", socket],
    isRoot ? { uid: otherUser } : {},
  );
  chmodSync(directory, 0o700);
  t.match(refused, { exitCode: 69, out: "", err: `error: permission denied on ${socket}: ` });
});

t.test("a reader that leaves early is no error", async (t) => {
  const daemon = await startFakeDaemon(t);
  for (let index = 0; index < 50; index++)
    await run(["limits", "set", `/team-${index}`, "--rpm", "1", "--socket", daemon.socket]);
  const program = startProgram(t, script, ["limits", "list", "--socket", daemon.socket]);
  program.child.stdout!.destroy();
  t.same(await program.ended, { code: 0, signal: null });
  t.same(program.err, []);
});

t.test("config check prints a summary of the configuration", async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(
    join(directory, "sluice.yaml"),
    "server: { port: 8181, admin: { port: 8182 } }\nrate_limits: { user_paths: [{ path: /a, limits: [{ period: minute, max_requests: 1 }] }] }\n",
  );
  const { exitCode, out, err } = await run(["config", "check"], { cwd: directory });
  t.same({ exitCode, err }, { exitCode: 0, err: "" });
  const lines = out.split("\n");
  t.equal(lines[0], `ok: ${join(directory, "sluice.yaml")}`);
  for (const line of [
    /^ {2}address +http:\/\/127\.0\.0\.1:8181$/,
    /^ {2}admin address +http:\/\/127\.0\.0\.1:8182$/,
    /^ {2}providers +simulator$/,
    /^ {2}rules +1$/,
    /^ {2}master key +no$/,
  ])
    t.ok(
      lines.some((text) => line.test(text)),
      String(line),
    );
  const json = await run(["config", "check", "--json"], { cwd: directory });
  t.match(
    JSON.parse(json.out),
    exactly({
      ok: true,
      file: join(directory, "sluice.yaml"),
      address: "http://127.0.0.1:8181",
      providers: ["simulator"],
      rules: 1,
      warnings: { length: 0 },
    }),
  );
  t.match(await run(["config", "check"], { cwd: "/" }), {
    exitCode: 0,
    out: /^ok: built-in default/,
  });
});

t.test("config schema prints the schema of the file, whatever the file is like", async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, "sluice.yaml"), "server: { prot: 1 }\n");
  const { exitCode, out, err } = await run(["config", "schema"], { cwd: directory });
  t.same({ exitCode, err }, { exitCode: 0, err: "" });
  t.same(JSON.parse(out), configSchema());
});

t.test(
  "config check lists every problem on a line with the file's name, and warnings of a good one",
  async (t) => {
    const directory = temporaryDirectory(t);
    const file = join(directory, "other.yaml");
    writeFileSync(file, "server: { port: 99999, prot: 1 }\n");
    const { exitCode, out, err } = await run(["config", "check", "--config", file]);
    t.same({ exitCode, out }, { exitCode: 78, out: "" });
    t.equal(err.split("\n").length, 2, err);
    for (const line of err.split("\n")) t.match(line.slice(file.length), /^:1:\d+: \S/, line);
    const json = await run(["config", "check", "--json", "--config", file]);
    t.match(
      JSON.parse(json.err),
      exactly({
        error: { type: "invalid_request_error", code: null, file, problems: [String, String] },
      }),
    );
    t.match(await run(["config", "check", "--config", join(directory, "missing.yaml")]), {
      exitCode: 78,
      err: /missing\.yaml/,
    });
    t.match(await run(["config", "check"], { env: { SLUICE_PORTT: "1" } }), {
      exitCode: 0,
      err: /^warning: SLUICE_PORTT is ignored/,
    });
    writeFileSync(
      file,
      "rate_limits: { models: [{ model: gpt-4o, limits: [{ period: minute, max_requests: 1 }] }] }\n",
    );
    t.match(await run(["config", "check", "--config", file]), {
      exitCode: 0,
      err: /^warning: inert rule: model gpt-4o minute: no configured provider lists this model/,
    });
    writeFileSync(
      file,
      "server: { host: 127.0.0.1 }\njwt: [{ issuer: a, audience: x, jwks_file: keys.json, user_path: p }]\n",
    );
    t.match(await run(["config", "check", "--config", file], { cwd: directory }), {
      exitCode: 0,
      err: /^warning: the jwks_file of the issuer a can't be read, and its tokens get 503 until it can: no such file or directory: .*keys\.json$/,
    });
    writeFileSync(join(directory, "keys.json"), '{"keys":[]}');
    t.match(await run(["config", "check", "--config", file], { cwd: directory }), {
      exitCode: 0,
      err: "",
    });
    t.match(await run(["up", "--host", "", "--port", "x"]), {
      exitCode: 2,
      err: /^error: --host must be a host name.*\nerror: --port must be an integer from 0 to 65535, not "x"$/,
    });
    t.match(await run(["config", "check"], { env: { HOST: "0.0.0.0" } }), {
      exitCode: 0,
      err: /^warning: the proxy starts only if the daemon has a managed key, which this command doesn't check: server\.host 0\.0\.0\.0 is not loopback and no master key is set/,
    });
    t.match(
      await run(["config", "check"], {
        env: { HOST: "0.0.0.0", SLUICE_MASTER_KEY: "mk-3f1c9a7e5d2b8c40" },
      }),
      {
        exitCode: 0,
        err: "",
      },
    );
    t.match(await run(["config", "check"], { env: { PORT: "x" } }), {
      exitCode: 78,
      err: /^environment: PORT/,
    });
  },
);

/** Listens on a free port and answers every request alike; null is silence. */
async function startHealth(
  t: { teardown(end: () => void): void },
  body: string | null,
): Promise<number> {
  const server = http.createServer(
    (_request, response) => void (body === null ? undefined : response.end(body)),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

t.test("status shows the daemon and the proxy, and as JSON the answers of both", async (t) => {
  const { socket } = await startFakeDaemon(t);
  const PORT = String(
    await startHealth(t, JSON.stringify({ status: "ok", limiter: { reachable: true } })),
  );
  const argv = ["status", "--socket", socket];
  const { exitCode, out, err } = await run(argv, { env: { PORT } });
  t.same({ exitCode, err }, { exitCode: 0, err: "" });
  t.match(
    out,
    new RegExp(`^daemon  ${socket}\n  version +0\\.1\\.0\n  pid +42\n  uptime +3m 20s\n`),
  );
  t.match(
    out,
    new RegExp(
      `^proxy   http://127\\.0\\.0\\.1:${PORT}  answers 200\n  status +ok\n  limiter reachable +yes$`,
      "m",
    ),
  );
  const json = await run([...argv, "--json"], { env: { PORT } });
  t.match(JSON.parse(json.out), {
    daemon: { pid: 42, uptime_seconds: 200 },
    proxy: { reachable: true, status: 200, body: { status: "ok" } },
  });
});

t.test(
  "status without a proxy reports that and is no failure; without a daemon it ends with 69 and still shows the proxy",
  async (t) => {
    const { socket, directory } = await startFakeDaemon(t);
    t.match(await run(["status", "--socket", socket], { env: { PORT: "1" } }), {
      exitCode: 0,
      out: /^proxy {3}http:\/\/127\.0\.0\.1:1 {2}not reachable: nothing listens there$/m,
    });
    t.match(await run(["status", "--socket", socket], { env: { PORT: "0" } }), {
      exitCode: 0,
      out: /^proxy {3}unknown: its port is chosen when it starts$/m,
    });
    t.match(await run(["status", "--socket", socket], { env: { PORT: "x" } }), {
      exitCode: 0,
      out: /^proxy {3}unknown: the configuration is wrong/m,
    });
    const PORT = String(await startHealth(t, "not json"));
    const absent = join(directory, "absent.sock");
    t.match(await run(["status", "--socket", absent], { env: { PORT } }), {
      exitCode: 69,
      err: /^error: no daemon listens/,
      out: `daemon  ${absent}  not reachable\nproxy   http://127.0.0.1:${PORT}  answers 200`,
    });
    const json = await run(["status", "--socket", absent, "--json"], { env: { PORT } });
    t.equal(json.exitCode, 69);
    t.match(JSON.parse(json.out), {
      daemon: null,
      proxy: { reachable: true, status: 200, body: null },
    });
    t.match(JSON.parse(json.err), { error: { code: "limiter_unavailable" } });
  },
);

t.test("a proxy that is silent costs status a second, no more", async (t) => {
  const { socket } = await startFakeDaemon(t);
  const PORT = String(await startHealth(t, null));
  t.match(await run(["status", "--socket", socket], { env: { PORT } }), {
    exitCode: 0,
    out: /not reachable: no answer within 1000 ms$/,
  });
});
