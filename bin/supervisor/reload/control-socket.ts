/**
 * How `sluice reload` finds the processes to reload: each has a Unix socket beside the daemon's,
 * with its process id in the name. A socket reaches only the process that listens on it, while a
 * signal could reach another process that got a dead one's id. One line of JSON in each direction.
 */
import { readdirSync, unlinkSync } from "node:fs";
import net from "node:net";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { type Environment, variable } from "../../../shared/config/environment.js";
import { claimSocket, requireTrustedPlace } from "../../../shared/socket/claim-socket.js";
import { outcomeFrom, type ReloadOutcome } from "./reload-outcome.js";

const reloadRequest = JSON.stringify({ ask: "reload" });
const lineCharsMax = 64 * 1024;

/**
 * The path of a process's control socket: in the directory that systemd created for its service,
 * otherwise beside the daemon's socket.
 */
export function controlSocketPath(daemonSocket: string, pid: number, env: Environment): string {
  return join(directoriesOf(daemonSocket, env)[0]!, `${stemOf(daemonSocket)}-reload-${pid}.sock`);
}

function directoriesOf(daemonSocket: string, env: Environment): readonly string[] {
  const runtimeDirectory = variable(env, "RUNTIME_DIRECTORY")?.split(":")[0];
  return [...(runtimeDirectory === undefined ? [] : [runtimeDirectory]), dirname(daemonSocket)];
}

function stemOf(daemonSocket: string): string {
  return basename(daemonSocket).replace(/\.sock$/, "");
}

/** The existing control sockets that belong to this daemon's socket. */
export function findControlSockets(
  daemonSocket: string,
  env: Environment,
): readonly { readonly path: string; readonly pid: number }[] {
  const start = `${stemOf(daemonSocket)}-reload-`;
  return directoriesOf(daemonSocket, env).flatMap((directory) =>
    entriesOf(directory)
      .filter((name) => name.startsWith(start) && /^\d{1,10}\.sock$/.test(name.slice(start.length)))
      .map((name) => ({
        path: join(directory, name),
        pid: Number.parseInt(name.slice(start.length), 10),
      })),
  );
}

/** Empty if the directory doesn't exist. */
function entriesOf(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

/**
 * Accepts `sluice reload` from this user and root; returns a function that stops listening. Rejects
 * if the directory isn't writable or can't be trusted.
 */
export async function listenForReloads(
  path: string,
  reload: () => Promise<ReloadOutcome>,
): Promise<{ close(): void }> {
  await claimSocket(path, 0o700);
  const server = net.createServer((socket) => {
    socket.on("error", () => socket.destroy());
    let read = 0;
    socket.on("data", (bytes) => {
      read += bytes.length;
      if (read > lineCharsMax) socket.destroy();
    });
    createInterface({ input: socket }).once("line", (line) => {
      if (line !== reloadRequest) socket.destroy();
      else void reload().then((outcome) => socket.end(`${JSON.stringify(outcome)}\n`));
    });
  });
  // No other user may connect, not even at first.
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    // The socket is created while `listen` runs.
    const mask = process.umask(0o177);
    try {
      server.listen(path, resolve);
    } finally {
      process.umask(mask);
    }
  });
  server.unref();
  return { close: () => server.close() };
}

type Answer =
  | ReloadOutcome
  /** A dead process has left its socket. */
  | { readonly kind: "gone" }
  | { readonly kind: "failed"; readonly reason: string };

/** Asks the listening process to reload, and waits until it has. */
export function askForReload(path: string): Promise<Answer> {
  return new Promise((resolve) => {
    const failed = (reason: string): void => resolve({ kind: "failed", reason });
    const socket = net.connect(path, () => {
      try {
        requireTrustedPlace(path);
      } catch (error) {
        socket.destroy();
        return failed(error instanceof Error ? error.message : String(error));
      }
      socket.write(`${reloadRequest}\n`);
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED" || error.code === "ENOENT") resolve({ kind: "gone" });
      else failed(error.message);
    });
    socket.on("close", () => failed("it ended before it reported the outcome of the reload"));
    createInterface({ input: socket })
      .once("line", (line) => {
        const outcome = parseOutcome(line);
        if (outcome === null) failed("its answer is unknown to this release");
        else resolve(outcome);
      })
      .on("error", () => {});
  });
}

/** Removes a dead process's socket, unless this user may not. */
export function removeDeadSocket(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // A socket file without a listener does no harm.
  }
}

function parseOutcome(line: string): ReloadOutcome | null {
  try {
    return outcomeFrom(JSON.parse(line));
  } catch {
    return null;
  }
}
