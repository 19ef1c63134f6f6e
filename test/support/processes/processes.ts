/** Real daemon and proxy processes for end-to-end tests, each in a directory of its own. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Test } from "tap";
import { requireDescribedAnswers, watchAnswers } from "../openapi/watch-answers.js";
import { programPath } from "./program-path.js";

export interface Part {
  readonly child: ChildProcess;
  /** What it reported when it was ready: the proxy's address, the daemon's socket. */
  readonly ready: string;
  /** Everything that it printed so far. */
  output(): string;
  /**
   * Resolved once it has printed this: lines are gathered, and come a moment after what they report
   * of.
   */
  printed(pattern: RegExp): Promise<void>;
  /** Ends it and waits for its end. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

export interface Site {
  readonly directory: string;
  readonly configFile: string;
  readonly socket: string;
  startDaemon(as?: RunsAs): Promise<Part>;
  /**
   * A daemon whose wall clock is what `setClock` says, and which writes sums of usage as often as
   * is said here.
   */
  startClockedDaemon(
    nowMs: number,
    usageFlushMs?: number,
  ): Promise<Part & { setClock(nowMs: number): Promise<void> }>;
  /**
   * Begins to start a daemon with this wall clock and kills it after a while, which may be before
   * it is ready.
   */
  killStartingDaemon(nowMs: number, afterMs: number): Promise<void>;
  /** A proxy on the daemon's socket, or on another that leads to it. */
  startProxy(socket?: string, as?: RunsAs): Promise<Part>;
}

/** What a process is started with, if not with what the test has. */
interface RunsAs {
  /** Only root can start processes of other users. */
  readonly uid?: number;
  readonly gid?: number;
  /** `ulimit -n`. */
  readonly filesMax?: number;
  /** Of the network that it is in (`network-namespace.ts`), if not in the test's. */
  readonly namespace?: string;
  /** Its inspector listens, on a port of its own (`inspectorOf`). */
  readonly inspected?: boolean;
  /** Intervals and timeouts in ms, with what they are instead (`shorter-intervals.ts`). */
  readonly intervals?: Readonly<Record<number, number>>;
}

const shorterIntervals = new URL("shorter-intervals.js", import.meta.url).href;
const clocked = fileURLToPath(new URL("clocked-limiterd.js", import.meta.url));

/**
 * A configuration in a temporary directory; whatever is started there ends with the test. `yaml`
 * comes without the `limiter` section's paths.
 */
export function makeSite(
  t: Pick<Test, "teardown">,
  yaml: string,
  env: Record<string, string> = {},
): Site {
  const directory = mkdtempSync(join(tmpdir(), "sluice-"));
  const configFile = join(directory, "sluice.yaml");
  const socket = join(directory, "run", "limiterd.sock");
  writeFileSync(configFile, yaml);
  const children = new Set<ChildProcess>();
  t.teardown(async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
    await requireDescribedAnswers();
  });
  const begin = (
    script: string,
    extra: readonly string[],
    { filesMax, namespace, inspected, intervals, ...user }: RunsAs = {},
  ): ChildProcess => {
    const starter =
      namespace !== undefined
        ? ["ip", "netns", "exec", namespace]
        : filesMax !== undefined
          ? ["prlimit", `--nofile=${filesMax}:${filesMax}`]
          : null;
    const child = fork(script, ["--config", configFile, ...extra], {
      ...user,
      cwd: directory,
      env: {
        PATH: process.env["PATH"],
        SLUICE_SOCKET: socket,
        SLUICE_DATA_DIR: join(directory, "data"),
        PORT: "0",
        SLUICE_DRAIN_GRACE_SECONDS: "0",
        ...(intervals === undefined ? {} : { TEST_INTERVALS: JSON.stringify(intervals) }),
        ...env,
      },
      // Not the test's own flags, but as a supervisor starts it: reading source maps would be a
      // tenth of its start.
      ...(starter === null
        ? {
            execArgv: [
              ...(inspected === true ? ["--inspect=127.0.0.1:0"] : []),
              ...(intervals === undefined ? [] : [`--import=${shorterIntervals}`]),
            ],
          }
        : { execPath: starter[0]!, execArgv: [...starter.slice(1), process.execPath] }),
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    children.add(child);
    return child;
  };
  const start = (script: string, extra: readonly string[] = [], as?: RunsAs): Promise<Part> =>
    asPart(begin(script, extra, as));
  return {
    directory,
    configFile,
    socket,
    startDaemon: (as) => start(programPath("sluice-limiterd"), [], as),
    async startProxy(to = socket, as) {
      const proxy = await start(programPath("sluice-proxy"), ["--socket", to], as);
      proxy.child.once("exit", watchAnswers(proxy.ready));
      return proxy;
    },
    async startClockedDaemon(nowMs, usageFlushMs) {
      const part = await start(clocked, [
        String(nowMs),
        ...(usageFlushMs === undefined ? [] : [String(usageFlushMs)]),
      ]);
      return {
        ...part,
        async setClock(to) {
          const answered = once(part.child, "message");
          part.child.send({ clock: to });
          await answered;
        },
      };
    },
    async killStartingDaemon(nowMs, afterMs) {
      const child = begin(clocked, [String(nowMs)]);
      const ended = once(child, "exit");
      setTimeout(() => child.kill("SIGKILL"), afterMs);
      await ended;
    },
  };
}

/** Where the inspector of one that was started so listens. */
export function inspectorOf(part: Part): string {
  return /ws:\/\/127\.0\.0\.1:\d+\/\S+/.exec(part.output())![0];
}

async function asPart(child: ChildProcess): Promise<Part> {
  let output = "";
  child.stdout?.on("data", (text: Buffer) => (output += text.toString()));
  child.stderr?.on("data", (text: Buffer) => (output += text.toString()));
  const ready = await new Promise<string>((resolve, reject) => {
    child.once("message", (message: { ready?: string }) => resolve(message.ready ?? ""));
    child.once("exit", (code, signal) =>
      reject(new Error(`ended with ${code ?? signal} before it was ready:\n${output}`)),
    );
  });
  return {
    child,
    ready,
    output: () => output,
    printed(pattern) {
      return new Promise((resolve) => {
        const look = (): void => {
          if (!pattern.test(output)) return;
          for (const stream of [child.stdout, child.stderr]) stream?.off("data", look);
          resolve();
        };
        for (const stream of [child.stdout, child.stderr]) stream?.on("data", look);
        look();
      });
    },
    async kill(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return;
      // All that it printed is here by then.
      const ended = once(child, "close");
      child.kill(signal);
      await ended;
    },
  };
}
