/**
 * What is shown in a booted systemd of the units in this repository, in this order: each case
 * leaves the services running, but for the last.
 */
import { type Machine, waitFor, writeInMachine } from "./machine.js";
import {
  block,
  type Case,
  keyFile,
  mainPid,
  property,
  requireThat,
  sluice,
  startLoad,
  underLoad,
} from "./under-load.js";

const restarts = 100;
const workers = ["sluice-proxy", "sluice-proxy-worker@2", "sluice-proxy-worker@3"];
const units = ["sluice-limiterd", "sluice-proxy"] as const;
/** The daemon ends and is started again: until then there is nothing that could be reloaded. */
const reloadDaemon = `
pid() { systemctl show sluice-limiterd --value -p MainPID; }
before=$(pid)
systemctl reload sluice-limiterd || exit
for i in $(seq 600); do
  [ "$(pid)" != "$before" ] && systemctl --quiet is-active sluice-limiterd && exit
  sleep 0.1
done
exit 1`;

/** A journal line as systemd has it. */
function priorities(machine: Machine, unit: string): ReadonlySet<string> {
  const lines = machine.sh(
    `journalctl -u ${unit} -n 50 -o json --output-fields=PRIORITY,_TRANSPORT`,
  );
  return new Set(
    lines
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { PRIORITY?: string; _TRANSPORT?: string })
      .filter(({ _TRANSPORT: transport }) => transport === "stdout")
      .map(({ PRIORITY: priority }) => priority ?? ""),
  );
}

