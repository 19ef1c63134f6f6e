/**
 * `sluice usage follow` into a real PostgreSQL: each record is there once, whatever is killed.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import type { Execution } from "../../../shared/wire/execution.js";
import { settleMany } from "../../support/crash/settle-load.js";
import { makeSite, type Site } from "../../support/processes/processes.js";
import { programPath } from "../../support/processes/program-path.js";
import {
  type PostgresServer,
  postgresPrograms,
  startPostgres,
} from "../../support/processes/start-postgres.js";

const programs = postgresPrograms();
const skip = programs === null ? "PostgreSQL isn't installed (Debian's package postgresql)" : false;

/** Callers choose the names of models. */
const hostileModel = `'); drop table "x" -- \\ $1 💥 {}`;
const record = (index: number): Execution => ({
  requestId: `req_${index}`,
  endpoint: "/v1/chat/completions",
  provider: "test",
  providerType: "openai",
  model: index % 100 === 0 ? hostileModel : "gpt-4o",
  status: 200,
  inputTokens: 10,
  outputTokens: 1,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  inputCost: 1,
  outputCost: 1,
  totalCost: 1_234_567,
  cacheHit: false,
  rewriteTokensSaved: 0,
  rewriteCostSaved: null,
  latencyMs: 12,
  firstByteMs: 7,
  requestedModel: "",
  session: "",
  details: null,
  atMost: null,
  responseId: "",
  keyId: "",
});

interface Follow {
  readonly child: ChildProcess;
  output(): string;
  /** Its exit code; null after a signal. */
  readonly ended: Promise<number | null>;
}

function follow({ socket }: Site, to: string, ...flags: string[]): Follow {
  const child = spawn(
    process.execPath,
    [programPath("sluice"), "usage", "follow", "--socket", socket, "--to", to, ...flags],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text: Buffer) => (output += text.toString()));
  t.teardown(() => void child.kill("SIGKILL"));
  return {
    child,
    output: () => output,
    ended: once(child, "close").then(([code]) => code as number | null),
  };
}

const config =
  'providers: { test: { type: openai, api_key: none, base_url: "http://127.0.0.1:9/v1", models: ["*"] } }\n';
const counts =
  "select count(*), count(distinct (store_id, record_id)), count(distinct request_id), sum(total_cost), min(host) is not null from sluice_usage_records";

async function until(done: () => boolean): Promise<void> {
  while (!done()) await delay(20);
}

function rows(server: PostgresServer): number {
  return Number(server.query("select count(*) from sluice_usage_records"));
}

t.test(
  "each record is in the database once, however often the follower is killed",
  { skip },
  async (t) => {
    const server = await startPostgres(t, programs!);
    const site = makeSite(t, config);
    await site.startDaemon();
    const count = 10_000;
    await settleMany(site.socket, count, (index) => ({ userPath: "/team", record: record(index) }));

    const missing = follow(site, server.url, "--once");
    t.equal(await missing.ended, 1);
    t.match(
      missing.output(),
      /--create-table/,
      "a table that isn't there is named with what helps",
    );
    t.equal(await follow(site, server.url, "--once", "--create-table", "--from-now").ended, 0);
    t.equal(rows(server), 0, "from now on there is nothing yet");
    server.query("truncate sluice_usage_followers");

    let kills = 0;
    for (let before = 0; before < count * 0.8; kills++) {
      const { child, ended } = follow(site, server.url, "--batch", "50");
      const reached = before + 200 + Math.floor(Math.random() * 2000);
      await until(() => rows(server) >= Math.min(reached, count * 0.9));
      child.kill("SIGKILL");
      await ended;
      before = rows(server);
    }
    t.comment(`${kills} followers were killed`);
    const [one, two] = [follow(site, server.url, "--once"), follow(site, server.url, "--once")];
    t.same(
      await Promise.all([one.ended, two.ended]),
      [0, 0],
      "two of one name don't harm each other",
    );
    t.equal(server.query(counts), `${count}|${count}|${count}|0.012345670000|t`);
    t.equal(
      server.query("select distinct model from sluice_usage_records where model <> 'gpt-4o'"),
      hostileModel,
    );
    t.equal(server.query("select records from sluice_usage_followers"), String(count));
  },
);

