import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import {
  checkClock,
  checkDaemon,
  checkPrices,
  checkProxy,
} from "../../../bin/checks/check-daemon.js";
import { checkHost } from "../../../bin/checks/check-host.js";
import type { HostFacts } from "../../../bin/checks/host-facts.js";
import { run } from "../command-session.js";
import { startFakeDaemon } from "../fake-daemon.js";

const gib = 1024 ** 3;
const well: HostFacts = {
  nodeVersion: "20.19.0",
  filesMax: 100_000,
  backlogMax: 4096,
  configFile: { path: "/etc/sluice/sluice.yaml", mode: 0o640, uid: 0 },
  dataDir: { path: "/var/lib/sluice", mode: 0o700, uid: 0 },
  disk: { freeBytes: 50 * gib, totalBytes: 100 * gib, fileSystem: null },
};
const config = { server: { masterKey: "k", host: "127.0.0.1", connectionsMax: 1000 } };

t.test("a host that is as it should be has nothing against it", async (t) => {
  const findings = checkHost(config as Parameters<typeof checkHost>[0], well);
  t.same(
    findings.filter(({ state }) => state !== "ok"),
    [],
  );
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
    [{ backlogMax: 128 }, "warning", /somaxconn is 128/],
    [{ configFile: { path: "/c", mode: 0o644, uid: 0 } }, "warning", /chmod o= \/c/],
    [{ dataDir: { path: "/d", mode: 0o755, uid: 0 } }, "warning", /chmod o= \/d/],
  ] as const) {
    const wrong = checkHost(config as Parameters<typeof checkHost>[0], {
      ...well,
      ...facts,
    }).filter((finding) => finding.state !== "ok");
    t.match(wrong, [{ state, text }], JSON.stringify(facts));
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
  t.match(checkProxy(null, "nothing listens there", "1"), [{ text: /nothing listens/ }]);
  t.match(checkProxy({ version: "1", limiter: { reachable: false } }, null, "1")[1], {
    state: "failure",
  });
  t.match(
    checkPrices([
      { key: "a/m", unpriced_requests: 2 },
      { key: "b", unpriced_requests: 0 },
    ]),
    [{ state: "warning", text: /none for a\/m:/ }],
  );
  t.match(checkClock([100, 90_000, 91_000]), [{ state: "warning", text: /^90 s ahead/ }]);
  t.match(checkClock([-200, 300]), [{ state: "ok" }]);
  t.same(checkClock([]), []);
});

t.test("it ends with 0, with 1 for warnings that count, and with 2 for failures", async (t) => {
  const { socket } = await startFakeDaemon(t);
  const cwd = t.testdir({ "sluice.yaml": "server: { port: 0 }\n" });
  chmodSync(join(cwd, "sluice.yaml"), 0o600);
  const doctor = ["doctor", "--offline", "--socket", socket];
  t.match(await run(doctor, { cwd }), { exitCode: 0, out: /^CHECK +STATE +FOUND[^]*warnings$/ });
  t.equal((await run([...doctor, "--strict"], { cwd })).exitCode, 1);
  t.match(await run(["doctor", "--offline", "--socket", join(cwd, "none")], { cwd }), {
    exitCode: 2,
    out: /daemon +failure +no daemon listens/,
  });
  writeFileSync(join(cwd, "sluice.yaml"), "server: { prot: 1 }\n");
  const wrong = await run([...doctor, "--json"], { cwd });
  t.equal(wrong.exitCode, 2);
  t.match(JSON.parse(wrong.out).findings, [{ state: "failure", text: /sluice\.yaml:1:11: / }]);
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
  t.match(JSON.parse(readFileSync(file, "utf8")), { providers: [{ name: "openai" }] });
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.match(await run(argv, { cwd }), { exitCode: 1, err: /is there already/ });
});
