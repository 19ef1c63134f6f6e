/**
 * A real engine on loopback, in a temporary directory: the program that `SLUICE_TEST_ENGINE` names,
 * or `valkey-server` or `redis-server`, whichever is installed. It ends with the test.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import type { Test } from "tap";
import { freePort } from "./free-port.js";

export interface RunningEngine {
  readonly port: number;
  readonly url: string;
  readonly directory: string;
  /** Runs a command on a connection of its own, as its default user. */
  cli(...words: readonly (string | number)[]): Promise<unknown>;
  /** SIGSTOP and SIGCONT: connections stay open, and nothing is answered. */
  freeze(): void;
  thaw(): void;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** On the same port; without its data, unless it was told to write them. */
  restart(): Promise<void>;
}

/** The program's name, or null: then tests are skipped, and say `noEngine`. */
export const engineProgram: string | null = findProgram(process.env["SLUICE_TEST_ENGINE"]);
export const noEngine = "needs redis-server or valkey-server (Debian: redis-server)";

function findProgram(named: string | undefined): string | null {
  const runs = (name: string): boolean =>
    spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0;
  if (named === undefined) return ["valkey-server", "redis-server"].find(runs) ?? null;
  if (!runs(named)) throw new Error(`SLUICE_TEST_ENGINE names ${named}, which doesn't run`);
  return named;
}

/** `settings` as on the command line, such as `["--maxmemory", "2mb"]`. */
export async function startEngine(
  t: Pick<Test, "teardown">,
  settings: readonly string[] = [],
): Promise<RunningEngine> {
  const port = await freePort();
  return start(t, port, (directory) => [
    ...["--port", `${port}`, "--bind", "127.0.0.1", "--dir", directory, "--save", ""],
    ...settings,
  ]);
}

/** A Sentinel that watches one server, with `lines` of its configuration. */
export async function startSentinel(
  t: Pick<Test, "teardown">,
  watched: number,
  lines: readonly string[] = [],
): Promise<RunningEngine> {
  const port = await freePort();
  return start(t, port, (directory) => {
    const file = join(directory, "sentinel.conf");
    const all = [
      `port ${port}`,
      "bind 127.0.0.1",
      `dir ${directory}`,
      `sentinel monitor engine 127.0.0.1 ${watched} 1`,
      "sentinel down-after-milliseconds engine 500",
      ...lines,
    ];
    writeFileSync(file, `${all.join("\n")}\n`);
    return [file, "--sentinel"];
  });
}

async function start(
  t: Pick<Test, "teardown">,
  port: number,
  words: (directory: string) => readonly string[],
): Promise<RunningEngine> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-engine-"));
  let child = await run(words(directory));
  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  t.teardown(async () => {
    await end();
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    port,
    url: `valkey://127.0.0.1:${port}`,
    directory,
    cli: (name, ...rest) => runOnce(port, String(name), rest),
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    kill: end,
    async restart() {
      await end();
      child = await run(words(directory));
    },
  };
}

async function runOnce(
  port: number,
  name: string,
  words: readonly (string | number)[],
): Promise<unknown> {
  const client = new Redis({ port, host: "127.0.0.1", retryStrategy: () => null });
  client.on("error", () => {
    // The command itself rejects.
  });
  try {
    return await client.call(name, ...words);
  } finally {
    client.disconnect();
  }
}

async function run(words: readonly string[]): Promise<ChildProcess> {
  const child = spawn(engineProgram!, words, { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  await new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
      if (/Ready to accept connections|Sentinel ID is/.test(printed)) resolve();
    });
    child.once("exit", () => reject(new Error(`the engine ended at its start: ${printed}`)));
  });
  return child;
}
