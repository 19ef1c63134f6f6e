import { fork } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import net from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import {
  findBoundPath,
  requireInheritedListener,
} from "../../../shared/socket/inherited-listener.js";
import { SocketUntrustedError } from "../../../shared/socket/socket-place.js";
import { dialling, temporary } from "./socket-ends.js";

/** A server as a supervisor has it, with its descriptor. */
async function held(t: Test, path: string): Promise<{ server: net.Server; fd: number }> {
  const server = net.createServer();
  server.listen(path);
  await once(server, "listening");
  t.teardown(() => void server.close());
  const table = readFileSync("/proc/net/unix", "utf8");
  const fd = readdirSync("/proc/self/fd").find((fd) => findBoundPath(table, inodeOf(fd)) === path);
  return { server, fd: Number(fd) };
}

function inodeOf(fd: string): string {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1] ?? "none";
  } catch {
    // The directory's own, by which it was read.
    return "none";
  }
}

t.test("the place of a socket is found in the system's table, spaces and all", async (t) => {
  const table = [
    "Num       RefCount Protocol Flags    Type St Inode Path",
    "0000000000000000: 00000002 00000000 00010000 0001 01 37114 /run/a b/limiterd.sock",
    "0000000000000000: 00000003 00000000 00000000 0001 03 71140",
    "0000000000000000: 00000002 00000000 00010000 0001 01 711 @abstract",
  ].join("\n");
  t.equal(findBoundPath(table, "37114"), "/run/a b/limiterd.sock");
  t.equal(findBoundPath(table, "711"), "@abstract");
  for (const inode of ["71140", "3711", "1"]) t.equal(findBoundPath(table, inode), null, inode);
});

t.test(
  "a socket at the configured place is taken if it is as shut as one of the daemon's",
  async (t) => {
    const directory = temporary(t);
    mkdirSync(join(directory, "run"));
    symlinkSync(join(directory, "run"), join(directory, "var-run"));
    const path = join(directory, "run", "limiterd.sock");
    const { fd } = await held(t, path);
    const check = (mode: number, at = path) => requireInheritedListener(at, fd, mode);
    const table = [
      [0o600, 0o600, true],
      [0o660, 0o660, true],
      [0o600, 0o660, true],
      [0o660, 0o600, false],
      [0o666, 0o660, false],
      [0o644, 0o600, false],
    ] as const;
    for (const [found, allowed, taken] of table) {
      chmodSync(path, found);
      const what = `${found.toString(8)} where ${allowed.toString(8)} is allowed`;
      if (taken) t.doesNotThrow(() => check(allowed), what);
      else
        t.throws(
          () => check(allowed),
          {
            name: "InheritedSocketsError",
            message: /the mode 0\d{3}, which must be 06[06]0 or less: set SocketMode=/,
          },
          what,
        );
    }
    chmodSync(path, 0o600);
    t.doesNotThrow(() => check(0o600, join(directory, "var-run", "limiterd.sock")), "by a link");
    t.throws(() => check(0o600, join(directory, "other.sock")), {
      name: "InheritedSocketsError",
      message: `listens on ${path}, and the configuration says ${directory}/other.sock`,
    });
    chmodSync(join(directory, "run"), 0o777);
    t.throws(() => check(0o600), SocketUntrustedError, "anyone may exchange it");
    chmodSync(join(directory, "run"), 0o755);
    unlinkSync(path);
    t.throws(() => check(0o600), { name: "InheritedSocketsError", message: /nothing is any more/ });
  },
);

t.test(
  "a daemon listens on a descriptor, leaves its mode, and leaves the socket when it ends",
  async (t) => {
    const path = join(temporary(t), "limiterd.sock");
    const { server, fd } = await held(t, path);
    chmodSync(path, 0o600);
    const child = fork(
      new URL("../../support/processes/socket-end.js", import.meta.url),
      [path, "listen", "3"],
      { silent: true, execArgv: [], stdio: ["ignore", "pipe", "pipe", fd, "ipc"] },
    );
    t.teardown(() => void child.kill("SIGKILL"));
    // Node removes the socket that it has bound when it closes it; systemd doesn't.
    linkSync(path, `${path}.kept`);
    await new Promise((resolve) => server.close(resolve));
    renameSync(`${path}.kept`, path);
    await once(child, "message");
    const { ino, mode } = statSync(path);
    const other = dialling(t, path);
    await other.until(() => other.count("connect") === 1);
    child.send("close");
    await other.until(() => other.count("close 0") === 1);
    t.match(statSync(path), { ino, mode }, "the next daemon finds it as it was");
  },
);
