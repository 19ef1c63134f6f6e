/**
 * The tour of the README on a system without Linux's `/proc`, with 256 open files at most, as on a
 * developer's Mac: what only Linux has is done without.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import t from "tap";
import { temporaryDirectory } from "../../bin/program-run.js";
import { agesSeconds } from "../../support/ages.js";
import { programPath } from "../../support/processes/program-path.js";

const hidden = 'mount -t tmpfs none /proc && ulimit -n 256 && exec "$0" "$@"';
const inside = (...args: readonly string[]): readonly string[] => [
  ...["--mount", "sh", "-c", hidden, process.execPath, programPath("sluice"), ...args],
];
const canHide =
  process.getuid?.() === 0 &&
  spawnSync("unshare", ["--mount", "sh", "-c", "mount -t tmpfs none /proc"]).status === 0;
const skip = canHide ? false : "only root can hide /proc";

t.test("start, ask, limit, kill, start again", { skip }, async (t) => {
  const directory = temporaryDirectory(t);
  const socket = ["--socket", join(directory, "l.sock")];
  const places = [...socket, "--data-dir", join(directory, "data")];
  const env = { PATH: process.env["PATH"] };
  const sluice = (...args: readonly string[]) =>
    spawnSync("unshare", inside(...args, ...socket), { env, cwd: directory, encoding: "utf8" });
  let said = "";
  const up = async (): Promise<{ readonly child: ChildProcess; readonly url: string }> => {
    const child = spawn("unshare", inside("up", "--port=0", ...places), { env, cwd: directory });
    t.teardown(() => child.kill("SIGKILL"));
    const url = await new Promise<string>((resolve, reject) => {
      child.once("exit", () => reject(new Error(said)));
      for (const stream of [child.stdout, child.stderr])
        createInterface({ input: stream! }).on("line", (line) => {
          said += `${line}\n`;
          const found = /^ready: +(\S+)/.exec(line)?.[1];
          if (found !== undefined) resolve(found);
        });
    });
    return { child, url };
  };
  const ask = async (url: string): Promise<number> => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "x-sluice-user-path": "/team/app" },
      body: '{"model":"sim-fast","messages":[{"role":"user","content":"Hello!"}]}',
    });
    await response.text();
    return response.status;
  };

  const first = await up();
  const set = sluice("limits", "set", "/team", `--period-seconds=${agesSeconds}`, "--requests=2");
  t.equal(set.status, 0, set.stdout + set.stderr);
  t.equal(await ask(first.url), 200);
  for (const path of ["metrics", "health", "dashboard/"])
    t.equal((await fetch(`${first.url}/${path}`)).status, 200, path);
  for (const command of [["limits", "list"], ["usage"], ["status"], ["doctor"]])
    t.match(sluice(...command), { status: 0 }, command.join(" "));

  const other = spawnSync("unshare", inside("up", "--port=0", ...places), {
    env,
    encoding: "utf8",
  });
  t.not(other.status, 0, "a second one on the same data");
  const ended = once(first.child, "exit");
  first.child.kill("SIGTERM");
  t.same(await ended, [0, null], said);

  const second = await up();
  t.equal(await ask(second.url), 200);
  t.equal(await ask(second.url), 429, "it remembers the first request");
  t.notMatch(said, /a bug in Sluice|"level":"error"/);
});
