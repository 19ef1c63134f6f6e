/**
 * What the tests of the store share: directories, entries, stores in processes of their own, and
 * the file changed below our own layer.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { open } from "lmdb";
import type { Test } from "tap";
import { openLmdbStore } from "../../../../limiterd/store/lmdb/open-lmdb-store.js";
import type { Change, Store, Table } from "../../../../limiterd/store/store.js";

/** A directory that goes with the test. */
export function temporary(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), "sluice-store-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export const put = (table: Table, key: string | number, ...value: readonly unknown[]): Change => ({
  table,
  key,
  value,
});
export const remove = (table: Table, key: string | number): Change => ({
  table,
  key,
  value: undefined,
});
/** The entries of a table, as pairs. */
export const read = (store: Store, table: Table): unknown[] =>
  [...store.entries(table)].map(({ key, value }) => [key, value]);

/** A store with a few entries, closed; returns its file. */
export async function filledStore(directory: string, entries = 20): Promise<string> {
  const store = await openLmdbStore(directory);
  await store.commit(
    Array.from({ length: entries }, (_, n) => put("windows", `w${n}`, n, "x".repeat(100))),
  );
  await store.close();
  return store.file;
}

/** Why a store doesn't open, or null when it does. */
export async function refusal(directory: string): Promise<Error | null> {
  try {
    const store = await openLmdbStore(directory);
    await store.close();
    return null;
  } catch (error) {
    return error as Error;
  }
}

/** Changes a store's file below our own layer. */
export async function tamper(
  file: string,
  table: string,
  change: (db: {
    get(key: string): Buffer | undefined;
    put(key: string, value: Buffer): Promise<unknown>;
  }) => Promise<unknown>,
): Promise<void> {
  const root = open<Buffer, string>({ path: file, noSubdir: true, encoding: "binary", maxDbs: 16 });
  await change(root.openDB<Buffer, string>({ name: table, encoding: "binary" }));
  await root.close();
}

interface Running {
  readonly child: ChildProcess;
  readonly received: {
    readonly opened?: number;
    readonly written?: number;
    readonly entries?: number;
    readonly failed?: string;
    readonly closed?: true;
    readonly committed?: number;
    readonly refused?: string;
  }[];
  /** All that it wrote to standard error. */
  printed(): string;
  /** Resolved once this is true after a message; rejected when the process ends before. */
  until(isTrue: () => boolean): Promise<void>;
}

/** A process with a store of its own; it ends with the test. `within`: a command that runs it. */
export function inProcess(
  t: Test,
  directory: string,
  task: "hold" | "write" | "read" | "commit",
  { within = [] }: { readonly within?: readonly string[] } = {},
): Running {
  const script = fileURLToPath(
    new URL("../../../support/processes/store-process.js", import.meta.url),
  );
  const [command, ...args] = [...within, process.execPath, script, directory, task];
  const child = spawn(command!, args, { stdio: ["ignore", "inherit", "pipe", "ipc"] });
  let printed = "";
  child.stderr?.on("data", (text: Buffer) => {
    printed += text.toString();
  });
  const received: Running["received"] = [];
  const waiting: (() => void)[] = [];
  const wake = (): void => {
    for (const run of waiting.splice(0)) run();
  };
  child.on("message", (message) => {
    received.push(message as Running["received"][number]);
    wake();
  });
  child.on("exit", wake);
  t.teardown(() => void child.kill("SIGKILL"));
  return {
    child,
    received,
    printed: () => printed,
    async until(isTrue) {
      while (!isTrue()) {
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`the process ended: ${child.exitCode ?? child.signalCode}`);
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
  };
}
