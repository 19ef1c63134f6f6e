/** One "host" of the demo: a daemon and a proxy in a temporary directory, sharing an engine. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programPath } from "../../support/processes/program-path.js";

export interface DemoHost {
  readonly name: string;
  /** Of its proxy. */
  readonly url: string;
  get(path: string): Promise<unknown>;
  /** The status of the answer. */
  send(method: string, path: string, body: unknown): Promise<number>;
  stop(): Promise<void>;
}

export async function startHost(name: string, engineUrl: string): Promise<DemoHost> {
  const directory = mkdtempSync(join(tmpdir(), `sluice-${name}-`));
  const env = {
    PATH: process.env["PATH"],
    SLUICE_SOCKET: join(directory, "run", "limiterd.sock"),
    SLUICE_DATA_DIR: join(directory, "data"),
    SLUICE_CLUSTER_URL: engineUrl,
    SLUICE_DRAIN_GRACE_SECONDS: "0",
    PORT: "0",
  };
  const children: ChildProcess[] = [];
  const start = async (program: "sluice-limiterd" | "sluice-proxy"): Promise<string> => {
    const child = fork(programPath(program), [], {
      cwd: directory,
      env,
      execArgv: [],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    children.push(child);
    let complaint = "";
    child.stderr?.on("data", (text: Buffer) => (complaint += text.toString()));
    return await new Promise((resolve, reject) => {
      child.once("message", (message: { readonly ready?: string }) => resolve(message.ready ?? ""));
      child.once("exit", () => reject(new Error(`${program} of ${name} has ended: ${complaint}`)));
    });
  };
  const stop = async (): Promise<void> => {
    for (const child of children.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await start("sluice-limiterd");
    const url = await start("sluice-proxy");
    return {
      name,
      url,
      async get(path) {
        return (await fetch(`${url}${path}`)).json();
      },
      async send(method, path, body) {
        const answer = await fetch(`${url}${path}`, {
          method,
          headers: { "content-type": "application/json", "x-sluice-user-path": "/team/app" },
          body: JSON.stringify(body),
        });
        await answer.arrayBuffer();
        return answer.status;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
