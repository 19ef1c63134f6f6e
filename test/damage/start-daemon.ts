/** Starts the daemon itself on a damaged store, and stops it if it listens. */
import { fork } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isConfigurationKey } from "../../limiterd/audit/describe-settings.js";
import { openLmdbStore } from "../../limiterd/store/lmdb/open-lmdb-store.js";
import type { Store, Table } from "../../limiterd/store/store.js";
import { programPath } from "../support/processes/program-path.js";
import type { Outcome } from "./loader.js";

const deadlineMs = 120_000;

const untouched: readonly Table[] = ["keys", "settings", "objects", "denials"];

/** What a daemon leaves as it was that has nothing to do. Each start notes its configuration. */
export function untouchedContent(store: Store): string {
  return JSON.stringify(
    untouched.map((table) =>
      Array.from(store.entries(table), ({ key, value }) => [key, value] as const).filter(
        ([key]) => table !== "settings" || !isConfigurationKey(key),
      ),
    ),
  );
}

/** `served`: with a digest of what is untouched. */
export async function startDaemonOn(dataDir: string): Promise<Outcome> {
  const config = join(dataDir, "sluice.yaml");
  writeFileSync(config, "{}\n");
  const child = fork(programPath("sluice-limiterd"), ["--config", config], {
    cwd: dataDir,
    env: {
      PATH: process.env["PATH"],
      SLUICE_SOCKET: join(dataDir, "limiterd.sock"),
      SLUICE_DATA_DIR: dataDir,
    },
    execArgv: [],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let printed = "";
  for (const stream of [child.stdout!, child.stderr!])
    stream.on("data", (text: Buffer) => {
      printed += text.toString();
    });
  const deadline = setTimeout(() => child.kill("SIGKILL"), deadlineMs);
  let isReady = false;
  child.once("message", () => {
    isReady = true;
    child.kill("SIGTERM");
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  clearTimeout(deadline);
  if (isReady && code === 0) {
    const store = await openLmdbStore(dataDir);
    const digest = hash("sha256", untouchedContent(store));
    await store.close();
    return { kind: "served", digest };
  }
  const reason = /^error: (.*)$/m.exec(printed)?.[1];
  return code === 74 && reason !== undefined
    ? { kind: "refused", name: "StoreUnreadableError", message: reason }
    : { kind: "ended", by: `${signal ?? code}: ${printed}` };
}
