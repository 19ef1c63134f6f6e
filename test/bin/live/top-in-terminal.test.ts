/**
 * `sluice top` in a real terminal: resized, stopped, killed. The terminal is what it was before on
 * every way out. It needs tmux.
 */
import { execFile as execFileByCallback, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { programPath } from "../../support/processes/program-path.js";
import { temporaryDirectory } from "../program-run.js";

const execFile = promisify(execFileByCallback);
const yaml = `
rate_limits: { user_paths: [{ path: /team, limits: [{ period: day, max_requests: 5 }] }] }
budgets:
  user_paths:
    - { path: /team, limits: [{ period: daily, amount: 5 }] }
    - { path: /${"long".repeat(40)}, limits: [{ period: daily, amount: 5 }] }
`;
/** Of a busy machine. */
const patienceMs = 20_000;
const without = spawnSync("tmux", ["-V"]).error === undefined ? false : "tmux isn't installed";

t.test("the terminal is put back on every way out", { skip: without }, async (t) => {
  // A process of its own: tests that run beside this one may keep this process busy.
  const site = makeSite(t, yaml);
  await site.startDaemon();
  const directory = temporaryDirectory(t);
  const tmux = async (...args: readonly string[]): Promise<string> =>
    (
      await execFile("tmux", ["-S", join(directory, "tmux"), "-f", "/dev/null", ...args], {
        env: { ...process.env, TERM: "xterm" },
      })
    ).stdout;
  t.teardown(() => void spawnSync("tmux", ["-S", join(directory, "tmux"), "kill-server"]));
  const screen = (): Promise<string> => tmux("capture-pane", "-p");
  /** The test fails with what is there instead, rather than to wait for it for ever. */
  async function shows(isRight: (shown: string) => boolean, what: string): Promise<void> {
    const untilMs = performance.now() + patienceMs;
    // Each look starts a process.
    const last = await until(screen, (shown) => isRight(shown) || performance.now() > untilMs, 100);
    if (!isRight(last)) throw new Error(`the terminal doesn't show ${what}, but:\n${last}`);
  }
  const showsText = (text: string): Promise<void> =>
    shows((shown) => shown.includes(text), JSON.stringify(text));
  const type = (text: string): Promise<string> => tmux("send-keys", text, "Enter");
  const pidFile = join(directory, "pid");
  // Short on the screen, which is made small.
  writeFileSync(
    join(directory, "top"),
    `echo $$ >${pidFile}\nexec ${process.execPath} ${programPath("sluice")} top --socket ${site.socket}\n`,
  );
  const command = "sh top";
  await tmux("new-session", "-d", "-c", directory, "-x", "100", "-y", "24", "sh");
  await type("PS1='$ '; stty -a >/dev/null; echo be''fore");
  await showsText("before");

  await type(command);
  await showsText("[rules]");
  t.notMatch(await screen(), "before");
  await tmux("resize-window", "-x", "60", "-y", "16");
  await shows((shown) => shown.trimEnd().split("\n").length === 16, "16 lines");
  t.ok((await screen()).split("\n").every((line) => line.length <= 60));
  await tmux("send-keys", "Tab");
  await showsText("[budgets]");
  await showsText("/team");
  await shows((shown) => shown.split("\n").some((line) => line.length === 60), "a full line");

  await tmux("send-keys", "Tab");
  await showsText("[paths]");
  await showsText("REQUESTS TODAY");
  await tmux("send-keys", "Tab");
  await showsText("PROVIDER");
  for (let i = 0; i < 4; i++) await tmux("send-keys", "Tab");
  await showsText("[budgets]");

  await tmux("send-keys", "C-z");
  await showsText("Stopped");
  t.match(await screen(), "before");
  await type("fg");
  await showsText("[budgets]");
  await tmux("send-keys", "q");
  await showsText("before");
  await type("echo code $?; stty -a | grep -c -- -icanon");
  await showsText("code 0\n0");

  for (const [signal, code] of [
    ["SIGTERM", 143],
    ["SIGHUP", 129],
    ["SIGINT", 130],
  ] as const) {
    await type(`clear; echo again ${signal}; ${command}`);
    await showsText("[rules]");
    process.kill(Number(readFileSync(pidFile, "utf8")), signal);
    await showsText(`again ${signal}`);
    await type("echo code $?; stty -a | grep -c -- -icanon");
    await showsText(`code ${code}\n0`);
  }
});
