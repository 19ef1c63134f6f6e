/**
 * Backups of a running daemon, restores under living proxies, and the drill of docs/backup.md, each
 * of whose commands is run here as it stands there.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { connectDaemon } from "../../../shared/wire/daemon-client.js";
import { run } from "../../bin/command-session.js";
import { agesSeconds } from "../../support/ages.js";
import { chat, ruleNow, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite, type Part } from "../../support/processes/processes.js";
import { programPath } from "../../support/processes/program-path.js";
import {
  replyCompletion,
  startScriptedUpstream,
} from "../../support/providers/scripted-upstream.js";

const upstream = await startScriptedUpstream();
t.teardown(() => upstream.close());
/** The answers that are held back. */
const held: (() => void)[] = [];
upstream.answer = (call) => {
  const answer = (): void => void replyCompletion(call, 10);
  if (String(call.body).includes("held")) held.push(answer);
  else answer();
};
const site = makeSite(
  t,
  `providers: { test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] } }
limiter: { deadline_ms: 30000 }
rate_limits: { user_paths: [ { path: /team, limits: [ { period_seconds: ${agesSeconds}, max_requests: 5000, max_tokens: 100000 } ] } ] }
`,
);
const directory = join(site.directory, "backups");
mkdirSync(directory);
const backup = join(directory, "limiterd.mdb");
const dataDir = join(site.directory, "data");
let daemon: Part = await site.startDaemon();
const proxy = await site.startProxy();
const env = {
  SLUICE_CONFIG: site.configFile,
  SLUICE_SOCKET: site.socket,
  SLUICE_DATA_DIR: dataDir,
};
const sluice = (...argv: string[]): ReturnType<typeof run> => run(argv, { env });
const request = async (content = "hi"): Promise<number> => {
  const response = await chat(proxy.ready, { path: "/team", content });
  await response.text();
  return response.status;
};
const used = async (): Promise<readonly number[]> => {
  const rule = await ruleNow(proxy.ready, "/team", agesSeconds);
  return [rule.requests_used, rule.tokens_used];
};

t.test("of the backups in a directory the last ones are kept", async (t) => {
  const kept = join(site.directory, "kept");
  mkdirSync(kept);
  const old = ["limiterd-20260101T000000Z.mdb", "limiterd-20260102T000000Z.mdb"];
  for (const name of [...old, "mine.mdb"]) writeFileSync(join(kept, name), "");
  for (const [args, said] of [
    [["--keep", "0"], /--keep must be a number from 1 to 10000, not "0"/],
    [["--keep", "x"], /--keep must be a number from 1 to 10000, not "x"/],
    [["--keep", "2", "--no-verify"], /leave out --no-verify/],
  ] as const)
    t.match(await sluice("backup", kept, ...args), { exitCode: 2, err: said });
  t.match(await sluice("backup", join(kept, "no"), "--keep", "2"), {
    exitCode: 1,
    err: /kept\/no/,
  });
  t.equal(readdirSync(kept).length, 3, "what fails removes nothing");
  const { exitCode, out } = await sluice("backup", kept, "--keep", "2");
  t.equal(exitCode, 0);
  t.match(out, `removed: ${join(kept, old[0]!)}`);
  const [made, ...others] = readdirSync(kept).filter((name) => !`${old} mine.mdb`.includes(name));
  t.match(made, /^limiterd-\d{8}T\d{6}Z\.mdb$/);
  t.same(others, []);
  t.same(readdirSync(kept).sort(), [old[1], made, "mine.mdb"].sort());
  t.match(await sluice("verify-store", join(kept, made!)), { exitCode: 0 });
});

t.test("requests go on during backups, one of which exists at a time", async (t) => {
  for (let n = 0; n < 3; n++) t.equal(await request(), 200);
  const client = await connectDaemon({ socketPath: site.socket });
  const ready = (body: unknown): boolean => (body as { ready: boolean }).ready;
  for (;;) {
    const answer = await client.call("backup", null);
    t.ok(answer.ok);
    if (answer.ok && ready(answer.body)) break;
  }
  t.equal(await request(), 200);
  const second = await sluice("backup", backup);
  t.equal(second.exitCode, 1);
  t.match(second.err, "error: another backup is being made: there is one at a time");
  client.close();
  t.same(readdirSync(directory), [], "a backup that fails leaves nothing");
  const third = await until(
    () => sluice("backup", backup, "--json"),
    ({ exitCode }) => exitCode === 0,
  );
  t.match(JSON.parse(third.out), { verified: true, rules: 1, records: 4, problems: { length: 0 } });
  const { last_backup_at: at } = JSON.parse((await sluice("status", "--json")).out).daemon.store;
  t.match(await (await fetch(`${proxy.ready}/health`)).json(), { limiter: { last_backup_at: at } });
  t.same(
    readdirSync(dataDir).filter((name) => name.includes("backup")),
    [],
    "its copy is gone with its connection",
  );
});

