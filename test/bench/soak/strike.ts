/** Carries the faults of a plan out, on real processes. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { rmSync, statfsSync, statSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "./fault-plan.js";
import type { Gateway } from "./gateway.js";

export interface Struck {
  readonly gateway: Gateway;
  readonly directory: string;
  readonly setWeather: (weather: string) => Promise<void>;
}

const idleConnections = 300;
const idleS = 3;

/** Resolves when it is over; null, or what went wrong about it. */
export async function strike(fault: Fault, struck: Struck): Promise<string | null> {
  const { gateway, directory, setWeather } = struck;
  switch (fault.kind) {
    case "kill":
    case "stop":
    case "pause":
      return signalled(fault, gateway);
    case "full disk":
      return fillDisk(gateway.dataDirectory, fault.seconds);
    case "weather":
      await setWeather(fault.weather);
      await delay(fault.seconds * 1000);
      await setWeather("fair");
      return null;
    case "reload": {
      const { code, text } = await gateway.run("reload");
      return code === 0 ? null : `the reload ended with ${code}: ${text}`;
    }
    case "backup": {
      const { code, text } = await gateway.run("backup", join(directory, "backup.mdb"));
      return code === 0 ? null : `the backup ended with ${code}: ${text}`;
    }
    case "idle connections":
      await withConnections(gateway.url, "");
      return null;
    case "broken requests":
      await withConnections(
        gateway.url,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: soak\r\ncontent-length: 1000\r\n\r\n{",
      );
      return null;
  }
}

async function signalled(
  fault: Extract<Fault, { readonly kind: "kill" | "stop" | "pause" }>,
  gateway: Gateway,
): Promise<string | null> {
  const pid = gateway.processes().get(fault.process);
  if (pid === undefined) return `there was no ${fault.process}`;
  if (fault.kind !== "pause") {
    process.kill(pid, fault.kind === "kill" ? "SIGKILL" : "SIGTERM");
    return null;
  }
  process.kill(pid, "SIGSTOP");
  await delay(fault.seconds * 1000);
  process.kill(pid, "SIGCONT");
  return null;
}

/** Takes all that is free on the store's own file system; null where it has none of its own. */
async function fillDisk(dataDirectory: string, seconds: number): Promise<string | null> {
  if (statSync(dataDirectory).dev === statSync(join(dataDirectory, "..")).dev) return null;
  const file = join(dataDirectory, "filler");
  try {
    for (let attempt = 1; ; attempt++) {
      const { bavail, bsize } = statfsSync(dataDirectory);
      // The daemon may take a part of it in between.
      const length = Math.max(bsize, bavail * bsize);
      const { status, stderr } = spawnSync("fallocate", ["--length", String(length), file]);
      if (status === 0 || bavail === 0) break;
      if (attempt === 10) throw new Error(`the disk can't be filled: ${String(stderr)}`);
    }
    await delay(seconds * 1000);
    return null;
  } finally {
    rmSync(file, { force: true });
  }
}

/** Opens many, sends this on each and nothing more, and leaves without a word. */
async function withConnections(url: string, text: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: idleConnections }, () => {
    const socket = net.connect({ host: hostname, port: Number(port) });
    socket.on("error", () => {});
    if (text !== "") socket.write(text);
    return socket;
  });
  await Promise.all(
    sockets.map((socket) => Promise.race([once(socket, "connect"), once(socket, "close")])),
  );
  await delay(idleS * 1000);
  for (const socket of sockets) socket.resetAndDestroy();
}
