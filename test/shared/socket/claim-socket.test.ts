import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import { join } from "node:path";
import t from "tap";
import { claimSocket, SocketTakenError } from "../../../shared/socket/claim-socket.js";
import { listen } from "../../../shared/socket/ipc.js";
import { adminSocketBeside } from "../../../shared/socket/socket-place.js";
import { exactly } from "../../support/patterns/exactly.js";
import { dialling, listening, Observed, startEnd, temporary } from "./socket-ends.js";

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

/** Binds a socket and moves it away, so that closing it can't remove it. */
async function leaveStaleSocket(path: string): Promise<void> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(`${path}.live`, resolve));
  linkSync(`${path}.live`, path);
  await new Promise((resolve) => server.close(resolve));
}

t.test(
  "socket and directory are the owner's alone, or the group's too where that is set, whatever the umask",
  async (t) => {
    const before = process.umask();
    t.teardown(() => void process.umask(before));
    for (const umask of [0o022, 0o000, 0o077]) {
      for (const { allowsGroup, socket, directory } of [
        { allowsGroup: false, socket: "600", directory: "700" },
        { allowsGroup: true, socket: "660", directory: "750" },
      ]) {
        const path = join(temporary(t), "run", "limiterd.sock");
        process.umask(umask);
        const { listener } = await listening(t, path, { allowsGroup });
        t.equal(process.umask(), umask, "the mask is as it was");
        t.equal(modeOf(path), socket, `socket, umask ${umask.toString(8)}, group ${allowsGroup}`);
        t.equal(
          modeOf(join(path, "..")),
          directory,
          `directory, umask ${umask.toString(8)}, group ${allowsGroup}`,
        );
        void listener.close();
      }
    }
  },
);

t.test("a directory of the socket that can't be made is named, with the reason", async (t) => {
  const file = join(temporary(t), "file");
  writeFileSync(file, "");
  for (const directory of [file, join(file, "below")])
    await t.rejects(claimSocket(join(directory, "limiterd.sock"), 0o700), {
      message: `the socket's directory ${directory} can't be made: not a directory`,
    });
});

t.test(
  "the socket for administration is the owner's alone, whatever the other's group may",
  async (t) => {
    const path = join(temporary(t), "run", "limiterd-admin.sock");
    await listening(t, path, { allowsGroup: true, isOwnerOnly: true });
    t.equal(modeOf(path), "600");
    t.equal(modeOf(join(path, "..")), "750", "the directory is for both");
  },
);

t.test("no daemon listens, and no peer speaks, where anyone may exchange the socket", async (t) => {
  const directory = join(temporary(t), "run");
  mkdirSync(directory);
  const path = join(directory, "limiterd.sock");
  const server = await listening(t, path);
  chmodSync(directory, 0o777);
  const client = dialling(t, path, {
    onError: (error) => client.saw(`${error.name}: ${error.message}`),
  });
  await client.until(() => client.events.length > 0);
  t.match(
    client.events,
    exactly([/^SocketUntrustedError: anyone may exchange the socket in .*0777/]),
  );
  await server.until(() => server.events.includes("close 0"));
  t.equal(server.bytes.length, 0);
  await t.rejects(listening(t, `${path}.second`), { name: "SocketUntrustedError" });
  chmodSync(directory, 0o1777);
  const second = dialling(t, path);
  await second.until(() => second.count("connect") === 1);
});

t.test("a peer takes the socket for administration where it may", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  const adminPath = adminSocketBeside(path);
  await listening(t, path);
  const before = dialling(t, path, { adminPath });
  await before.until(() => before.count("connect") === 1);
  const admin = await listening(t, adminPath);
  const after = dialling(t, path, { adminPath });
  await after.until(() => after.count("connect") === 1);
  await admin.until(() => admin.count("connect") === 1);
});

t.test("an existing directory keeps its mode", async (t) => {
  const directory = join(temporary(t), "run");
  mkdirSync(directory, { mode: 0o711 });
  await listening(t, join(directory, "limiterd.sock"));
  t.equal(modeOf(directory), "711");
});

t.test("a socket with a living listener is refused, and the listener isn't affected", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  const first = await listening(t, path);
  const refused = await listen({ path, allowsGroup: false, ...new Observed().handlers }).then(
    () => null,
    (error: unknown) => error,
  );
  t.ok(refused instanceof SocketTakenError);
  t.match(refused, { name: "SocketTakenError", message: `another daemon listens on ${path}` });
  const client = dialling(t, path);
  await client.until(() => client.count("connect") === 1);
  await first.until(
    () => first.count("connect") === 2 && first.events.some((event) => event.startsWith("close")),
  );
  t.equal(
    first.events.filter((event) => event.startsWith("close")).length,
    1,
    "the probe left, the client stays",
  );
});

t.test("a socket without a listener is replaced", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  await leaveStaleSocket(path);
  t.ok(statSync(path).isSocket());
  const server = await listening(t, path);
  const client = dialling(t, path);
  await client.until(() => client.count("connect") === 1);
  await server.until(() => server.count("connect") === 1);
  t.equal(modeOf(path), "600");
});

t.test("a socket whose process was killed is replaced", async (t) => {
  const path = join(temporary(t), "limiterd.sock");
  const child = startEnd(t, path, "listen");
  await once(child, "message");
  child.kill("SIGKILL");
  await once(child, "exit");
  t.ok(existsSync(path), "it left its socket behind");
  await listening(t, path);
});

t.test("a file, and a directory, in the socket's place are refused and left alone", async (t) => {
  const directory = temporary(t);
  const file = join(directory, "file");
  writeFileSync(file, "precious");
  const refused = await listen({ path: file, allowsGroup: false, ...new Observed().handlers }).then(
    () => null,
    (error: unknown) => error,
  );
  t.match(refused, { name: "SocketTakenError", message: `${file} exists and is not a socket` });
  t.equal(readFileSync(file, "utf8"), "precious");
  const inner = join(directory, "inner");
  mkdirSync(inner);
  await t.rejects(listen({ path: inner, allowsGroup: false, ...new Observed().handlers }));
  t.ok(statSync(inner).isDirectory());
});

t.test(
  "a path too long for a socket is refused, and no socket is made under a part of its name",
  async (t) => {
    const directory = temporary(t);
    const child = startEnd(t, join(directory, "x".repeat(120)), "listen");
    const [code] = (await once(child, "exit")) as [number];
    t.not(code, 0);
    t.same(readdirSync(directory), []);
  },
);

t.test(
  "closing removes the socket, but not one that another daemon has put there since",
  async (t) => {
    const path = join(temporary(t), "limiterd.sock");
    const first = await listening(t, path);
    void first.listener.close();
    t.notOk(existsSync(path));
    const second = await listening(t, path);
    unlinkSync(path);
    await listening(t, path);
    void second.listener.close();
    await new Promise((resolve) => setImmediate(resolve));
    t.ok(existsSync(path), "the third daemon's socket is still there");
  },
);
