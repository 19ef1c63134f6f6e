/** What is said of whoever listens in the lock's place, whatever it answers. */
import { once } from "node:events";
import { existsSync, readdirSync, readlinkSync, renameSync, statSync } from "node:fs";
import net from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import t from "tap";
import { lockDirectory } from "../../../../limiterd/store/lmdb/store-lock.js";
import { temporary } from "./store-fixture.js";

/** How often this process has the directory open. */
function openHere(directory: string): number {
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === directory;
    } catch {
      return false;
    }
  }).length;
}

t.test("an owner is named as far as it says its name", async (t) => {
  const here = hostname();
  // What an owner says is heard when it has said it, not at a deadline.
  const { setTimeout } = globalThis;
  t.teardown(() => Object.assign(globalThis, { setTimeout }));
  Object.assign(globalThis, { setTimeout: () => undefined });
  for (const [said, expected] of [
    [`12 ${here}`, "the process 12"],
    ["12 elsewhere", "the process 12 on elsewhere"],
    ["12", "the process 12"],
    ["", "another daemon"],
    ["x y", "another daemon on y"],
    [`12 ${"y".repeat(400)}`, `the process 12 on ${"y".repeat(253)}`],
  ] as const) {
    const directory = temporary(t);
    const server = net.createServer((socket) => {
      socket.on("error", () => {});
      socket.end(said);
    });
    const place = join(directory, "limiterd.lock");
    await new Promise<void>((resolve) => server.listen(place, resolve));
    const before = statSync(place).ctimeMs;
    const held = openHere(directory);
    await t.rejects(lockDirectory(directory), {
      name: "StoreLockedError",
      message: `${join(directory, "limiterd.mdb")} is in use by ${expected}`,
    });
    t.same(readdirSync(directory), ["limiterd.lock"], "it stays in its place, and nothing beside");
    t.equal(statSync(place).ctimeMs, before, "nobody has moved it meanwhile");
    t.equal(openHere(directory), held, "nothing stays open");
    await new Promise((resolve) => server.close(resolve));
  }
});

t.test("an owner that says nothing is one all the same", async (t) => {
  const directory = temporary(t);
  const sockets: net.Socket[] = [];
  const server = net.createServer((socket) => void sockets.push(socket.resume()));
  await new Promise<void>((resolve) => server.listen(join(directory, "limiterd.lock"), resolve));
  await t.rejects(lockDirectory(directory), { message: /is in use by another daemon$/ });
  for (const socket of sockets) if (!socket.destroyed) await once(socket, "close");
  t.ok(sockets.length > 0, "and whoever has asked it leaves");
  await new Promise((resolve) => server.close(resolve));
});

t.test("a lock is held until it is released or taken away, and tells who holds it", async (t) => {
  const directory = temporary(t);
  const place = join(directory, "limiterd.lock");
  const lock = (await lockDirectory(directory))!;
  t.same(readdirSync(directory), ["limiterd.lock"]);
  t.ok(lock.isHeld());
  const said = await new Promise<string>((resolve) => {
    let text = "";
    net
      .connect(place)
      .on("data", (bytes) => (text += String(bytes)))
      .on("end", () => resolve(text));
  });
  t.equal(said, `${process.pid} ${hostname()}`);
  await t.rejects(lockDirectory(directory), { message: /in use by the process \d+$/ });
  t.same(readdirSync(directory), ["limiterd.lock"], "who is refused leaves nothing");
  renameSync(place, `${place}.away`);
  t.notOk(lock.isHeld());
  const other = (await lockDirectory(directory))!;
  lock.release();
  t.ok(other.isHeld(), "a lock that was lost takes nobody else's away");
  other.release();
  t.notOk(existsSync(place));
});

t.test("a client that asks for the owner's name and leaves does no harm", async (t) => {
  const directory = temporary(t);
  const lock = (await lockDirectory(directory))!;
  for (let i = 0; i < 20; i++) {
    const socket = net.connect(join(directory, "limiterd.lock"));
    socket.on("connect", () => socket.destroy());
    await once(socket, "close");
  }
  await t.rejects(lockDirectory(directory), { message: /in use by the process \d+$/ });
  lock.release();
});

t.test("a lock keeps no process alive, and leaves nothing open", async (t) => {
  const directory = temporary(t);
  const sockets = (): number =>
    readdirSync("/proc/self/fd").filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith("socket:");
      } catch {
        return false;
      }
    }).length;
  const awake = (): number =>
    process.getActiveResourcesInfo().filter((name) => name.startsWith("Pipe")).length;
  const before = [sockets(), awake()];
  const lock = (await lockDirectory(directory))!;
  t.equal(awake(), before[1]);
  lock.release();
  await new Promise((resolve) => setImmediate(resolve));
  t.same([sockets(), openHere(directory)], [before[0], 0]);
});

t.test("a file system without sockets has no lock", async (t) => {
  t.equal(await lockDirectory("/proc"), null);
  t.equal(openHere("/proc"), 0);
});
