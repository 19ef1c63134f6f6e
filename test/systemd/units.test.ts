import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { exitCodes } from "../../bin/session/exit-code.js";
import { stopGraceMs } from "../../bin/supervisor/stop-deadlines.js";
import { newSpaceFlag } from "../../bin/supervisor/supervised-proxies.js";
import { keptCodeFlag } from "../../bin/supervisor/supervised-service.js";
import { daemonSockets } from "../../limiterd/open-sockets.js";
import { socketNames } from "../../proxy/open-listeners.js";
import { loadConfig } from "../../shared/config/load-config.js";
import { adminSocketBeside } from "../../shared/socket/socket-place.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const proxies = ["sluice-proxy.service", "sluice-proxy@.service"];
const worker = "sluice-proxy-worker@.service";
/** Its timer starts it. */
const backup = "sluice-backup.service";
const services = ["sluice-limiterd.service", ...proxies, worker];
const unitFiles = readdirSync(join(root, "systemd")).filter((file) =>
  /\.(?:service|socket|timer|target)$/.test(file),
);
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
    // Of a template, one of its instances.
    const instanceOf = (unit: string): string => unit.replace("@.", "@8081.");
    // What is installed elsewhere stands in for what isn't installed here.
    const node = existsSync("/usr/bin/node") ? "/usr/bin/node" : process.execPath;
    const examples = readdirSync(join(root, "docs/examples")).filter((file) =>
      file.endsWith(".service"),
    );
    const texts = [
      ...unitFiles.map((unit) => [instanceOf(unit), textOf(unit)] as const),
      ...examples.map(
        (unit) => [unit, readFileSync(join(root, "docs/examples", unit), "utf8")] as const,
      ),
    ];
    for (const [unit, text] of texts)
      writeFileSync(
        join(directory, unit),
        text.replaceAll("/usr/bin/node", node).replaceAll("/usr/bin/rclone", node),
      );
    const { status, stderr } = spawnSync(
      "systemd-analyze",
      ["verify", "--man=no", ...texts.map(([unit]) => join(directory, unit))],
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
    const name = unit.replace(/(?:-worker)?@?\.service/, "");
    const flags = name === "sluice-proxy" ? [keptCodeFlag, newSpaceFlag] : [keptCodeFlag];
    const program = ["/usr/bin/node", ...flags, `/opt/sluice/${bin[name]}`].join(" ");
    const own = unit === "sluice-proxy@.service" ? `${program} --port %i` : program;
    t.equal(settingOf(unit, "ExecStart"), own);
    t.equal(settingOf(unit, "User"), "sluice");
    t.match(settingOf(unit, "Environment"), /SLUICE_SOCKET=\/run\/sluice\/limiterd\.sock/);
  }
  t.match(textOf("sluice.tmpfiles.conf"), /^d \/run\/sluice 0750 sluice sluice -$/m);
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
  for (const proxy of proxies) {
    for (const name of ["BindsTo", "Requires", "Requisite"]) t.equal(settingOf(proxy, name), null);
    t.match(settingOf(proxy, "After"), /sluice-limiterd\.service/);
    t.match(settingOf(proxy, "Wants"), /sluice-limiterd\.service/);
  }
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
  t.same(
    textOf("sluice-limiterd.service.d/cluster.conf")
      .split("\n")
      .filter((line) => /^[^#]/.test(line)),
    ["[Service]", "RestrictAddressFamilies=AF_INET AF_INET6"],
    "the drop-in for what hosts share opens the network, and nothing else",
  );
});

t.test("a stuck service is ended, and a service that isn't stuck has time to say so", async (t) => {
  for (const unit of services) {
    t.equal(settingOf(unit, "Type"), "notify");
    t.equal(settingOf(unit, "NotifyAccess"), "all", "systemd-notify isn't the main process");
    t.ok(Number(settingOf(unit, "WatchdogSec")) >= 20, unit);
  }
});

