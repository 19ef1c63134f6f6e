import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t from "tap";
import {
  checkClock,
  checkConfiguredPrices,
  checkDaemon,
  checkNamedPrices,
  checkPrices,
  checkProxy,
} from "../../../bin/checks/check-daemon.js";
import { checkHost } from "../../../bin/checks/check-host.js";
import { checkCluster, checkHostClock, checkStore } from "../../../bin/checks/check-store.js";
import { readDaemonAgeSeconds } from "../../../bin/checks/host-clock.js";
import type { HostFacts } from "../../../bin/checks/host-facts.js";
import { tryWrite } from "../../../bin/checks/host-facts.js";
import { readInstalledUnits } from "../../../bin/checks/installed-units.js";
import { secretFilesOf } from "../../../bin/checks/secret-files-of.js";
import { accepted } from "../../shared/config/resolve-sample.js";
import { exactly } from "../../support/patterns/exactly.js";
import { run } from "../command-session.js";
import { startFakeDaemon } from "../fake-daemon.js";

const gib = 1024 ** 3;
const well: HostFacts = {
  nodeVersion: "20.19.0",
  filesMax: 100_000,
  backlogMax: 4096,
  configFile: { path: "/etc/sluice/sluice.yaml", mode: 0o640, uid: 0 },
  dataDir: { path: "/var/lib/sluice", mode: 0o700, uid: 0 },
  secretFiles: [{ path: "/etc/sluice/openai.key", mode: 0o640, uid: 0 }],
  disk: { freeBytes: 50 * gib, totalBytes: 100 * gib, fileSystem: null },
  trialWrite: "",
  units: { units: [{ path: "/etc/systemd/system/sluice.target", isShipped: true }], dropIns: [] },
  synchronized: true,
};
const server = { masterKey: "k", masterKeyFile: null, host: "127.0.0.1", connectionsMax: 1000 };
const config = { server };

t.test("a host that is as it should be has nothing against it", async (t) => {
  const inFile = { server: { ...server, masterKey: null, masterKeyFile: "/run/key" } };
  for (const each of [config, inFile])
    t.same(
      checkHost(each as Parameters<typeof checkHost>[0], well).filter(
        ({ state }) => state !== "ok",
      ),
      [],
    );
});

t.test("the files of all secrets are looked at, where their path is known here", async (t) => {
  const { config: loaded } = accepted(
    `server: { master_key_file: mk }
metrics: { token_file: /t }
jwt: [{ issuer: a, audience: x, secret_file: /j, user_path: "/u/{sub}" }]
providers:
  a: { base_url: "http://h/v1", api_keys: [k, { key_file: /k2, weight: 3 }], headers: { x-a: b, x-c: { file: h } } }
  b: { base_url: "http://h/v1", api_key_file: "\${NOT_HERE}/k" }
  c: { base_url: "http://h/v1", api_key_file: /t }
`,
  );
  t.same(secretFilesOf(loaded), ["/srv/mk", "/t", "/j", "/k2", "/srv/h"]);
});

t.test("what is wrong with a host is named with what to do", async (t) => {
  for (const [facts, state, text] of [
    [
      { disk: { freeBytes: gib / 2, totalBytes: 9 * gib, fileSystem: null } },
      "warning",
      /0\.5 GiB free/,
    ],
    [
      { disk: { freeBytes: 4 * gib, totalBytes: 100 * gib, fileSystem: null } },
      "warning",
      /4\.0 GiB/,
    ],
    [{ disk: { freeBytes: 50 * gib, totalBytes: 99 * gib, fileSystem: "NFS" } }, "failure", /NFS/],
    [{ filesMax: 1024 }, "warning", /1024 may be open, and 2200 can be needed/],
    [{ trialWrite: "ENOSPC: no space left on device" }, "failure", /takes no file: ENOSPC/],
    [
      { units: { units: [{ path: "/u", isShipped: false }], dropIns: ["/u.d/a.conf"] } },
      "warning",
      /\/u isn't this release's: keep changes in a drop-in/,
    ],
    [{ backlogMax: 128 }, "warning", /somaxconn is 128/],
    [{ configFile: { path: "/c", mode: 0o644, uid: 0 } }, "warning", /chmod o= \/c/],
    [{ dataDir: { path: "/d", mode: 0o755, uid: 0 } }, "warning", /chmod o= \/d/],
    [{ secretFiles: [{ path: "/s", mode: 0o644, uid: 0 }] }, "warning", /chmod o= \/s/],
  ] as const) {
    const wrong = checkHost(config as Parameters<typeof checkHost>[0], {
      ...well,
      ...facts,
    }).filter((finding) => finding.state !== "ok");
    t.match(wrong, exactly([{ state, text }]), JSON.stringify(facts));
  }
});

