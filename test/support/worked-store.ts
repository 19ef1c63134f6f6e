/**
 * Stores as a daemon leaves them: with keys, rules, budgets, windows, owners, records and their
 * sums, some of it changed and removed again.
 */

import { openLmdbStore } from "../../limiterd/store/lmdb/open-lmdb-store.js";
import type { Change, Store } from "../../limiterd/store/store.js";
import { tables } from "../../limiterd/store/store.js";
import { toDaemonSamples } from "../fuzz/samples/frame-samples.js";
import { configuredBudgets, configuredRules } from "../fuzz/targets/daemon-scene.js";
import {
  ask,
  askFor,
  executed,
  settleOf,
  startDaemon,
  type TestDaemon,
} from "../limiterd/in-memory-daemon.js";
import type { Random } from "../sim/random.js";
import type { MemoryStore } from "./memory-store.js";

/** Makes one in `directory` and closes it; returns its file. `requests`: how many are recorded. */
export async function makeWorkedStore(
  directory: string,
  { requests, random }: { readonly requests: number; readonly random: Random },
): Promise<string> {
  const store = await openLmdbStore(directory);
  const daemon = startDaemon(configuredRules, {
    budgets: configuredBudgets,
    labelsOf: () => ["research"],
    store: store as MemoryStore,
  });
  await define(daemon);
  const proxy = daemon.proxy("p1");
  for (let id = 1; id <= requests; id++) {
    const lease = askFor(proxy, id, `/team/app${random.int(0, 40)}`);
    if (lease !== null)
      proxy.send({ ...settleOf(lease, id, 30), record: executed({ requestId: `req_${id}` }) });
    daemon.nowMs += random.int(1000, 3_600_000);
    if (random.chance(0.02)) {
      await daemon.snapshot();
      await daemon.flush();
    }
    if (random.chance(0.3)) await daemon.commit();
  }
  await daemon.commit();
  await store.commit(owners(random, requests));
  await store.close();
  return store.file;
}

async function define(daemon: TestDaemon): Promise<void> {
  for (const message of toDaemonSamples)
    if (message.kind === "admin" && /put|issue/.test(message.op))
      await ask(daemon, message.op, message.body).catch(() => {});
}

/** Owners; the paths of some have pages of their own. */
function owners(random: Random, entries: number): Change[] {
  return Array.from({ length: entries }, (_, n) => ({
    table: "objects",
    key: `file-${n} openai`,
    value: [`/team/${"x".repeat(random.chance(0.05) ? 9000 : n % 90)}`, 1_800_000_000_000],
  }));
}

/** All that is in a store, in one text. */
export function contentOf(store: Store): string {
  return JSON.stringify(
    tables.map((table) => Array.from(store.entries(table), ({ key, value }) => [key, value])),
  );
}
