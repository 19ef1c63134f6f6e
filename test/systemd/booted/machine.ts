/**
 * A Debian with a booted systemd, in a container of systemd-nspawn: a root that mmdebstrap makes of
 * Debian's packages, with the Node that runs this and the repository at /opt/sluice. It has no
 * network but its own loopback, and control groups of its own.
 */
import {
  type ChildProcess,
  execFileSync,
  type SpawnSyncReturns,
  spawn,
  spawnSync,
} from "node:child_process";
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
/**
 * How the control groups are laid out: of version 2; of version 1 with those of systemd in
 * version 2; of version 1 alone. By what nspawn has for it.
 */
const layouts = { unified: "1", hybrid: null, legacy: "0" } as const;
export type Layout = keyof typeof layouts;

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
  /** Boots it again, as its own systemd does. */
  reboot(): Promise<void>;
  /** Copies a file into it. */
  copyIn(file: string, to: string): void;
  stop(): Promise<void>;
}

/** Boots one. Rejects when systemd doesn't come up here, or not in this layout. */
export async function bootMachine(repository: string, layout: Layout | null): Promise<Machine> {
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
  const log = join(directory, "console");
  // Under a systemd the container has a scope of its own; elsewhere the groups are made here.
  const options = existsSync("/run/systemd/system") ? [] : ["--keep-unit"];
  const wanted = layout === null ? null : layouts[layout];
  const start = (): Nspawn => {
    for (const group of groups) mkdirSync(group, { recursive: true });
    const child = spawn(
      "sh",
      [
        "-c",
        `${groups.map((group) => `echo $$ > ${group}/cgroup.procs; `).join("")}exec "$@" >> ${log} 2>&1 < /dev/null`,
        "sh",
        ...["systemd-nspawn", "--quiet", "--boot", "--register=no", ...options],
        ...["--private-network", "--console=pipe", `--directory=${root}`],
        `--bind-ro=${repository}:/opt/sluice`,
      ],
      {
        stdio: "ignore",
        detached: true,
        env: {
          ...process.env,
          ...(wanted === null ? {} : { SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: wanted }),
        },
      },
    );
    return { child, ended: new Promise((resolve) => child.once("exit", () => resolve())) };
  };
  const remove = async ({ child, ended }: Nspawn): Promise<void> => {
    // The first process of the container takes all others with it; without nspawn it would run on.
    for (const pid of childrenOf(child.pid)) process.kill(pid, "SIGKILL");
    child.kill("SIGKILL");
    await ended;
    // A group is removed once its last process is.
    for (let tries = 0; tries < 50 && !groups.every(removeGroup); tries++) await delay(100);
    rmSync(directory, { recursive: true, force: true });
  };
  const booted = ({ child }: Nspawn, before: number): Promise<number> =>
    waitFor(bootMsMax, () => {
      if (child.exitCode !== null) throw new Error(readFileSync(log, "utf8").slice(-2000));
      const [pid] = childrenOf(child.pid);
      if (pid === undefined || pid === before) return null;
      const [program, ...args] = [...enter(pid), "systemctl", "is-system-running"];
      const state = spawnSync(program!, args, { encoding: "utf8" });
      return /^(?:running|degraded)/.test(state.stdout) ? pid : null;
    });
  let nspawn = start();
  try {
    let leader = await booted(nspawn, 0);
    const machine = machineOf(() => enter(leader), root, {
      stop: () => remove(nspawn),
      async reboot() {
        machine.try("systemctl reboot");
        // As a part of another unit it leaves the next start to that.
        if (options.length > 0) {
          await nspawn.ended;
          nspawn = start();
        }
        leader = await booted(nspawn, leader);
      },
    });
    const found = layoutOf(machine);
    if (layout !== null && found !== layout)
      throw new Error(`its control groups are ${found}, not ${layout}`);
    return machine;
  } catch (error) {
    await remove(nspawn);
    throw error;
  }
}

interface Nspawn {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
}

function enter(leader: number): readonly string[] {
  return ["nsenter", "--target", String(leader), "--all", "--"];
}

export function layoutOf(machine: Machine): Layout {
  const of = (path: string): string => machine.try(`stat -f -c %T ${path}`).stdout.trim();
  if (of("/sys/fs/cgroup") === "cgroup2fs") return "unified";
  return of("/sys/fs/cgroup/unified") === "cgroup2fs" ? "hybrid" : "legacy";
}

function childrenOf(parent: number | undefined): readonly number[] {
  const { stdout } = spawnSync("pgrep", ["-P", String(parent)], { encoding: "utf8" });
  return stdout.split("\n").filter(Boolean).map(Number);
}

function machineOf(
  entering: () => readonly string[],
  root: string,
  power: Pick<Machine, "stop" | "reboot">,
): Machine {
  const attempt = (script: string): SpawnSyncReturns<string> => {
    const [program, ...args] = [...entering(), "/bin/bash", "-c", script];
    // Scripts come by an argument, their input is empty.
    return spawnSync(program!, args, { encoding: "utf8", input: "", timeout: 300_000, cwd: "/" });
  };
  return {
    ...power,
    get enter() {
      return entering();
    },
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
