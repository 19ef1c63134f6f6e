import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { exitCodes } from "../../bin/session/exit-code.js";
import { stopGraceMs } from "../../bin/supervisor/stop-deadlines.js";
import { loadConfig } from "../../shared/config/load-config.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const services = ["sluice-limiterd.service", "sluice-proxy.service"];
const textOf = (file: string): string => readFileSync(join(root, "systemd", file), "utf8");

/** The last value of a setting, as systemd takes it for those that aren't lists. */
const settingOf = (unit: string, name: string): string | null =>
  textOf(unit)
    .split("\n")
    .findLast((line) => line.startsWith(`${name}=`))
    ?.slice(name.length + 1) ?? null;

const missing = (program: string): string | false =>
  spawnSync(program, ["--version"]).error === undefined
    ? false
    : `${program} is not installed here`;

t.test(
  "systemd accepts the units without a word",
  { skip: missing("systemd-analyze") },
  async (t) => {
    const directory = mkdtempSync(join(tmpdir(), "sluice-units-"));
    t.teardown(() => rmSync(directory, { recursive: true, force: true }));
    const units = [...services, "sluice.target"];
    // What is installed elsewhere stands in for what isn't installed here.
    for (const unit of units)
      writeFileSync(
        join(directory, unit),
        textOf(unit).replace(
          "/usr/bin/node",
          existsSync("/usr/bin/node") ? "/usr/bin/node" : process.execPath,
        ),
      );
    const { status, stderr } = spawnSync(
      "systemd-analyze",
      ["verify", "--man=no", ...units.map((unit) => join(directory, unit))],
      { encoding: "utf8" },
    );
    t.equal(
      stderr
        .split("\n")
        .filter((line) => line.includes("sluice"))
        .join("\n"),
      "",
    );
    t.equal(status, 0);
  },
);

t.test("systemd-sysusers accepts the user", { skip: missing("systemd-sysusers") }, async (t) => {
  t.match(
    execFileSync("systemd-sysusers", ["--dry-run", join(root, "systemd/sluice.sysusers.conf")], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
    /^/,
  );
  t.match(textOf("sluice.sysusers.conf"), /^u sluice - /m);
});

t.test("the units start the programs of the package, as one user, at one socket", async (t) => {
  const { bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    bin: Record<string, string>;
  };
  for (const unit of services) {
    t.equal(
      settingOf(unit, "ExecStart"),
      `/usr/bin/node /opt/sluice/${bin[unit.replace(".service", "")]}`,
    );
    t.equal(settingOf(unit, "User"), "sluice");
    t.match(settingOf(unit, "Environment"), /SLUICE_SOCKET=\/run\/sluice\/limiterd\.sock/);
  }
  t.equal(settingOf("sluice-limiterd.service", "RuntimeDirectory"), "sluice");
});

t.test("a stop is given more time than the drain and its grace", async (t) => {
  const loaded = loadConfig({ env: {}, cwd: "/nowhere", uid: 0 });
  const { drainMs, drainGraceMs } = loaded.ok
    ? loaded.config.server
    : { drainMs: Number.NaN, drainGraceMs: 0 };
  for (const unit of services)
    t.ok(
      Number(settingOf(unit, "TimeoutStopSec")) * 1000 > drainGraceMs + drainMs + stopGraceMs,
      unit,
    );
});

t.test(
  "a part is started again for ever, unless the next start would end the same way",
  async (t) => {
    for (const unit of services) {
      t.equal(settingOf(unit, "Restart"), "always");
      t.equal(settingOf(unit, "StartLimitIntervalSec"), "0");
      t.equal(
        settingOf(unit, "RestartPreventExitStatus"),
        `${exitCodes.usage} ${exitCodes.configuration}`,
      );
    }
  },
);

t.test("the daemon's restart doesn't take the proxy with it", async (t) => {
  for (const name of ["BindsTo", "Requires", "Requisite"])
    t.equal(settingOf("sluice-proxy.service", name), null);
  t.match(settingOf("sluice-proxy.service", "After"), /sluice-limiterd\.service/);
  t.match(settingOf("sluice-proxy.service", "Wants"), /sluice-limiterd\.service/);
});

t.test("the hardening leaves Node what it needs", async (t) => {
  for (const unit of services) {
    t.equal(settingOf(unit, "MemoryDenyWriteExecute"), null, "V8 compiles at run time");
    t.match(
      settingOf(unit, "RestrictAddressFamilies"),
      /\bAF_UNIX\b.*\bAF_NETLINK\b/,
      "node-ipc lists the network interfaces when it is loaded",
    );
    t.equal(
      settingOf(unit, "SystemCallErrorNumber"),
      "EPERM",
      "a refused call is an error, not a death",
    );
  }
  t.notMatch(settingOf("sluice-limiterd.service", "RestrictAddressFamilies"), /AF_INET/);
});

t.test("the page on systemd names every file in the directory", async (t) => {
  const page = readFileSync(join(root, "docs/systemd.md"), "utf8");
  for (const file of readdirSync(join(root, "systemd"))) t.ok(page.includes(file), file);
});