t.test("a restore wants the daemon stopped, and its proxies count on, once each", async (t) => {
  const running = request("held");
  await until(
    async () => held.length,
    (count) => count === 1,
  );
  t.equal(await request(), 200);
  t.same(await used(), [6, 50]);
  const early = await sluice("restore", backup, "--yes");
  t.equal(early.exitCode, 75);
  t.match(early.err, /^error: a daemon listens on .*: stop the daemon first$/);
  t.equal((await sluice("verify-store")).exitCode, 75);
  t.equal((await sluice("restore", backup)).exitCode, 2, "nobody is there to be asked");

  await daemon.kill("SIGTERM");
  t.match(await run(["restore", backup], { env, answer: "no" }), {
    exitCode: 1,
    err: /nothing was restored$/,
  });
  const restored = await run(["restore", backup], { env, answer: "y" });
  t.equal(restored.exitCode, 0, restored.err);
  t.match(restored.out, /records +4 from [^]*damage +none\nrestored: .*limiterd\.mdb\n/);
  const names = readdirSync(dataDir)
    .filter((name) => name !== "spool")
    .sort();
  t.match(
    names,
    exactly(["limiterd.mdb", /^limiterd\.mdb\.before-restore-\d{4}-/, "limiterd.mdb.mark"]),
  );
  t.match((await sluice("verify-store")).out, /damage +none/);

  daemon = await site.startDaemon();
  // Four of the backup; the one that runs was admitted after it.
  await until(used, ([requests]) => requests === 5);
  held.shift()!();
  t.equal(await running, 200);
  t.equal(await request(), 200);
  t.same(await used(), [6, 60]);
  await daemon.kill("SIGTERM");
  t.match((await sluice("verify-store")).out, /records +6 /);
  daemon = await site.startDaemon();
  t.same(await used(), [6, 60]);
});

t.test("what isn't whole is refused with what is wrong, and nothing changes", async (t) => {
  const torn = join(directory, "torn.mdb");
  writeFileSync(torn, readFileSync(backup).fill(0, 3 * 4096, 5 * 4096));
  const verified = await sluice("verify-store", torn);
  t.equal(verified.exitCode, 74);
  t.match(verified.err, /^error: .*torn\.mdb/);
  await daemon.kill("SIGTERM");
  const before = readFileSync(join(dataDir, "limiterd.mdb"));
  t.equal((await sluice("restore", torn, "--yes")).exitCode, 74);
  t.equal((await sluice("restore", site.configFile, "--yes")).exitCode, 74);
  t.match(await sluice("restore", join(directory, "none"), "--yes"), {
    exitCode: 74,
    err: /none can't be read: no such file or directory/,
  });
  const fresh = join(directory, "new", "data");
  t.match(await sluice("restore", torn, "--yes", "--data-dir", fresh), {
    exitCode: 74,
    err: /^error: \S*torn\.mdb (?!.*restored)/,
  });
  t.notOk(existsSync(join(directory, "new")), "no directory is left either");
  t.ok(readFileSync(join(dataDir, "limiterd.mdb")).equals(before));
  t.same(
    readdirSync(dataDir).filter((name) => name.includes("restored") || name === "limiterd.lock"),
    [],
  );
  daemon = await site.startDaemon();
  t.equal(await request(), 200);
});

/** What `systemctl stop` and `systemctl start` do, for the programs of the drill. */
async function serveSystemctl(path: string): Promise<net.Server> {
  const server = net.createServer((socket) => {
    socket.once("data", (verb) => {
      const work = async (): Promise<void> => {
        if (verb.toString() === "stop") await daemon.kill("SIGTERM");
        else daemon = await site.startDaemon();
      };
      work().then(
        () => socket.end(),
        (error: unknown) => socket.destroy(error as Error),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return server;
}

t.test("every command of the drill does what the page says", async (t) => {
  const page = readFileSync(new URL("../../../../docs/backup.md", import.meta.url), "utf8");
  const drill = page.split(/^## /m).find((part) => part.startsWith("A drill\n"))!;
  const blocks = [...drill.matchAll(/```sh\n([^]*?)```/g)].map(([, block]) => block!);
  t.equal(blocks.length, 3);
  const programs = join(site.directory, "bin");
  mkdirSync(programs);
  const program = (name: string, text: string): void =>
    writeFileSync(join(programs, name), text, { mode: 0o755 });
  for (const name of ["sluice", "sluice-limiterd"] as const)
    program(name, `#!/bin/sh\nexec "${process.execPath}" "${programPath(name)}" "$@"\n`);
  const control = join(site.directory, "systemctl.sock");
  const server = await serveSystemctl(control);
  t.teardown(() => void server.close());
  program(
    "systemctl",
    `#!${process.execPath}
const socket = require("node:net").connect("${control}", () => socket.write(process.argv[2]));
socket.on("error", () => process.exit(1)).resume();
`,
  );
  const outputs: string[] = [];
  for (const block of blocks) {
    const script = block
      .replaceAll("/var/backups/sluice", directory)
      .replaceAll("/var/tmp/drill", join(site.directory, "drill"));
    const { stdout } = await promisify(execFile)("bash", ["-e", "-c", script], {
      env: { PATH: `${programs}:${process.env["PATH"]}`, ...env },
      maxBuffer: 1 << 24,
    });
    outputs.push(stdout);
  }
  t.match(outputs[0], /backup: .*, verified\n[^]*damage +none\n[^]*damage +none/);
  t.match(outputs[1], /restored: .*drill\/limiterd\.mdb\n[^]*user_path +\/team +\d+s/);
  t.match(outputs[2], /restored: .*data\/limiterd\.mdb\nthe store from before is [^]*\/team/);
  t.equal(await request(), 200);
});
