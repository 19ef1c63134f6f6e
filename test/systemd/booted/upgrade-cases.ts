/**
 * Neighbouring releases in the machine, by the words of docs/reload-and-upgrade.md: the one before
 * this one, and one after it with another wire version and another schema of the store. Each is
 * replaced by the other under load, daemon first and proxy first. They come last, and leave nothing
 * installed.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { debianVersion } from "../../artefacts/debian-package.js";
import {
  packReleaseAfter,
  packReleaseBefore,
  releaseAfter,
  versionBefore,
} from "../../artefacts/other-releases.js";
import { repository } from "../../artefacts/run.js";
import { type Machine, waitFor } from "./machine.js";
import { packageFile } from "./package-cases.js";
import { block, type Case, counted, requireThat, sluice, underLoad } from "./under-load.js";

const page = readFileSync(join(repository, "docs/reload-and-upgrade.md"), "utf8");
/** The files of each release in the machine. */
const files = {
  before: "/root/before.deb",
  current: "/root/current.deb",
  after: "/root/after.deb",
};
const store = "/var/lib/sluice/limiterd.mdb";
/** Those of `load.ts`, each with one request at a time. */
const clients = 7;

/** Puts a release's files in place; what runs goes on. */
function unpack(file: string): string {
  return `dpkg --force-downgrade --unpack ${file} 2>&1; systemctl daemon-reload`;
}

/** What a package does when it is configured is a further replacement, of each by itself. */
const configure = "dpkg --force-confold --configure sluice 2>&1";
const daemon = "systemctl restart sluice-limiterd";
const proxy = "systemctl reload sluice-proxy";

/** Has both run, and be looked at, between two steps. */
function inTurn(...steps: readonly string[]): string {
  return `set -e; ${steps.map((step) => step.trim()).join("\nsleep 1; ")}`;
}

/** Waits until the daemon knows of so many proxies of an earlier wire version, and no other. */
function olderProxies(count: number): string {
  const status = `${sluice} status --json | tr -d ' \\n'`;
  return `for i in $(seq 50); do ${status} | grep -q '"proxies":1,.*"older_proxies":${count},' && break; sleep 0.2; [ $i -lt 50 ]; done`;
}

function versions(machine: Machine): string {
  const { daemon: found } = JSON.parse(machine.sh(`${sluice} status --json`)) as {
    readonly daemon: { readonly version: string };
  };
  return found.version;
}

/** With nothing of an earlier case, and a rule that counts all requests. */
function installAnew(machine: Machine, file: string, away: string): void {
  machine.try(`dpkg --purge sluice; ${away}`);
  machine.sh("rm -rf /etc/sluice /var/lib/sluice /var/lib/sluice-proxy /run/sluice");
  machine.sh(`dpkg --install ${file} 2>&1`);
  // On a busy machine a start takes longer than the two seconds that requests wait by default.
  machine.sh("echo 'limiter: { deadline_ms: 60000 }' >> /etc/sluice/sluice.yaml");
  machine.sh("systemctl restart sluice-limiterd sluice-proxy");
  machine.sh(`${sluice} limits set / --rpd 100000000`);
}

export const upgradeCases: readonly Case[] = [
  {
    name: "the release before this one upgraded under load, daemon first and proxy first, and back again",
    async play(machine, texts) {
      const folder = mkdtempSync(join(tmpdir(), "sluice-release-"));
      try {
        const file = await packageFile(folder);
        machine.copyIn(file, files.current);
        machine.copyIn(packReleaseBefore(file, folder), files.before);
      } finally {
        rmSync(folder, { recursive: true });
      }
      installAnew(machine, files.before, block(texts.page, "## Uninstall"));
      requireThat(versions(machine) === versionBefore, "the release before runs");
      const said = await underLoad(
        machine,
        1,
        inTurn(
          ...[unpack(files.current), block(page, "### Upgrade under systemd"), configure],
          // Back again: the proxies first.
          ...[unpack(files.before), block(page, "### Back to the release before"), configure],
          // The other order.
          ...[unpack(files.current), proxy, daemon, configure],
          ...[unpack(files.before), daemon, proxy, configure],
          ...[unpack(files.current), daemon, proxy],
        ),
      );
      machine.sh(configure);
      requireThat(versions(machine) === debianVersion.split("-")[0], "this release runs");
      machine.sh(`${sluice} backup /root/whole.mdb && ${sluice} verify-store /root/whole.mdb`);
      return said;
    },
  },
  {
    name: "a release with another wire version and schema upgraded to under load, and given up again",
    async play(machine, texts) {
      const folder = mkdtempSync(join(tmpdir(), "sluice-release-"));
      try {
        const file = await packageFile(folder);
        machine.copyIn(file, files.current);
        machine.copyIn(packReleaseAfter(file, folder), files.after);
      } finally {
        rmSync(folder, { recursive: true });
      }
      installAnew(machine, files.current, block(texts.page, "## Uninstall"));
      await underLoad(machine, 1, "true");
      const before = counted(machine);
      const up = [unpack(files.after), daemon, olderProxies(1), proxy, olderProxies(0), configure];
      const said = [await underLoad(machine, 1, inTurn(...up))];
      const upgraded = counted(machine);
      requireThat(versions(machine) === releaseAfter.split("-")[0], "the release after runs");

      // Back again: the proxies first. The daemon says that it can't.
      const back = inTurn(unpack(files.current), proxy, olderProxies(1));
      said.push(await underLoad(machine, 1, back));
      machine.try(daemon);
      const sentence = `${store} was written by a later release: it has the schema 2, and this Sluice reads up to 1`;
      const journal = "journalctl -u sluice-limiterd -o cat --no-pager";
      await waitFor(15_000, () => (machine.sh(journal).includes(sentence) ? true : null));
      machine.sh(`${journal} | grep -q 'status=74'`);
      const bytes = machine.sh(`sha256sum ${store}`);
      machine.sh("sleep 6");
      requireThat(machine.sh(`sha256sum ${store}`) === bytes, "it was written to");
      machine.sh(`set -e; ${block(page, "### Restore the store from before the upgrade")}`);
      // As it was when it was converted: of the clients' requests, some had been admitted then, and
      // were recorded later.
      const restored = counted(machine);
      const open = restored.counted - restored.recorded;
      requireThat(
        before.recorded < restored.recorded &&
          restored.recorded < upgraded.recorded &&
          open >= 0 &&
          open <= clients,
        `${JSON.stringify({ before, upgraded, restored })}`,
      );
      machine.sh(configure);

      // Once more, the proxies first: the file that is kept is the one from before this time.
      const again = [
        unpack(files.after),
        proxy,
        olderProxies(0),
        daemon,
        olderProxies(0),
        configure,
      ];
      said.push(await underLoad(machine, 1, inTurn(...again)));
      const kept = JSON.parse(machine.sh(`${sluice} verify-store ${store}.schema-1 --json`)) as {
        readonly records: number;
      };
      requireThat(kept.records > restored.recorded, `the kept store has ${kept.records} records`);
      machine.sh("dpkg --purge sluice 2>&1");
      return said.join("; ");
    },
  },
];