t.test("a backup is shut off as the daemon is, and is made where it may write", async (t) => {
  const hardening = (unit: string): readonly string[] => {
    const text = textOf(unit);
    return settings(unit).slice(
      settings(unit).indexOf("NoNewPrivileges=yes"),
      text.includes("[Install]") ? -1 : undefined,
    );
  };
  t.same(hardening(backup), hardening("sluice-limiterd.service"));
  t.equal(settingOf(backup, "User"), "sluice");
  const directory = /SLUICE_BACKUP_DIR=(\S+)/.exec(textOf(backup))![1]!;
  t.equal(settingOf(backup, "ReadWritePaths"), `-${directory}`);
  t.match(textOf("sluice.tmpfiles.conf"), `d ${directory} 0700 sluice sluice -`);
  t.match(
    settingOf(backup, "ExecStart"),
    / backup --keep \$\{SLUICE_BACKUP_KEEP\} \$\{SLUICE_BACKUP_DIR\}$/,
  );
  t.equal(settingOf("sluice-backup.timer", "Persistent"), "yes");
});

t.test("sockets have the names, places and modes that the programs ask for", async (t) => {
  const daemon = ["sluice-limiterd.socket", "sluice-limiterd-admin.socket"];
  const socket = "/run/sluice/limiterd.sock";
  t.same(
    daemon.map((unit) => settingOf(unit, "FileDescriptorName")),
    daemonSockets,
  );
  t.same(
    daemon.map((unit) => settingOf(unit, "ListenStream")),
    [socket, adminSocketBeside(socket)],
  );
  for (const unit of daemon) {
    t.equal(settingOf(unit, "SocketMode"), "0600");
    t.equal(settingOf(unit, "SocketUser"), "sluice");
  }
  t.equal(settingOf("sluice-limiterd.service", "Sockets"), daemon.join(" "));
  for (const unit of proxies) {
    const ofProxy = unit.replace(".service", ".socket");
    t.equal(settingOf(ofProxy, "FileDescriptorName"), socketNames[0]);
    t.equal(settingOf(unit, "Sockets"), ofProxy.replace("@.", "@%i."));
  }
});

t.test(
  "everything starts and stops with the target, whose restart leaves the sockets open",
  async (t) => {
    const wanted =
      textOf("sluice.target")
        .match(/^Wants=.*$/gm)
        ?.join(" ") ?? "";
    for (const unit of unitFiles.filter((unit) => unit !== "sluice.target")) {
      if (unit !== backup) {
        if (!unit.includes("@")) t.ok(wanted.includes(unit), `the target wants ${unit}`);
        t.equal(settingOf(unit, "WantedBy"), "sluice.target");
      }
      const stops = unit.endsWith(".socket") ? "StopPropagatedFrom" : "PartOf";
      t.equal(settingOf(unit, stops), "sluice.target", unit);
    }
  },
);

t.test("no core dump is left, and memory has a bound", async (t) => {
  for (const unit of services) {
    t.equal(settingOf(unit, "LimitCORE"), "0");
    t.match(settingOf(unit, "MemoryMax"), /^\d+%$/);
  }
});

const settings = (unit: string): readonly string[] =>
  textOf(unit)
    .split("\n")
    .filter((line) => /^\w+=/.test(line));

t.test("a further proxy on the same port differs from the first by its names alone", async (t) => {
  const [first, further] = [settings(proxies[0]!), settings(worker)];
  const differ = further.filter((line) => !first.includes(line));
  t.same(
    differ.map((line) => line.split("=")[0]),
    ["Description", "RuntimeDirectory", "Environment", "EnvironmentFile", "SyslogIdentifier"],
  );
  for (const line of differ) t.match(line, /%i/);
  t.equal(first.length, further.length - 1, "but for an environment of its own");
  t.equal(settingOf(worker, "Sockets"), "sluice-proxy.socket");
});

