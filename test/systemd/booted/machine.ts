/**
 * A Debian with a booted systemd, in a container of systemd-nspawn: a root that mmdebstrap makes of
 * Debian's packages, with the Node that runs this and the repository at /opt/sluice. It has no
 * network but its own loopback, and control groups of its own.
 */
import { execFileSync, type SpawnSyncReturns, spawn, spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { debianRoot } from "../../artefacts/debian-root.js";
import { notInstalled } from "../../artefacts/run.js";

const packages = ["systemd", "systemd-sysv", "libstdc++6", "procps"];
/** Where systemd wants its control groups: the first is that of version 1 beside 2. */
const hierarchies = ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"];
const bootMsMax = 60_000;

/** Why no machine can be booted here; null: it can be tried. */
export function whyNotHere(): string | null {
  if (process.platform !== "linux") return "it isn't Linux";
  if (process.getuid?.() !== 0) return "only root can boot a container";
  return notInstalled(["systemd-nspawn", "mmdebstrap", "nsenter"]);
}

export interface Machine {
  /** Runs a shell's script in it; throws when it fails, unless its end is asked for. */
  sh(script: string): string;
  try(script: string): SpawnSyncReturns<string>;
  /** What starts a program in it, for `spawn`. */
  readonly enter: readonly string[];
  /** Copies a file into it. */
  copyIn(file: string, to: string): void;
  stop(): Promise<void>;
}

/** Boots one. Rejects when systemd doesn't come up here. */
export async function bootMachine(repository: string): Promise<Machine> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-machine-"));
  const root = join(directory, "root");
  mkdirSync(join(root, "opt/sluice"), { recursive: true });
  execFileSync("tar", [
    "-C",
    root,
    "-xf",
    debianRoot({ name: "systemd", variant: "apt", packages }),
  ]);
  copyFileSync(process.execPath, join(root, "usr/bin/node"));
  const groups = hierarchies
    .filter((hierarchy) => existsSync(join(hierarchy, "cgroup.procs")))
    .map((hierarchy) => join(hierarchy, `sluice-test-${process.pid}`));
  for (const group of groups) mkdirSync(group);
  const log = join(directory, "console");
  // Under a systemd the container has a scope of its own; elsewhere the groups are made here.
  const options = existsSync("/run/systemd/system") ? [] : ["--keep-unit"];
  const nspawn = spawn(
    "sh",
    [
      "-c",
      `${groups.map((group) => `echo $$ > ${group}/cgroup.procs; `).join("")}exec "$@" > ${log} 2>&1 < /dev/null`,
      "sh",
      ...["systemd-nspawn", "--quiet", "--boot", "--register=no", ...options],
      ...["--private-network", "--console=pipe", `--directory=${root}`],
      `--bind-ro=${repository}:/opt/sluice`,
    ],
    { stdio: "ignore", detached: true },
  );
  const ended = new Promise<void>((resolve) => nspawn.once("exit", () => resolve()));
  const remove = async (): Promise<void> => {
    // The first process of the container takes all others with it; without nspawn it would run on.
    for (const pid of childrenOf(nspawn.pid)) process.kill(pid, "SIGKILL");
    nspawn.kill("SIGKILL");
    await ended;
    // A group is removed once its last process is.
    for (let tries = 0; tries < 50 && !groups.every(removeGroup); tries++) await delay(100);
    rmSync(directory, { recursive: true, force: true });
  };
  const enter = (leader: number): readonly string[] => [
    ...["nsenter", "--target", String(leader), "--all", "--"],
  ];
  try {
    const leader = await waitFor(bootMsMax, () => {
      if (nspawn.exitCode !== null) throw new Error(readFileSync(log, "utf8").slice(-2000));
      const [pid] = childrenOf(nspawn.pid);
      if (pid === undefined) return null;
      const [program, ...args] = [...enter(pid), "systemctl", "is-system-running"];
      const state = spawnSync(program!, args, { encoding: "utf8" });
      return /^(?:running|degraded)/.test(state.stdout) ? pid : null;
    });
    return machineOf(enter(leader), root, remove);
  } catch (error) {
    await remove();
    throw error;
  }
}

function childrenOf(parent: number | undefined): readonly number[] {
  const { stdout } = spawnSync("pgrep", ["-P", String(parent)], { encoding: "utf8" });
  return stdout.split("\n").filter(Boolean).map(Number);
}

function machineOf(enter: readonly string[], root: string, stop: () => Promise<void>): Machine {
  const attempt = (script: string): SpawnSyncReturns<string> => {
    const [program, ...args] = [...enter, "/bin/bash", "-c", script];
    // Scripts come by an argument, their input is empty.
    return spawnSync(program!, args, { encoding: "utf8", input: "", timeout: 300_000, cwd: "/" });
  };
  return {
    enter,
    stop,
    try: attempt,
    copyIn: (file, to) => copyFileSync(file, join(root, to)),
    sh(script) {
      const { status, stdout, stderr, error } = attempt(script);
      if (status === 0) return stdout;
      throw new Error(`${script}\nended with ${status ?? error?.message}: ${stdout}${stderr}`);
    },
  };
}

/** Whether the group, and what the container has made in it, is gone. */
function removeGroup(group: string): boolean {
  try {
    const below = execFileSync("find", [group, "-mindepth", "1", "-type", "d", "-depth"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    for (const each of below.split("\n").filter(Boolean)) rmdirSync(each);
    rmdirSync(group);
    return true;
  } catch {
    // Gone already, or a process in it hasn't ended yet.
    return !existsSync(group);
  }
}

/** What `look` returns once that isn't null. It is asked ten times a second. */
export async function waitFor<T>(
  msMax: number,
  look: () => T | null | Promise<T | null>,
): Promise<T> {
  const until = performance.now() + msMax;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > until) throw new Error(`not so after ${msMax / 1000} s: ${look}`);
    await delay(100);
  }
}

/** Writes a file of the machine. */
export function writeInMachine(machine: Machine, path: string, text: string): void {
  const script = `mkdir -p "$(dirname '${path}')" && base64 -d > '${path}' <<'END'\n${Buffer.from(text).toString("base64")}\nEND`;
  machine.sh(script);
}
