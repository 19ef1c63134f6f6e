/**
 * The Debian package in the machine: installed, upgraded under load, removed, purged. They come
 * last, where nothing of the other installation is left but the operator's own.
 */
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { debianVersion, packDebian, repackDebian } from "../../artefacts/debian-package.js";
import { type Machine, waitFor } from "./machine.js";
import {
  block,
  type Case,
  keyFile,
  mainPid,
  property,
  requireThat,
  sluice,
  underLoad,
} from "./under-load.js";

const next = `${debianVersion}+next`;

/** The package in the folder of `SLUICE_ARTEFACTS`, or one made there by way of `folder`. */
export async function packageFile(folder: string): Promise<string> {
  const kept = process.env["SLUICE_ARTEFACTS"]!;
  const name = readdirSync(kept).find((file) => file.endsWith(".deb"));
  if (name !== undefined) return join(kept, name);
  const file = join(kept, `sluice_${debianVersion}_amd64.deb`);
  copyFileSync(await packDebian(folder), file);
  return file;
}

function installedVersion(machine: Machine): string {
  return machine.try("dpkg-query -W -f '${Version} ${db:Status-Status}' sluice").stdout;
}

export const packageCases: readonly Case[] = [
  {
    name: "the Debian package installs a gateway that serves",
    async play(machine, { page }) {
      machine.sh(block(page, "## Uninstall"));
      machine.sh("rm -rf /etc/sluice /var/lib/sluice /var/lib/sluice-proxy /run/sluice");
      const folder = mkdtempSync(join(tmpdir(), "sluice-machine-package-"));
      try {
        const file = await packageFile(folder);
        machine.copyIn(file, "/root/sluice.deb");
        machine.copyIn(repackDebian(file, folder, next), "/root/sluice-next.deb");
      } finally {
        rmSync(folder, { recursive: true });
      }
      machine.sh("dpkg --install /root/sluice.deb 2>&1");
      requireThat(installedVersion(machine) === `${debianVersion} installed`, "dpkg says");
      requireThat(property(machine, "sluice.target", "UnitFileState") === "enabled", "enabled");
      // Its own program, by its own path: nothing of the other installation is asked.
      const said = machine.sh("cd / && sluice status && sluice config check");
      requireThat(/^proxy .*127\.0\.0\.1:8080/m.test(said), said);
      const program = machine.sh(`readlink /proc/${mainPid(machine, "sluice-proxy")}/exe`).trim();
      requireThat(program === "/usr/lib/sluice/node/bin/node", `it runs ${program}`);
      requireThat(
        machine.sh(`stat -c '%a %U' ${keyFile} /etc/sluice/secrets /var/lib/sluice`) ===
          "600 root\n700 root\n700 sluice\n",
        "keys and store are closed",
      );
      machine.sh("echo 'limiter: { deadline_ms: 60000 }' >> /etc/sluice/sluice.yaml");
      machine.sh("systemctl restart sluice-proxy");
      machine.sh(`${sluice} limits set / --rpd 100000000`);
      return machine.sh("du -sh /usr/lib/sluice | cut -f1").trim();
    },
  },
  {
    name: "the Debian package upgraded under load refuses nothing, and keeps configuration, key and counters",
    async play(machine) {
      const state = "cat /etc/sluice/sluice.yaml /etc/sluice/secrets/*";
      const before = machine.sh(state);
      const pids = ["sluice-limiterd", "sluice-proxy"].map((unit) => mainPid(machine, unit));
      const said = await underLoad(
        machine,
        2,
        "file=/root/sluice-next.deb; dpkg-query -W -f '${Version}' sluice | grep -q next && file=/root/sluice.deb; dpkg --force-downgrade --install $file 2>&1",
      );
      requireThat(machine.sh(state) === before, "the upgrade changed the operator's files");
      for (const [i, unit] of ["sluice-limiterd", "sluice-proxy"].entries())
        requireThat(mainPid(machine, unit) !== pids[i], `${unit} is of the old release`);
      requireThat(property(machine, "sluice-proxy", "NRestarts") === "0", "it was restarted");
      return said;
    },
  },
  {
    name: "the Debian package removed is stopped and the operator's files stay; purged they go",
    async play(machine) {
      machine.sh("dpkg --remove sluice 2>&1");
      await waitFor(45_000, () => (machine.try("pgrep -u sluice").status === 0 ? null : true));
      const left = machine.sh("systemctl list-units --no-legend --state=active 'sluice*'").trim();
      requireThat(left === "", `units are left: ${left}`);
      machine.sh(`test -s ${keyFile} && test -e /var/lib/sluice/limiterd.mdb`);
      machine.sh("dpkg --install /root/sluice-next.deb 2>&1");
      machine.sh("sluice limits list --json | grep -q 100000000");
      machine.sh("dpkg --purge sluice 2>&1");
      requireThat(
        machine.try("ls -d /etc/sluice /var/lib/sluice /usr/lib/sluice").stdout === "",
        "files are left",
      );
      return "";
    },
  },
];