t.test("a further proxy differs from the first by its port and its names alone", async (t) => {
  const [first, further] = [settings(proxies[0]!), settings(proxies[1]!)];
  const differ = further.filter((line) => !first.includes(line));
  t.same(
    differ.map((line) => line.split("=")[0]),
    [
      "Description",
      "ExecStart",
      "Sockets",
      "RuntimeDirectory",
      "EnvironmentFile",
      "SyslogIdentifier",
      "Also",
    ],
  );
  for (const line of differ) t.match(line, /%i/);
  t.equal(
    first.length - 1,
    further.length - 2,
    "but for an environment of its own and its socket; nobody shares its port",
  );
});

t.test("the daemon gets neither the environment nor the secrets of proxies", async (t) => {
  const text = textOf("sluice-limiterd.service");
  t.notMatch(text, /^LoadCredential=/m);
  t.notMatch(text, /^EnvironmentFile=.*proxy/m);
  for (const unit of proxies)
    t.match(textOf(unit), /^LoadCredential=secret:\/etc\/sluice\/secrets$/m);
});

t.test(
  "the configuration that is installed is valid, for both programs, and isn't open",
  async (t) => {
    const file = join(root, "systemd/sluice.yaml");
    const loaded = loadConfig({ file, env: {}, cwd: "/", uid: 999 });
    t.ok(loaded.ok);
    t.match(loaded, {
      config: { server: { masterKeyFile: "/${CREDENTIALS_DIRECTORY}/secret_master_key" } },
      warnings: { length: 0 },
    });
  },
);

t.test("who fails again and again waits longer, up to five seconds", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "sluice-pause-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, "sleep"), '#!/bin/sh\necho "$1"\n', { mode: 0o755 });
  const pause = (SERVICE_RESULT: string, EXIT_CODE: string, EXIT_STATUS: string): string =>
    execFileSync("/bin/sh", [join(root, "systemd/pause-before-restart.sh")], {
      encoding: "utf8",
      env: {
        SERVICE_RESULT,
        EXIT_CODE,
        EXIT_STATUS,
        RUNTIME_DIRECTORY: directory,
        PATH: directory,
      },
    }).trim();
  const crash = (): string => pause("signal", "killed", "KILL");
  t.equal(pause("success", "exited", "0"), "", "a stop doesn't wait");
  t.same([1, 2, 3, 4, 5, 6, 7].map(crash), ["0", "0.2", "0.5", "1", "2", "5", "5"]);
  rmSync(join(directory, "failures"));
  t.equal(pause("watchdog", "killed", "ABRT"), "0");
  rmSync(join(directory, "failures"));
  for (const code of [
    exitCodes.storeUnreadable,
    exitCodes.taken,
    exitCodes.usage,
    exitCodes.configuration,
  ])
    t.equal(pause("exit-code", "exited", String(code)), "5", `exit code ${code}`);
  writeFileSync(join(directory, "failures"), "7 -100\n");
  t.equal(crash(), "0", "a minute without a failure begins anew");
});

t.test("the page on systemd names every file in the directory", async (t) => {
  const page = readFileSync(join(root, "docs/systemd.md"), "utf8");
  for (const file of readdirSync(join(root, "systemd"))) t.ok(page.includes(file), file);
});

t.test("each block of a page that the booted machine runs is there", async (t) => {
  const booted = join(root, "test/systemd/booted");
  let found = 0;
  for (const file of readdirSync(booted)) {
    const text = readFileSync(join(booted, file), "utf8");
    const [, own = "systemd.md"] = /"docs\/([\w-]+\.md)"/.exec(text) ?? [];
    for (const [, of = "", heading = ""] of text.matchAll(/block\((texts\.)?page, "([^"]+)"\)/g)) {
      const page = readFileSync(join(root, "docs", of === "" ? own : "systemd.md"), "utf8");
      t.ok(page.includes(heading), `${file}: ${heading}`);
      found++;
    }
  }
  t.ok(found > 8, `${found} blocks`);
});