t.test("what daemon and proxy say of themselves is judged", async (t) => {
  const status = {
    version: "1",
    proxies: 1,
    older_proxies: 0,
    store: { failing: null, file: "f" },
  };
  t.ok(checkDaemon(status, "1").every(({ state }) => state === "ok"));
  for (const [change, text] of [
    [{ version: "2" }, /restart what is older/],
    [{ store: { failing: "ENOSPC" } }, /can't be written: ENOSPC/],
    [{ store: { failing: null, failed_commits: 3 } }, /3 commits/],
    [{ dropped_records: 4 }, /4 records were lost/],
    [{ older_proxies: 1 }, /1 of 1 are of an older release/],
    [{ proxies: 0 }, /none is connected/],
    [{ inert: ["/a: no such provider"] }, /does nothing: \/a/],
  ] as const)
    t.match(
      checkDaemon({ ...status, ...change }, "1").find(({ state }) => state !== "ok")?.text,
      text,
    );
  t.match(checkProxy(null, "nothing listens there", "1"), exactly([{ text: /nothing listens/ }]));
  t.match(checkProxy({ version: "1", limiter: { reachable: false } }, null, "1")[1], {
    state: "failure",
  });
  t.match(
    checkPrices([
      { key: "a/m", unpriced_requests: 2 },
      { key: "b", unpriced_requests: 0 },
    ]),
    exactly([{ state: "warning", text: /none for a\/m:/ }]),
  );
  t.same(checkConfiguredPrices([], true), []);
  t.match(checkConfiguredPrices(["a/m"], true), exactly([{ state: "warning", text: /a\/m/ }]));
  t.match(checkConfiguredPrices(["a/m"], false), exactly([{ state: "ok", text: /a\/m/ }]));
  t.same(checkNamedPrices([], true), []);
  t.match(checkNamedPrices(["a/m"], true), exactly([{ state: "warning", text: /keys.*a\/m/ }]));
  t.match(checkNamedPrices(["a/m"], false), exactly([{ state: "ok", text: /a\/m/ }]));
  t.match(checkClock([100, 90_000, 91_000]), exactly([{ state: "warning", text: /^90 s ahead/ }]));
  t.match(checkClock([-200, 300]), exactly([{ state: "ok" }]));
  t.same(checkClock([]), []);
});

const limits = {
  storeBytesMax: 10 * gib,
  rateLimits: { flushIntervalMs: 1000 },
} as Parameters<typeof checkStore>[0];

t.test("a store that fills up, or isn't written, and what hosts share is judged", async (t) => {
  const nowMs = Date.parse("2026-11-23T12:00:00Z");
  const store = { bytes: 4 * gib, used_bytes: gib, last_flush_at: "2026-11-23T11:59:59Z" };
  const judged = (change: object, freeBytes = 50 * gib, uptime = 1000): unknown =>
    checkStore(limits, {
      status: { uptime_seconds: uptime, store: { ...store, ...change } },
      nowMs,
      freeBytes,
    }).filter(({ state }) => state !== "ok");
  t.same(judged({}), []);
  t.match(
    judged({ used_bytes: 8 * gib }),
    exactly([{ text: /^8\.0 GiB of 10\.0 GiB .*the oldest usage/ }]),
  );
  t.match(judged({}, 3 * gib), exactly([{ text: /^4\.0 GiB, and 3\.0 GiB are free: a backup/ }]));
  t.match(
    judged({ last_flush_at: "2026-11-23T11:58:00Z" }),
    exactly([{ text: /written 120 s ago/ }]),
  );
  t.match(judged({ last_flush_at: null }), exactly([{ text: /written 1000 s ago/ }]));
  t.same(judged({ last_flush_at: null }, 50 * gib, 30), [], "it has just started");
  const since = { backups_noted_since: "2026-11-15T12:00:00Z", has_usage: true };
  t.same(judged({ backups_noted_since: since.backups_noted_since }), [], "it has nothing to lose");
  t.match(
    judged({ ...since, last_backup_at: null }),
    exactly([
      { check: "backup", state: "warning", text: /^none was made since 2026-11-15: sluice backup/ },
    ]),
  );
  t.match(
    judged({ ...since, last_backup_at: "2026-11-16T10:00:00Z" }),
    exactly([{ check: "backup", text: /^the last one was made 7d 2h ago: sluice backup FILE/ }]),
  );
  t.same(judged({ ...since, last_backup_at: "2026-11-16T13:00:00Z" }), []);
  t.same(judged({ ...since, backups_noted_since: "2026-11-20T12:00:00Z" }), [], "it is new");

  const host = (name: string, more: object = {}): object => ({ name, alive: true, ...more });
  const cluster = { engine: "connected", hosts: [host("a"), host("b")] };
  t.match(checkCluster({ cluster }, true), exactly([{ state: "ok", text: /2 of 2 hosts/ }]));
  t.same(checkCluster({ cluster: null }, false), []);
  t.match(
    checkCluster({ cluster: null }, true),
    exactly([{ state: "warning", text: /sluice reload/ }]),
  );
  t.match(
    checkCluster({ cluster: { ...cluster, engine: "away", engine_failing: "no answer" } }, true),
    exactly([{ state: "failure", text: /isn't reached \(no answer\)/ }]),
  );
  const hosts = [
    host("a", { alive: false, silent_seconds: 40 }),
    host("b", { configuration_differs: true }),
  ];
  t.match(
    checkCluster({ cluster: { ...cluster, hosts } }, true).slice(1),
    exactly([
      { text: /^a has been silent for 40 s/ },
      { text: /^the configuration of b declares other limits/ },
    ]),
  );
});

t.test("a clock that isn't synchronised, or was set meanwhile, is reported", async (t) => {
  const found = (synchronized: boolean | null, age: number | null, up: number): unknown =>
    checkHostClock({ synchronized, daemonAgeSeconds: age }, { uptime_seconds: up });
  t.same(found(null, null, 100), []);
  t.match(found(true, 100.4, 100), exactly([{ state: "ok" }]));
  t.match(
    found(false, null, 100),
    exactly([{ state: "warning", text: /timedatectl set-ntp true/ }]),
  );
  t.match(
    found(null, 100, 3700),
    exactly([{ text: /^was set 3600 s forward since the daemon's start/ }]),
  );
  t.match(found(null, 7300, 100), exactly([{ text: /^was set 7200 s back/ }]));
  t.same(found(null, 120, 100), [], "a large store takes its time to be read");
});

t.test("units are those that are shipped wherever Sluice is, and drop-ins are named", async (t) => {
  const unit = "ExecStart=/usr/bin/node /opt/sluice/dist/programs/sluice-proxy.js --port %i\n";
  const directory = t.testdir({
    shipped: { "sluice-proxy.service": unit, "sluice.target": "[Unit]\n", "sluice.yaml": "" },
    etc: {
      "sluice-proxy.service": unit.replace(
        "/usr/bin/node /opt",
        "/usr/lib/sluice/node/bin/node /srv",
      ),
      "sluice-proxy.service.d": { "own.conf": "[Service]\n", "own.conf~": "" },
    },
    lib: { "sluice-proxy.service": "old", "sluice.target": "[Unit]\nAfter=x\n" },
  });
  const at = (name: string): string => join(directory, name);
  t.same(readInstalledUnits(at("shipped"), [at("etc"), at("lib")]), {
    units: [
      { path: at("etc/sluice-proxy.service"), isShipped: true },
      { path: at("lib/sluice.target"), isShipped: false },
    ],
    dropIns: [at("etc/sluice-proxy.service.d/own.conf")],
  });
  t.same(readInstalledUnits(at("nowhere")), { units: [], dropIns: [] });
});

t.test(
  "a trial leaves nothing behind, and is left out where this user may not write",
  async (t) => {
    const directory = t.testdir({});
    t.equal(tryWrite(directory), "");
    t.same(readdirSync(directory), []);
    t.equal(tryWrite(join(directory, "none")), null);
    t.ok(readDaemonAgeSeconds(process.pid) === null, "this process is no daemon");
  },
);

t.test("it ends with 0, with 1 for warnings that count, and with 2 for failures", async (t) => {
  const { socket } = await startFakeDaemon(t);
  const cwd = t.testdir({ "sluice.yaml": "server: { port: 0 }\n" });
  chmodSync(join(cwd, "sluice.yaml"), 0o600);
  const doctor = ["doctor", "--offline", "--socket", socket];
  t.match(await run(doctor, { cwd }), {
    exitCode: 0,
    out: /^CHECK +STATE +FOUND[^]*\n0 failures, \d+ warnings?$/,
  });
  t.equal((await run([...doctor, "--strict"], { cwd })).exitCode, 1);
  t.match(await run(["doctor", "--offline", "--socket", join(dirname(socket), "none")], { cwd }), {
    exitCode: 2,
    out: /daemon +failure +no daemon listens/,
  });
  writeFileSync(join(cwd, "sluice.yaml"), "server: { prot: 1 }\n");
  const wrong = await run([...doctor, "--json"], { cwd });
  t.equal(wrong.exitCode, 2);
  t.match(JSON.parse(wrong.out).findings[0], { state: "failure", text: /sluice\.yaml:1:11: / });
  t.match(await run(["doctor"], { cwd }), {
    exitCode: 2,
    out: /daemon +warning +not asked: [^]*1 failure, 1 warning$/,
  });
});

t.test("a report has no secret in it, and is written over nothing", async (t) => {
  const { socket } = await startFakeDaemon(t);
  const cwd = t.testdir({
    "sluice.yaml":
      "server: { port: 0, master_key: hunter2-hunter2-x }\nproviders: { openai: { api_key: hunter3 } }\n",
  });
  const argv = ["doctor", "--offline", "--bundle", "report.json", "--socket", socket];
  t.match(await run(argv, { cwd }), { err: /^written: report\.json/ });
  const file = join(cwd, "report.json");
  t.notMatch(readFileSync(file, "utf8"), /hunter/);
  t.match(JSON.parse(readFileSync(file, "utf8")), exactly({ providers: [{ name: "openai" }] }));
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.match(await run(argv, { cwd }), { exitCode: 1, err: /is there already/ });
});
