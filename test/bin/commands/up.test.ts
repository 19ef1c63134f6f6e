import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { programPath } from "../../support/processes/program-path.js";
import type { Owner } from "../fake-daemon.js";
import {
  type Program,
  runProgram,
  startProgram,
  temporaryDirectory,
  whenReplaced,
} from "../program-run.js";

const script = programPath("sluice");

/** `sluice up` with the real services, on a free port and in a directory of its own. */
const startUp = (
  t: Owner,
  options: { readonly env?: Readonly<Record<string, string>>; readonly directory?: string } = {},
): {
  readonly up: Program;
  readonly socket: string;
  readonly directory: string;
  url(): Promise<string>;
} => {
  const directory = options.directory ?? temporaryDirectory(t);
  const socket = join(directory, "limiterd.sock");
  const up = startProgram(
    t,
    script,
    ["up", "--port", "0", "--socket", socket, "--data-dir", join(directory, "data")],
    { env: options.env ?? {}, cwd: directory },
  );
  return {
    up,
    socket,
    directory,
    url: async () => (await up.line(/^ready: /)).replace(/^ready: +/, ""),
  };
};

t.test(
  "up serves: the printed request is answered, rules hold, and Ctrl-C ends it cleanly",
  async (t) => {
    const { up, socket, url } = startUp(t, {
      env: { SLUICE_MASTER_KEY: "a-master-key-for-this-test" },
    });
    await url();
    const line = (await up.line(/^ +curl /)).trim();
    const answer = await promisify(execFile)(
      "/bin/sh",
      ["-c", `${line.replace("curl", "curl -sS")} -w '\\n%{http_code}'`],
      { env: { ...process.env, SLUICE_MASTER_KEY: "a-master-key-for-this-test" } },
    );
    t.match(answer.stdout, /"model"[^]*\n200$/);
    t.match(await runProgram(t, script, ["limits", "set", "/", "--rpd", "1", "--socket", socket]), {
      exitCode: 0,
    });
    t.match(await runProgram(t, script, ["status", "--socket", socket]), {
      exitCode: 0,
      out: /^ {2}rules +1$/m,
    });
    up.child.kill("SIGINT");
    t.same(await up.ended, { code: 130, signal: null });
    t.same(
      // Whether files are scarce is this machine's affair.
      up.err.filter((line) => !/server\.max_connections is lowered/.test(line)),
      ["stopping: waiting for requests in flight; a second signal ends them"],
    );
    t.match(await runProgram(t, script, ["status", "--socket", socket]), { exitCode: 69 });
  },
);

