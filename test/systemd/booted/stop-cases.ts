/**
 * How what has been reloaded stops, in each layout of control groups: under streams of a provider
 * that counts, nothing is cut where a drain is promised, and what is recorded is what the provider
 * has sent.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { debianVersion, repackDebian } from "../../artefacts/debian-package.js";
import { createRandom } from "../../sim/random.js";
import { recorded, requireCounted, requireWhole, Streams, type Sums } from "./counted-streams.js";
import { layoutOf, type Machine, waitFor } from "./machine.js";
import { packageFile } from "./package-cases.js";
import { block, type Case, mainPid, property, requireThat } from "./under-load.js";

const streams = 50;
/** Less than a drain; longer than what is done meanwhile takes on a busy machine. */
const ms = 6_000;
const unit = "sluice-proxy";
const provider =
  'counted: { type: openai, base_url: "http://127.0.0.1:9100/v1", api_key: none, models: [m] }';
/** On a busy machine a start takes longer than the two seconds that requests wait by default. */
const configure = `set -e
sed -i 's|^providers:.*|&\\n  ${provider}|' /etc/sluice/sluice.yaml
echo 'limiter: { deadline_ms: 60000 }' >> /etc/sluice/sluice.yaml`;

/** Waits until the processes that it has replaced are gone. */
async function aloneInUnit(machine: Machine): Promise<void> {
  await waitFor(30_000, () =>
    Number(machine.sh("pgrep -cu sluice -f programs/sluice-proxy.js || true")) === 1 ? true : null,
  );
}

interface Act {
  readonly name: string;
  readonly reloads: number;
  /** Whether the predecessors have gone before the streams begin. */
  readonly alone?: boolean;
  /** What ends the unit. */
  readonly act: string | ((machine: Machine) => Promise<void>);
}

/** As many streams on each process that was reloaded as on the last one; none may be cut. */
function underStreams({ name, reloads, alone = false, act }: Act): Case {
  return {
    name,
    async play(machine) {
      const before = recorded(machine);
      const load = new Streams(machine);
      try {
        const each = alone ? 0 : Math.floor(streams / (reloads + 1));
        for (let i = 0; i < reloads; i++) {
          if (each > 0) await load.begin({ ports: [8080], streams: each, ms });
          machine.sh(`systemctl reload ${unit}`);
        }
        if (alone) await aloneInUnit(machine);
        // Of several processes the last one is through first.
        const last = { streams: streams - each * reloads, ms: each > 0 ? ms / 4 : ms };
        await load.begin({ ports: [8080], ...last });
        const reported = load.report();
        const startedMs = performance.now();
        if (typeof act === "string") machine.sh(act);
        else await act(machine);
        const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
        const report = await reported;
        machine.sh("systemctl start sluice.target sluice-proxy");
        requireWhole(report, streams);
        await requireCounted(machine, before, report.truth);
        const result = property(machine, unit, "Result");
        requireThat(result === "success", `its result is ${result}`);
        return `${streams} streams completed and counted; it took ${seconds} s`;
      } finally {
        await load.end();
        machine.try("systemctl start sluice.target sluice-proxy");
      }
    },
  };
}

const stop = `systemctl stop ${unit}`;
const restart = `systemctl restart ${unit}`;
const stopAll =
  "systemctl stop sluice.target; while systemctl is-active -q sluice-limiterd sluice-proxy; do sleep 0.2; done";
const upgrade =
  "file=/root/sluice-next.deb; dpkg-query -W -f '${Version}' sluice | grep -q next && file=/root/sluice.deb; dpkg --force-downgrade --install $file 2>&1";