export const cases: readonly Case[] = [
  {
    name: "the page's block installs a gateway that serves, and changes nothing when it runs again",
    async play(machine, { page }) {
      const install = block(page);
      const said = machine.sh(`set -e\n${install}`);
      requireThat(
        /^proxy .*127\.0\.0\.1:8080/m.test(said) && !said.includes("not reachable"),
        said,
      );
      // On a busy machine a start takes longer than the two seconds that requests wait by default.
      machine.sh("echo 'limiter: { deadline_ms: 60000 }' >> /etc/sluice/sluice.yaml");
      const state =
        "cat /etc/sluice/sluice.yaml /etc/sluice/secrets/*; systemctl show -p MainPID sluice-proxy sluice-limiterd";
      const before = machine.sh(state);
      machine.sh(`set -e\n${install}`);
      requireThat(machine.sh(state) === before, "the second run changed something");
      machine.sh(
        block(page, "The block makes a master key").replace(/^curl .*/, `${sluice} config check`),
      );
      machine.sh("systemctl restart sluice-proxy");
      machine.sh(`${sluice} limits set / --rpd 100000000`);
      return "";
    },
  },
  {
    name: "systemd is told how the services are, and the journal how grave a line is",
    async play(machine) {
      for (const unit of units) {
        requireThat(property(machine, unit, "Type") === "notify", unit);
        const status = await waitFor(30_000, () => {
          const text = property(machine, unit, "StatusText");
          return text.includes("proxies: 1") || text.includes("daemon: connected") ? text : null;
        });
        requireThat(status.startsWith("ready: "), status);
        const found = priorities(machine, unit);
        requireThat(found.has("6"), `${unit} has the priorities ${[...found].join(" ")}`);
      }
      return "";
    },
  },
  {
    name: "the services are shut off as far as the page says",
    async play(machine, { page }) {
      const exposure = units.map((unit) => {
        const text = machine.try(`systemd-analyze security --no-pager ${unit}`).stdout;
        return /exposure level for \S+: ([\d.]+)/.exec(text)?.[1];
      });
      const claim = `\`systemd-analyze security\` rates the daemon's exposure ${exposure[0]} and the proxy's ${exposure[1]}`;
      requireThat(page.includes(claim), `it is: ${claim}`);
      for (const unit of units)
        for (const [name, value] of [
          ["LimitCORE", "0"],
          ["WatchdogUSec", "20s"],
          ["NotifyAccess", "all"],
        ] as const)
          requireThat(property(machine, unit, name) === value, `${unit} ${name}`);
      const limit = Number(property(machine, "sluice-proxy", "MemoryMax"));
      requireThat(limit > 0 && Number.isFinite(limit), "memory has a bound");
      return exposure.join(" and ");
    },
  },
  {
    name: "the secrets are the proxy's alone",
    async play(machine) {
      const of = (unit: string): string =>
        machine.sh(`tr '\\0' '\\n' < /proc/${mainPid(machine, unit)}/environ`);
      requireThat(!of("sluice-limiterd").includes("CREDENTIALS"), "the daemon has credentials");
      requireThat(of("sluice-proxy").includes("CREDENTIALS_DIRECTORY"), "the proxy has none");
      const key = machine.sh(`cat ${keyFile}`).trim();
      for (const unit of units) requireThat(!of(unit).includes(key), "a key is in an environment");
      const other = machine.try(
        `setpriv --reuid=nobody --clear-groups cat ${keyFile} /run/credentials/sluice-proxy.service/secret_master_key`,
      );
      requireThat(other.status !== 0 && !other.stdout.includes(key), "others read the key");
      return "";
    },
  },
  {
    name: "the timer makes a backup each day, and keeps the last ones",
    async play(machine) {
      const directory = "/var/backups/sluice";
      const next = property(machine, "sluice-backup.timer", "NextElapseUSecRealtime");
      requireThat(next !== "", "the timer has no next time");
      // As after days on which the machine was off.
      machine.sh("systemctl stop sluice-backup.timer");
      machine.sh("touch -d '3 days ago' /var/lib/systemd/timers/stamp-sluice-backup.timer");
      machine.sh(
        "mkdir -p /run/systemd/system/sluice-backup.timer.d; printf '[Timer]\\nRandomizedDelaySec=0\\n' > /run/systemd/system/sluice-backup.timer.d/now.conf; systemctl daemon-reload; systemctl start sluice-backup.timer",
      );
      const list = (): readonly string[] =>
        machine.sh(`ls ${directory} | grep '^limiterd-' || true`).split("\n").filter(Boolean);
      await waitFor(60_000, () => (list().length > 0 ? true : null));
      await waitFor(60_000, () =>
        property(machine, "sluice-backup", "ActiveState") === "inactive" ? true : null,
      );
      // Older ones, of which one is somebody else's, and one that can't be made.
      const older = Array.from({ length: 9 }, (_, i) => `limiterd-2020010${i + 1}T000000Z.mdb`);
      machine.sh(`cd ${directory} && touch ${older.join(" ")} mine.mdb limiterd-old.mdb`);
      machine.sh(
        "systemctl stop sluice-limiterd-admin.socket sluice-limiterd.socket sluice-limiterd",
      );
      requireThat(machine.try("systemctl start sluice-backup").status !== 0, "it must fail");
      requireThat(
        list().length === 11,
        `a backup that failed has removed some: ${list().join(" ")}`,
      );
      machine.sh("systemctl start sluice.target sluice-limiterd && systemctl start sluice-backup");
      const kept = list();
      requireThat(
        kept.length === 8 && kept.includes("limiterd-old.mdb"),
        `it has kept ${kept.join(" ")}`,
      );
      const newest = kept.filter((name) => name !== "limiterd-old.mdb").at(-1)!;
      machine.sh(`test -e ${directory}/mine.mdb && ${sluice} verify-store ${directory}/${newest}`);
      requireThat(
        machine.sh(`stat -c '%a %U' ${directory} ${directory}/${newest}`) ===
          "700 sluice\n600 sluice\n",
        "others may read it",
      );
      machine.sh(`${sluice} status | grep -q 'last backup at'`);
      return `next at ${next}`;
    },
  },
  {
    name: "the daemon restarts under load",
    play: (machine) => underLoad(machine, restarts, "systemctl restart sluice-limiterd"),
  },
  {
    name: "the proxy reloads under load: another process each time, and no restart",
    async play(machine) {
      const before = mainPid(machine, "sluice-proxy");
      const said = await underLoad(machine, restarts, "systemctl reload sluice-proxy");
      requireThat(mainPid(machine, "sluice-proxy") !== before, "it is the same process");
      requireThat(property(machine, "sluice-proxy", "NRestarts") === "0", "it was restarted");
      return said;
    },
  },
  {
    name: "the proxy restarts under load",
    play: (machine) => underLoad(machine, restarts / 5, "systemctl restart sluice-proxy"),
  },
  {
    name: "the daemon reloads under load",
    play: (machine) => underLoad(machine, restarts / 5, reloadDaemon),
  },
  {
    name: "the target restarts under load, its sockets stay open",
    play: (machine) => underLoad(machine, 3, "systemctl restart sluice.target"),
  },
  {
    name: "what is killed is back at once, and nobody new is refused",
    async play(machine) {
      const took: number[] = [];
      for (const unit of units) {
        const pid = mainPid(machine, unit);
        const startedMs = performance.now();
        machine.sh(`kill -KILL ${pid}`);
        machine.sh(`${sluice} status > /dev/null`);
        await waitFor(30_000, () => {
          const now = mainPid(machine, unit);
          return now > 0 && now !== pid && property(machine, unit, "ActiveState") === "active"
            ? now
            : null;
        });
        took.push(performance.now() - startedMs);
      }
      return took.map((ms) => `${ms.toFixed(0)} ms`).join(" and ");
    },
  },
  {
    name: "workers share the proxy's port: each serves, and each is reloaded under load",
    async play(machine, { page }) {
      machine.sh(block(page, "## Several proxies"));
      const said = await underLoad(machine, 5, `systemctl reload ${workers.join(" ")}; sleep 1`);
      for (const unit of workers)
        machine.sh(`journalctl -u ${unit} -o cat --no-pager | grep -q '"status":200'`);
      requireThat(
        (JSON.parse(machine.sh(`${sluice} status --json`)) as { daemon: { proxies: number } })
          .daemon.proxies >= workers.length,
        "the daemon knows them all",
      );
      return said;
    },
  },
  {
    name: "a scrape at the port tells of each worker by its name, and no sum falls over a reload",
    async play(machine, { page }) {
      machine.sh(block(page, "## Several proxies"));
      const program = "/opt/sluice/dist/test/systemd/booted/scrape-workers.js";
      return machine.sh(`node ${program} "$(cat ${keyFile})" ${workers.join(" ")}`);
    },
  },
  {
    name: "a further proxy runs beside the first, and starts and stops with the target",
    async play(machine, { page }) {
      machine.sh(block(page, "For a proxy with a port of its own"));
      const { plain, streams, failures } = await startLoad(machine, 8081)();
      requireThat(failures.length === 0 && plain > 0 && streams > 0, failures.join("; "));
      const services = [...units, "sluice-proxy@8081", "sluice-proxy-worker@2"];
      const states = (): string =>
        machine.try(
          `systemctl is-active ${services.join(" ")} sluice-proxy.socket sluice-proxy@8081.socket`,
        ).stdout;
      // Running requests have their time.
      machine.sh("systemctl stop sluice.target");
      await waitFor(60_000, () => (/^(?:inactive\n){6}$/.test(states()) ? true : null));
      machine.sh("systemctl start sluice.target");
      requireThat(/^(?:active\n){6}$/.test(states()), `after the start: ${states()}`);
      return "";
    },
  },
  {
    name: "the watchdog ends a proxy that spins, one that is stopped, and a daemon that is stopped",
    async play(machine) {
      // Of a successor systemd expects signs of life, too.
      machine.sh("systemctl reload sluice-proxy");
      const spinning = mainPid(machine, "sluice-proxy");
      const stopped = ["sluice-proxy@8081", "sluice-limiterd"].map((unit) => ({
        unit,
        pid: mainPid(machine, unit),
      }));
      const startedMs = performance.now();
      machine.sh(`kill -USR1 ${spinning}`);
      writeInMachine(machine, "/tmp/spin.mjs", spin);
      machine.sh("cd /opt/sluice && node /tmp/spin.mjs");
      for (const { pid } of stopped) machine.sh(`kill -STOP ${pid}`);
      const took: string[] = [];
      for (const { unit, pid } of [{ unit: "sluice-proxy", pid: spinning }, ...stopped]) {
        await waitFor(60_000, () => {
          const now = mainPid(machine, unit);
          return now > 0 && now !== pid && property(machine, unit, "ActiveState") === "active"
            ? now
            : null;
        });
        took.push(`${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
        machine.sh(`journalctl -u ${unit} --no-pager | grep -q 'Watchdog timeout'`);
      }
      machine.sh(`${sluice} status > /dev/null`);
      return took.join(", ");
    },
  },
  {
    name: "a wrong configuration ends with 78, and is tried again for connections alone, every 5 s",
    async play(machine) {
      machine.sh(
        "cp /etc/sluice/sluice.yaml /tmp/right; echo 'sever: {}' >> /etc/sluice/sluice.yaml",
      );
      requireThat(machine.try(`${sluice} config check`).status === 78, "config check says so");
      requireThat(machine.try("systemctl restart sluice-limiterd").status !== 0, "it started");
      const ends =
        "journalctl -u sluice-limiterd -o cat --no-pager -p err | grep -c 'sever is not a known key'";
      // The proxies connect again and again; each attempt waits for the pause of the one before.
      machine.sh("sleep 11");
      const attempts = Number(machine.sh(ends));
      requireThat(attempts >= 1 && attempts <= 4, `${attempts} starts in 16 s`);
      machine.sh("journalctl -u sluice-limiterd -o cat --no-pager | grep -q 'status=78/CONFIG'");
      machine.sh("cp /tmp/right /etc/sluice/sluice.yaml; systemctl restart sluice-limiterd");
      machine.sh(`${sluice} status > /dev/null`);
      return "";
    },
  },
  {
    name: "what the page removes is gone, what is the operator's is left",
    async play(machine, { page }) {
      machine.sh(`set -e\n${block(page, "## Uninstall")}`);
      requireThat(
        machine.sh("systemctl list-units --all --no-legend 'sluice*'").trim() === "",
        "units are left",
      );
      requireThat(
        machine.sh("ls /etc/systemd/system /etc/systemd/system/*.wants").includes("sluice") ===
          false,
        "files are left",
      );
      requireThat(machine.try("pgrep -u sluice").status !== 0, "processes are left");
      machine.sh(`test -s ${keyFile} && test -e /var/lib/sluice/limiterd.mdb`);
      return "";
    },
  },
];

/** By the inspector, which SIGUSR1 opens: the event loop runs into a loop that never ends. */
const spin = `
import { createRequire } from "node:module";
const WebSocket = createRequire("/opt/sluice/package.json")("ws");
for (let tries = 0; ; tries++) {
  try {
    const [{ webSocketDebuggerUrl }] = await (await fetch("http://127.0.0.1:9229/json")).json();
    const socket = new WebSocket(webSocketDebuggerUrl);
    socket.on("open", () => {
      const params = { expression: "setTimeout(() => { for (;;); }, 10)" };
      socket.send(JSON.stringify({ id: 1, method: "Runtime.evaluate", params }));
    });
    socket.on("message", () => process.exit(0));
    break;
  } catch (error) {
    if (tries === 300) throw error;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
`;