t.test("a follower goes on when the server, or the daemon, was away", { skip }, async (t) => {
  const server = await startPostgres(t, programs!);
  const site = makeSite(t, config);
  let daemon = await site.startDaemon();
  const settle = (from: number, count: number): Promise<void> =>
    settleMany(
      site.socket,
      count,
      (index) => ({ userPath: "/team", record: record(from + index) }),
      `settle-load-${from}`,
    );
  await settle(0, 1000);
  const follower = follow(site, server.url, "--create-table", "--name", "warehouse");
  const made = "select to_regclass('sluice_usage_records') is not null";
  await until(() => server.query(made) === "t");
  await until(() => rows(server) === 1000);
  await server.crash();
  await settle(1000, 1000);
  await until(() => /it is tried again/.test(follower.output()));
  await server.start();
  await until(() => rows(server) === 2000);
  await daemon.kill("SIGKILL");
  await until(() => /the daemon/.test(follower.output()));
  daemon = await site.startDaemon();
  await settle(2000, 1000);
  await until(() => rows(server) === 3000);
  t.match(follower.output(), /it goes on after/);
  follower.child.kill("SIGTERM");
  t.equal(await follower.ended, 0);
  t.equal(server.query(counts), "3000|3000|3000|0.003703701000|t");
});

t.test("TLS: the server's certificate is checked, and its name", { skip }, async (t) => {
  const directory = t.testdir();
  const [key, ca] = [join(directory, "key.pem"), join(directory, "ca.pem")];
  const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout ${key} -out ${ca}`;
  if (spawnSync("openssl", words.split(" "), { stdio: "ignore" }).status !== 0) {
    t.comment("needs openssl");
    return;
  }
  const read = (file: string): string => readFileSync(file, "utf8");
  const server = await startPostgres(t, programs!, read(key) + read(ca));
  const plain = await startPostgres(t, programs!);
  const site = makeSite(t, config);
  await site.startDaemon();
  await settleMany(site.socket, 3, (index) => ({ userPath: "/team", record: record(index) }));
  const byName = server.url.replace("127.0.0.1", "localhost");
  const trusted = `&sslrootcert=${ca}`;
  const full = "?sslmode=verify-full";
  for (const [to, code, said] of [
    [`${byName}${full}`, 1, /self-signed certificate.*: name its authorities: sslrootcert=FILE/],
    [`${server.url}${full}${trusted}`, 1, /IP: 127\.0\.0\.1 is not in the cert's list/],
    [`${byName}${full}&sslrootcert=${ca}.gone`, 1, /sslrootcert .*\.gone can't be read/],
    [`${plain.url}${full}${trusted}`, 1, /does not support SSL/],
    [`${byName}${full}${trusted}`, 0, /handed on: 3 records/],
    [`${server.url}?sslmode=require`, 0, /handed on: 0 records/],
  ] as const) {
    const { ended, output } = follow(site, to, "--once", "--create-table");
    t.equal(await ended, code, to);
    t.match(output(), said, to);
  }
  t.equal(server.query(counts), "3|3|3|0.000003703701|t");
  const follower = follow(site, `${byName}${full}${trusted}`);
  const tls =
    "select ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'sluice usage follow'";
  await until(() => server.query(tls) === "t");
  follower.child.kill("SIGTERM");
  t.equal(await follower.ended, 0);
});

t.test("SIGTERM in the middle of a batch: it is handed on, and not again", { skip }, async (t) => {
  const server = await startPostgres(t, programs!);
  const site = makeSite(t, config);
  await site.startDaemon();
  await settleMany(site.socket, 300, (index) => ({ userPath: "/team", record: record(index) }));
  t.equal(await follow(site, server.url, "--once", "--create-table", "--from-now").ended, 0);
  server.query("update sluice_usage_followers set cursor = null");
  const waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
  const locking = lock(server, "sluice_usage_followers");
  await locking.held;
  const { child, ended, output } = follow(site, server.url, "--batch", "100");
  await until(() => server.query(waits) === "1");
  child.kill("SIGTERM");
  await locking.release();
  t.equal(await ended, 0);
  t.match(output(), /handed on: 100 records/);
  t.equal(server.query(counts).split("|")[0], "100", "the batch that it had begun, and no other");
  t.equal(await follow(site, server.url, "--once").ended, 0);
  t.equal(server.query(counts).slice(0, 11), "300|300|300");
});

/** Holds a table against all writes, in a session of its own, until it is released. */
function lock(
  server: PostgresServer,
  table: string,
): { held: Promise<void>; release(): Promise<void> } {
  const child = spawn(join(programs!, "psql"), ["-X", "-q", "-A", "-t", server.url], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.teardown(() => void child.kill("SIGKILL"));
  child.stdin.write(`begin; lock table ${table} in exclusive mode; select 'held';\n`);
  const held = once(child.stdout, "data").then(() => {});
  return {
    held,
    async release() {
      const ended = once(child, "close");
      child.stdin.end("commit;\n");
      await ended;
    },
  };
}
