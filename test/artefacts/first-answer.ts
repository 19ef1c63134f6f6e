/** A Sluice that was just installed: started as its user starts it, and asked once. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

interface Installed {
  readonly program: string;
  readonly args?: readonly string[];
  readonly cwd: string;
  readonly path?: string;
}

export interface FirstAnswer {
  readonly status: number;
  readonly body: string;
  readonly dashboardStatus: number;
  readonly exitCode: number | null;
}

/** Returns when all that was started has ended. */
export async function firstAnswer({
  program,
  args = [],
  cwd,
  path = process.env["PATH"] ?? "",
}: Installed): Promise<FirstAnswer> {
  const home = mkdtempSync(join(tmpdir(), "sluice-first-"));
  // On a slow machine the daemon may take its time.
  const config = join(home, "sluice.yaml");
  writeFileSync(config, "limiter: { deadline_ms: 60000 }\n");
  const own = ["--config", config, "--port", "0", "--data-dir", join(home, "data")];
  const child = spawn(program, [...args, "up", ...own], {
    cwd,
    env: { PATH: path, HOME: home, SLUICE_SOCKET: join(home, "limiterd.sock") },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const url = await readyUrl(child);
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ model: "sim-fast", messages: [{ role: "user", content: "Hello!" }] }),
    });
    const dashboard = await fetch(`${url}/dashboard/`);
    await dashboard.arrayBuffer();
    const body = await answer.text();
    child.kill("SIGTERM");
    const [exitCode] = (await once(child, "exit")) as [number | null];
    return { status: answer.status, body, dashboardStatus: dashboard.status, exitCode };
  } finally {
    child.kill("SIGKILL");
    await whenNoneRuns(home);
    rmSync(home, { recursive: true, force: true });
  }
}

/** When no process is left whose command line names this folder. */
async function whenNoneRuns(folder: string): Promise<void> {
  while (processesUnder(folder).length > 0) await setTimeout(100);
}

function processesUnder(folder: string): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(commandLine)
    .filter((command) => command.includes(folder));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

async function readyUrl({ stdout }: ChildProcess): Promise<string> {
  let said = "";
  for await (const piece of stdout!.iterator({ destroyOnReturn: false })) {
    said += String(piece);
    const url = /ready: +(\S+)/.exec(said)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error(`it ended before it was ready: ${said}`);
}
