/**
 * The lock of a data directory: a Unix socket in it, on which its owner listens. It works across
 * containers that share a volume, where process numbers aren't comparable: a process that connects
 * finds the owner if both run on the same kernel. The kernel closes the socket when the owner ends
 * in any way.
 *
 * A link puts a socket in its place and fails if another is there. A socket without a listener is
 * moved away first and probed again there, so that of two daemons that start together neither
 * removes the other's.
 */
import {
  closeSync,
  constants,
  existsSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
} from "node:fs";
import net from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { StoreLockedError } from "../store.js";
import { inodeOf } from "./store-file.js";

export interface StoreLock {
  /** Whether the socket in the lock's place is still this one. */
  isHeld(): boolean;
  release(): void;
}

const lockName = "limiterd.lock";
/** Attempts to take the place, each after another daemon has changed something there. */
const attemptsMax = 5;
/** How long an owner may take to send its name, in ms; without a name it is still the owner. */
const nameDeadlineMs = 500;
const nameCharsMax = 256;

/**
 * Rejects with `StoreLockedError` if another daemon has the directory. Null: its file system has no
 * sockets, so only `store-owner.ts` protects the store, among processes that see each other.
 */
export async function lockDirectory(dataDir: string): Promise<StoreLock | null> {
  // A directory's path may be too long for a socket's address. Linux has a short one.
  const directory = openSync(dataDir, constants.O_RDONLY | constants.O_DIRECTORY);
  const short = `/proc/self/fd/${directory}`;
  const parent = existsSync(short) ? short : dataDir;
  const addressOf = (name: string): string => join(parent, name);
  const own = `${lockName}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  const server = net.createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.end(`${process.pid} ${hostname()}`);
  });
  if (!(await tryToListen(server, addressOf(own)))) {
    closeSync(directory);
    return null;
  }
  server.unref();
  const inode = inodeOf(join(dataDir, own));
  const place = join(dataDir, lockName);
  const isHeld = (): boolean => inodeOf(place) === inode;
  const release = (): void => {
    if (isHeld()) rmSync(place, { force: true });
    server.close();
    closeSync(directory);
  };
  try {
    await takePlace({ dataDir, own, addressOf });
  } catch (error) {
    release();
    throw error;
  } finally {
    rmSync(join(dataDir, own), { force: true });
  }
  return { isHeld, release };
}

interface Place {
  readonly dataDir: string;
  readonly own: string;
  readonly addressOf: (name: string) => string;
}

async function takePlace({ dataDir, own, addressOf }: Place): Promise<void> {
  const place = join(dataDir, lockName);
  const oldPlace = `${own}.old`;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    if (linkIfFree(join(dataDir, own), place)) return;
    const owner = await ownerAt(addressOf(lockName));
    if (owner !== null) throw lockedError(place, owner);
    try {
      renameSync(place, join(dataDir, oldPlace));
    } catch {
      // Another daemon has moved it away.
      continue;
    }
    const movedOwner = await ownerAt(addressOf(oldPlace));
    if (movedOwner === null) {
      unlinkSync(join(dataDir, oldPlace));
      continue;
    }
    // Another daemon has taken the place in between: move its socket back.
    linkIfFree(join(dataDir, oldPlace), place);
    unlinkSync(join(dataDir, oldPlace));
    throw lockedError(place, movedOwner);
  }
  throw lockedError(place, "");
}

/** `owner`: its process number and host; empty if unknown. */
function lockedError(place: string, owner: string): StoreLockedError {
  const [pid = "", host = ""] = owner.split(" ");
  const name = /^\d+$/.test(pid) ? `the process ${pid}` : "another daemon";
  const where = host === "" || host === hostname() ? "" : ` on ${host}`;
  return new StoreLockedError(
    `${place.slice(0, -".lock".length)}.mdb is in use by ${name}${where}`,
  );
}

function linkIfFree(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    // ENOENT: another daemon has locked the directory and removed unfinished files.
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" || code === "ENOENT") return false;
    throw error;
  }
}

function tryToListen(server: net.Server, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen({ path }, () => resolve(true));
  });
}

/** The name of the process that listens at an address; null if none does. */
function ownerAt(path: string): Promise<string | null> {
  return new Promise((resolve) => {
    let name = "";
    const socket = net.connect({ path });
    const deadline = setTimeout(() => finish(name), nameDeadlineMs);
    const finish = (owner: string | null): void => {
      clearTimeout(deadline);
      socket.destroy();
      resolve(owner);
    };
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      name = (name + text).slice(0, nameCharsMax);
    });
    socket.once("end", () => finish(name));
    socket.once("error", ({ code }: NodeJS.ErrnoException) =>
      // After any other error, there may be an owner.
      finish(code === "ECONNREFUSED" || code === "ENOENT" || code === "ENOTSOCK" ? null : name),
    );
  });
}
