import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import {
  assignmentsOf,
  systemdNotices,
  watchdogMsOf,
} from "../../../shared/supervision/systemd-notices.js";

/** A directory with a program `systemd-notify` that does what the script says. */
function programs(t: Test, script: string | null): string {
  const directory = mkdtempSync(join(tmpdir(), "sluice-notify-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  if (script !== null)
    writeFileSync(join(directory, "systemd-notify"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return directory;
}

t.test("a notice is the assignments of sd_notify, each in one line", async (t) => {
  const table = [
    [{ ready: true, status: "ready: 3" }, ["READY=1", "STATUS=ready: 3"]],
    [{ watchdog: true, status: "a\nREADY=1\u0000" }, ["WATCHDOG=1", "STATUS=a READY=1 "]],
    [{ mainPid: 42, ready: true }, ["MAINPID=42", "READY=1"]],
    [{ reloading: true }, ["RELOADING=1"]],
    [{ stopping: true, status: "" }, ["STOPPING=1", "STATUS="]],
    [{}, []],
  ] as const;
  for (const [notice, assignments] of table) t.same(assignmentsOf(notice), assignments);
  t.equal(assignmentsOf({ status: "x".repeat(100_000) })[0]!.length, "STATUS=".length + 300);
});

t.test(
  "each notice is one run of systemd-notify, which has nothing else of the environment",
  async (t) => {
    const directory = programs(
      t,
      'printf "%s|" "$@" >> "$(dirname "$0")/told"; env | sort >> "$(dirname "$0")/told"',
    );
    const env = {
      NOTIFY_SOCKET: "@notify",
      PATH: `${directory}:/bin:/usr/bin`,
      OPENAI_API_KEY: "sk-1",
    };
    const notices = systemdNotices({ env, onFailure: (reason) => t.fail(reason) });
    t.ok(notices.accepted);
    t.ok(await notices.send({ ready: true, status: "serves" }));
    const sent = readFileSync(join(directory, "told"), "utf8");
    t.match(sent, /^READY=1\|STATUS=serves\|/);
    t.match(sent, /\bNOTIFY_SOCKET=@notify$/m);
    t.notMatch(sent, /OPENAI/);
  },
);

t.test("a program that is missing or fails is reported once, until it works again", async (t) => {
  const directory = programs(t, 'test -e "$(dirname "$0")/works"');
  const reasons: string[] = [];
  const env = { NOTIFY_SOCKET: "@notify", PATH: directory };
  const onFailure = (reason: string) => void reasons.push(reason);
  const failing = systemdNotices({
    env: { ...env, PATH: `${directory}:/bin:/usr/bin` },
    onFailure,
  });
  t.notOk(await failing.send({ watchdog: true }));
  t.notOk(await failing.send({ watchdog: true }));
  t.same(reasons, ["systemd-notify ended with exit code 1"]);
  writeFileSync(join(directory, "works"), "");
  t.ok(await failing.send({ watchdog: true }));
  rmSync(join(directory, "works"));
  t.notOk(await failing.send({ watchdog: true }));
  t.equal(reasons.length, 2);
  const missing = systemdNotices({ env: { ...env, PATH: programs(t, null) }, onFailure });
  t.notOk(await missing.send({ ready: true }));
  t.match(reasons.at(-1), /ENOENT/);
});

t.test("without systemd nothing is started", async (t) => {
  for (const NOTIFY_SOCKET of [undefined, ""])
    t.notOk(systemdNotices({ env: { NOTIFY_SOCKET }, onFailure: t.fail }).accepted);
});

t.test("the watchdog's time is read in microseconds, and what is no time is none", async (t) => {
  const own = { pid: 7, isSuccessor: false };
  t.equal(watchdogMsOf({ WATCHDOG_USEC: "20000000" }, own), 20_000);
  for (const WATCHDOG_USEC of [undefined, "", "0", "-1", "2e7", "20s", "999"])
    t.equal(watchdogMsOf({ WATCHDOG_USEC }, own), null, String(WATCHDOG_USEC));
});

t.test("a watchdog that waits for another process is none, but for a successor's", async (t) => {
  const env = (WATCHDOG_PID: string) => ({ WATCHDOG_USEC: "20000000", WATCHDOG_PID });
  t.equal(watchdogMsOf(env("7"), { pid: 7, isSuccessor: false }), 20_000);
  for (const other of ["8", "", "77", "07"])
    t.equal(watchdogMsOf(env(other), { pid: 7, isSuccessor: false }), null, other);
  t.equal(watchdogMsOf(env("8"), { pid: 7, isSuccessor: true }), 20_000);
});