t.test("rules and counters that were there before a restart are there after it", async (t) => {
  const directory = temporaryDirectory(t);
  for (const life of [1, 2]) {
    const { up, socket, url } = startUp(t, { directory });
    const address = await url();
    if (life === 1)
      await runProgram(t, script, ["limits", "set", "/", "--rpd", "9", "--socket", socket]);
    const response = await fetch(`${address}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "sim-fast", messages: [{ role: "user", content: "Hello!" }] }),
    });
    t.equal(response.status, 200);
    await response.arrayBuffer();
    t.match(await runProgram(t, script, ["limits", "list", "--socket", socket]), {
      out: new RegExp(`/ +day +${life}/9`),
    });
    up.child.kill("SIGTERM");
    t.same(await up.ended, { code: 0, signal: null });
  }
});

t.test("Ctrl-C before anything is ready is a clean stop too", async (t) => {
  const { up } = startUp(t);
  await up.line(/^configuration: /);
  up.child.kill("SIGINT");
  t.same(await up.ended, { code: 130, signal: null });
  t.same(
    up.out.filter((line) => line.startsWith("ready")),
    [],
  );
});

t.test(
  "a second up on the same socket ends with 75 and the daemon's message; the first keeps running",
  async (t) => {
    const first = startUp(t);
    const address = await first.url();
    const second = startUp(t, { directory: first.directory });
    t.same(await second.up.ended, { code: 75, signal: null });
    t.match(second.up.err.at(0), /^limiterd: error: /);
    t.equal((await fetch(`${address}/health`)).status, 200);
    first.up.child.kill("SIGTERM");
    await first.up.ended;
  },
);

t.test("a port in use ends it with 1 and the reason", async (t) => {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => void server.close());
  const { port } = server.address() as net.AddressInfo;
  const directory = temporaryDirectory(t);
  const { exitCode, err } = await runProgram(
    t,
    script,
    [
      "up",
      `--port=${port}`,
      "--socket",
      join(directory, "s"),
      "--data-dir",
      join(directory, "data"),
    ],
    { cwd: directory },
  );
  t.equal(exitCode, 1);
  t.match(err, /^error: another program listens on 127\.0\.0\.1 port \d+: stop it, [^\n]*$/);
  t.same(readdirSync(directory), [], "nothing has started");
});

t.test("a wrong configuration is reported before anything is started", async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, "sluice.yaml"), "server: { prot: 1 }\n");
  t.match(await runProgram(t, script, ["up"], { cwd: directory }), {
    exitCode: 78,
    out: "",
    err: new RegExp(`^${directory}/sluice.yaml:1:11: [^\n]*prot[^\n]*$`),
  });
  t.same(readdirSync(directory), ["sluice.yaml"]);
  t.match(await runProgram(t, script, ["up", "--port", "x"], { cwd: directory }), {
    exitCode: 78,
    out: "",
    err: /sluice\.yaml:1:11: [^\n]*prot[^\n]*\nflags: --port must be an integer from 0 to 65535, not "x"$/,
  });
  t.match(await runProgram(t, script, ["up", "--port", "x"], { cwd: temporaryDirectory(t) }), {
    exitCode: 2,
    out: "",
    err: 'error: --port must be an integer from 0 to 65535, not "x"',
  });
});

t.test("when up is killed, the daemon it started ends and gives its socket back", async (t) => {
  const { up, socket, url } = startUp(t);
  await url();
  const connection = net.connect(socket);
  const gone = new Promise<void>((resolve) => connection.once("close", () => resolve()));
  await new Promise<void>((resolve) => connection.once("connect", resolve));
  up.child.kill("SIGKILL");
  await gone;
  t.same(await up.ended, { code: null, signal: "SIGKILL" });
});

t.test("--watch reloads a file behind links, and keeps the old one if it is wrong", async (t) => {
  const directory = temporaryDirectory(t);
  // As Kubernetes mounts a ConfigMap: the file is a link into a directory that is a link, too.
  const version = (name: string, text: string): void => {
    mkdirSync(join(directory, name));
    writeFileSync(join(directory, name, "sluice.yaml"), text);
    symlinkSync(name, join(directory, `${name}.link`));
    renameSync(join(directory, `${name}.link`), join(directory, "data-of-map"));
  };
  version("first", "server: { port: 0 }");
  symlinkSync("data-of-map/sluice.yaml", join(directory, "sluice.yaml"));
  const places = ["--socket", join(directory, "l.sock"), "--data-dir", join(directory, "data")];
  const up = startProgram(t, script, ["up", "--watch", ...places], { cwd: directory });
  const url = (await up.line(/^ready: /)).replace(/^ready: +/, "");
  version("wrong", "server: { port: none }");
  await up.line(/^the reload failed$/);
  const headers = { connection: "close" };
  t.equal((await fetch(`${url}/health`, { headers })).status, 200);
  version("second", "server: { port: 0, master_key: another }");
  await up.line(/^reloaded$/);
  await whenReplaced(up);
  t.equal((await fetch(`${url}/v1/models`, { headers })).status, 401);
});

t.test("--watch follows renames", async (t) => {
  const directory = temporaryDirectory(t);
  const file = join(directory, "sluice.yaml");
  const closed = (key: string): string => `server: { port: 0, master_key: ${key} }\n`;
  writeFileSync(file, closed("first"));
  const places = ["--socket", join(directory, "l.sock"), "--data-dir", join(directory, "data")];
  const up = startProgram(t, script, ["up", "--watch", ...places], { cwd: directory });
  const url = (await up.line(/^ready: /)).replace(/^ready: +/, "");
  // As editors save: the old file gets another name, then the new one its name.
  renameSync(file, `${file}~`);
  writeFileSync(join(directory, "new"), closed("second"));
  renameSync(join(directory, "new"), file);
  await up.line(/^reloaded$/);
  await whenReplaced(up);
  const headers = { connection: "close", authorization: "Bearer second" };
  t.equal((await fetch(`${url}/v1/models`, { headers })).status, 200);
  t.equal(up.err.filter((line) => line === "reloaded").length, 1);
});
