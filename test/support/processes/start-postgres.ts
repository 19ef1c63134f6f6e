/**
 * A PostgreSQL server of Debian's package, in a temporary directory and on a loopback port. It
 * refuses to run as root, and is run as nobody then.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Test } from "tap";
import { freePort } from "./free-port.js";

export interface PostgresServer {
  /** Of its database, as its owner. */
  readonly url: string;
  /** Runs statements; the values of each row are separated by `|`. */
  query(sql: string): string;
  /** Ends it as a crash would: without writing what is in memory. */
  crash(): Promise<void>;
  /** On the same port, with the same data. */
  start(): Promise<void>;
}

const nobody = 65_534;
const packages = "/usr/lib/postgresql";

/** The directory of the newest release's programs; null: none is installed. */
export function postgresPrograms(): string | null {
  if (!existsSync(packages)) return null;
  const releases = readdirSync(packages)
    .filter((name) => existsSync(join(packages, name, "bin", "initdb")))
    .sort((a, b) => Number(b) - Number(a));
  return releases[0] === undefined ? null : join(packages, releases[0], "bin");
}

/**
 * Started; it ends with the test. With a certificate, whose key is in the same text, it has TLS.
 */
export async function startPostgres(
  t: Pick<Test, "teardown">,
  programs: string,
  certificate?: string,
): Promise<PostgresServer> {
  const asUser = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  const directory = mkdtempSync(join(tmpdir(), "sluice-postgres-"));
  if ("uid" in asUser) chownSync(directory, nobody, nobody);
  const data = join(directory, "data");
  execFileSync(
    join(programs, "initdb"),
    ["-D", data, "-U", "sluice", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"],
    { ...asUser, cwd: directory, stdio: "ignore" },
  );
  const tls: string[] = [];
  if (certificate !== undefined) {
    const file = join(directory, "certificate.pem");
    writeFileSync(file, certificate, { mode: 0o600 });
    if ("uid" in asUser) chownSync(file, nobody, nobody);
    tls.push("-c", "ssl=on", "-c", `ssl_cert_file=${file}`, "-c", `ssl_key_file=${file}`);
  }
  const port = await freePort();
  const url = `postgres://sluice@127.0.0.1:${port}/postgres`;
  const query = (sql: string): string =>
    execFileSync(join(programs, "psql"), ["-X", "-A", "-t", "-q", "-c", sql, url], {
      ...asUser,
      cwd: directory,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    }).trim();
  let child: ChildProcess | null = null;
  const crash = async (): Promise<void> => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    // An immediate shutdown: a kill −9 would leave its processes behind.
    child.kill("SIGQUIT");
    await ended;
    child = null;
  };
  t.teardown(async () => {
    await crash();
    rmSync(directory, { recursive: true, force: true });
  });
  const start = async (): Promise<void> => {
    child = spawn(
      join(programs, "postgres"),
      ["-D", data, "-p", String(port), "-k", directory, "-c", "listen_addresses=127.0.0.1", ...tls],
      { ...asUser, cwd: directory, stdio: "ignore" },
    );
    for (;;) {
      try {
        query("select 1");
        return;
      } catch (error) {
        if (child.exitCode !== null) throw error;
        await delay(50);
      }
    }
  };
  await start();
  return { url, query, crash, start };
}