export const stopCases: readonly Case[] = [
  {
    name: "the page's block installs a gateway with a provider that counts",
    async play(machine, { page }) {
      machine.sh(`set -e\n${block(page)}`);
      machine.sh(configure);
      machine.sh("systemctl restart sluice-limiterd sluice-proxy");
      return `control groups: ${layoutOf(machine)}`;
    },
  },
  {
    name: "reloaded, it is systemd's child, which learns of its end",
    async play(machine) {
      machine.sh(`systemctl reload ${unit}`);
      const pid = mainPid(machine, unit);
      requireThat(machine.sh(`ps -o ppid= -p ${pid}`).trim() === "1", "its parent is another");
      const journal = machine.sh("journalctl --no-pager -o cat");
      requireThat(!journal.includes("not our child"), "systemd says that it isn't its child");
      return "";
    },
  },
  underStreams({ name: "reloaded, and stopped later", reloads: 1, alone: true, act: stop }),
  underStreams({ name: "reloaded, and restarted later", reloads: 1, alone: true, act: restart }),
  underStreams({ name: "reloaded twice, and stopped at once", reloads: 2, act: stop }),
  underStreams({ name: "reloaded, and restarted at once", reloads: 1, act: restart }),
  underStreams({ name: "reloaded twice, and all of it stopped", reloads: 2, act: stopAll }),
  underStreams({
    name: "reloaded, and the machine rebooted",
    reloads: 1,
    act: (machine) => machine.reboot(),
  }),
  {
    name: "reloaded, and killed",
    async play(machine) {
      const before = recorded(machine);
      const load = new Streams(machine);
      try {
        await load.begin({ ports: [8080], streams: streams / 2, ms });
        machine.sh(`systemctl reload ${unit}`);
        await load.begin({ ports: [8080], streams: streams / 2, ms });
        const pid = mainPid(machine, unit);
        machine.sh(`kill -KILL ${pid}`);
        const cut = await load.report();
        // Without groups of version 2 systemd doesn't wait for what is left of a unit.
        const whole = layoutOf(machine) === "legacy" ? 0 : streams / 2;
        requireThat(
          cut.completed >= whole && cut.completed <= streams / 2,
          `${cut.completed} completed: ${cut.failures.join("; ")}`,
        );
        await requireCounted(machine, before, cut.truth);
        // There it may not notice the end of what was left, and waits for TimeoutStopSec.
        await waitFor(60_000, () =>
          ![0, pid].includes(mainPid(machine, unit)) &&
          property(machine, unit, "ActiveState") === "active"
            ? true
            : null,
        );
        await load.begin({ ports: [8080], streams: 1, ms: 0 });
        requireWhole(await load.report(), 1);
        return `of its predecessor's ${streams / 2} streams ${cut.completed} completed`;
      } finally {
        await load.end();
      }
    },
  },
  {
    name: "reloaded and stopped at random",
    play: (machine, { stops, seed }) => randomStops(machine, stops, seed),
  },
  {
    name: "the Debian package in place of it",
    async play(machine, { page }) {
      const folder = mkdtempSync(join(tmpdir(), "sluice-machine-package-"));
      try {
        const file = await packageFile(folder);
        machine.copyIn(file, "/root/sluice.deb");
        machine.copyIn(
          repackDebian(file, folder, `${debianVersion}+next`),
          "/root/sluice-next.deb",
        );
      } finally {
        rmSync(folder, { recursive: true });
      }
      machine.sh(block(page, "## Uninstall"));
      machine.sh("dpkg --force-confold --install /root/sluice.deb 2>&1");
      return "";
    },
  },
  underStreams({
    name: "the Debian package upgraded, and stopped",
    reloads: 0,
    act: `${upgrade}; ${stop}`,
  }),
  underStreams({
    name: "the Debian package reloaded, upgraded, and restarted",
    reloads: 1,
    act: `${upgrade}; ${restart}`,
  }),
];

/** So many proxies run beside each other, each on a port of its own. */
const ports = [8081, 8082, 8083, 8084, 8085, 8086, 8087, 8088];

/** Each is reloaded, once or twice, and then stopped or restarted, under streams. */
async function randomStops(machine: Machine, stops: number, seed: number): Promise<string> {
  const random = createRandom(seed);
  const unitOf = (port: number): string => `sluice-proxy@${port}`;
  const unitsOf = (some: readonly number[]): string => some.map(unitOf).join(" ");
  // A stop takes as long as its streams.
  machine.sh("echo SLUICE_DRAIN_GRACE_SECONDS=0 >> /etc/sluice/proxy.environment");
  machine.sh(`systemctl enable --now ${unitsOf(ports)}`);
  const before = recorded(machine);
  const load = new Streams(machine);
  let truth: Sums = { requests: 0, input: 0, output: 0 };
  try {
    for (let left = stops; left > 0; left -= ports.length) {
      const chosen = ports.slice(0, left);
      await load.begin({ ports: chosen, streams: streams / 2, ms: random.int(2_000, 5_000) });
      machine.sh(`systemctl reload ${unitsOf(chosen)}`);
      const twice = chosen.filter(() => random.chance(0.3));
      if (twice.length > 0) machine.sh(`systemctl reload ${unitsOf(twice)}`);
      await load.begin({ ports: chosen, streams: streams / 2, ms: random.int(500, 3_000) });
      const restarted = chosen.filter(() => random.chance(0.5));
      const stopped = chosen.filter((port) => !restarted.includes(port));
      const reported = load.report();
      machine.sh(
        [
          `sleep ${random.between(0, 1).toFixed(2)}`,
          stopped.length === 0 ? "" : `systemctl stop ${unitsOf(stopped)} &`,
          restarted.length === 0 ? "" : `systemctl restart ${unitsOf(restarted)} &`,
          `wait; systemctl start ${unitsOf(chosen)}`,
        ].join("\n"),
      );
      const report = await reported;
      requireWhole(report, streams);
      truth = {
        requests: truth.requests + report.truth.requests,
        input: truth.input + report.truth.input,
        output: truth.output + report.truth.output,
      };
    }
    await requireCounted(machine, before, truth);
    const journal = machine.sh("journalctl --no-pager -o cat");
    requireThat(
      !/not our child|SIGKILL/.test(journal),
      "systemd has killed what it had to wait for",
    );
    return `${stops} stops after reloads, seed ${seed}: ${truth.requests} streams completed and counted`;
  } finally {
    await load.end();
    machine.try(`systemctl disable --now ${unitsOf(ports)}`);
    machine.try("sed -i '/GRACE/d' /etc/sluice/proxy.environment");
  }
}
