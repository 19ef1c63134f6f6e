/**
 * Who can do what on the daemon's two sockets, with real processes of other users: the daemon's
 * user, a member of its group, a stranger; and a stranger who was at the socket's place first.
 */
import { type ChildProcess, execFile, fork } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { programPath } from "../../support/processes/program-path.js";

t.setTimeout(120_000);
t.jobs = 2;
const isRoot = process.getuid?.() === 0;
const skip = isRoot ? false : "only root can start processes of other users";

/** None of them is in /etc/passwd; the kernel doesn't mind. */
const users = {
  daemon: { uid: 61_001, gid: 61_001 },
  member: { uid: 61_002, gid: 61_001 },
  otherUser: { uid: 61_003, gid: 61_003 },
} as const;
type User = (typeof users)[keyof typeof users];

const compiled = (path: string): string =>
  fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/** A request for the simulator; its status. */
async function ask(url: string, headers: Record<string, string> = {}): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "x-sluice-user-path": "/team", ...headers },
    body: JSON.stringify({ model: "sim-fast", messages: [{ role: "user", content: "hi" }] }),
  });
  await response.text();
  return response.status;
}

/** The command line, as a user; its exit code and what it printed. */
function sluice(
  user: User,
  args: readonly string[],
): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [programPath("sluice"), ...args],
      { ...user, cwd: "/", env: { PATH: process.env["PATH"] } },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr }),
    );
  });
}

t.test("the group asks for requests, the daemon's user alone administers", { skip }, async (t) => {
  const site = makeSite(
    t,
    `server: { master_key: master-key-of-the-test }\nlimiter: { socket_group_access: true }\nrate_limits: { user_paths: [ { path: /team, limits: [ { period_seconds: ${agesSeconds}, max_requests: 2 } ] } ] }\n`,
  );
  for (const name of ["run", "data"]) {
    mkdirSync(join(site.directory, name), { mode: 0o750 });
    chownSync(join(site.directory, name), users.daemon.uid, users.daemon.gid);
  }
  chmodSync(site.directory, 0o755);
  await site.startDaemon(users.daemon);
  const { socket } = site;

  const limits = ["--socket", socket, "limits", "list"];
  const explain = ["--socket", socket, "explain", "--path", "/team", "--model", "sim-fast"];
  const issue = ["--socket", socket, "keys", "issue"];
  const table: readonly (readonly [User, readonly string[], number, RegExp])[] = [
    [users.daemon, limits, 0, /\/team/],
    [users.daemon, explain, 0, /admitted/i],
    [users.member, limits, 1, /only the daemon's user can open its socket for administration/],
    [users.member, issue, 1, /only the daemon's user can open its socket for administration/],
    [users.member, explain, 0, /admitted/i],
    [users.otherUser, limits, 69, /permission denied/],
    [users.otherUser, explain, 69, /permission denied/],
  ];
  await Promise.all(
    table.map(async ([user, args, code, said]) => {
      const done = await sluice(user, args);
      t.equal(done.code, code, `uid ${user.uid}: ${args.slice(2).join(" ")}: ${done.output}`);
      t.match(done.output, said);
    }),
  );

  const byMaster = { authorization: "Bearer master-key-of-the-test" };
  const [ofDaemon, ofMember] = await Promise.all([
    site.startProxy(socket, users.daemon),
    site.startProxy(socket, users.member),
  ]);
  for (const { ready: url } of [ofDaemon, ofMember])
    t.equal(await ask(url, byMaster), 200, "both ask for admissions");
  t.equal(await ask(ofMember.ready, byMaster), 429, "of one window");
  t.match(await admin(ofDaemon.ready, "GET /rate-limits", undefined, byMaster), { status: 200 });
  t.match(await admin(ofMember.ready, "GET /rate-limits", undefined, byMaster), {
    status: 403,
    body: { type: "permission_error", status_code: 403 },
  });
  t.equal((await admin(ofMember.ready, "POST /auth-keys", {}, byMaster)).status, 403);
  const usage = await fetch(`${ofMember.ready}/v1/usage`, { headers: byMaster });
  t.equal(usage.status, 200, "callers read their usage by the group's proxy");
});

t.test(
  "nothing is sent to a stranger who made the socket's directory first",
  { skip },
  async (t) => {
    const site = makeSite(t, "{}");
    chmodSync(site.directory, 0o1777);
    const directory = dirname(site.socket);
    const listener = await startOtherDaemon(site.socket);
    t.teardown(() => void listener.kill("SIGKILL"));
    // As a stranger would, who wants to be talked to.
    chmodSync(directory, 0o755);
    chmodSync(site.socket, 0o666);
    let heard = 0;
    listener.on("message", () => heard++);

    const done = await sluice(users.daemon, ["--socket", site.socket, "status"]);
    t.equal(done.code, 77, done.output);
    t.match(done.output, `${directory} belongs to another user (uid ${users.otherUser.uid})`);
    t.match(done.output, "nothing was sent");
    const proxy = await site.startProxy();
    await proxy.printed(/belongs to another user/);
    t.equal(await ask(proxy.ready), 503);
    await t.rejects(site.startDaemon(), /ended with 77 .*belongs to another user/s);
    t.equal(heard, 0, "not a byte");
  },
);

/** A stranger's process, which listens in a directory that it has made; it tells of each byte. */
async function startOtherDaemon(path: string): Promise<ChildProcess> {
  const child = fork(compiled("test/support/processes/socket-end.js"), [path, "listen"], {
    ...users.otherUser,
    cwd: "/",
    silent: true,
    execArgv: [],
  });
  await once(child, "message");
  return child;
}
