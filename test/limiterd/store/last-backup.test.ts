import t from "tap";
import {
  lastBackupChange,
  laterBackup,
  storedLastBackup,
} from "../../../limiterd/store/last-backup.js";
import { StoreUnreadableError } from "../../../limiterd/store/store.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { exactly } from "../../support/patterns/exactly.js";
import { ask, refusal, startDaemon } from "../in-memory-daemon.js";

const noon = Date.parse("2026-11-23T12:00:00Z");

t.test("a store notes since when it notes backups, and keeps the last one", async (t) => {
  const store = createMemoryStore();
  const first = storedLastBackup(store, noon);
  t.same(first.lastBackup, { atMs: null, sinceMs: noon });
  await store.commit(first.changes);
  const second = storedLastBackup(store, noon + 5);
  t.same(second, { lastBackup: { atMs: null, sinceMs: noon }, changes: [] });
  await store.commit([lastBackupChange(laterBackup(second.lastBackup, noon + 7, noon + 9))]);
  t.same(storedLastBackup(store, noon + 10).lastBackup, { atMs: noon + 7, sinceMs: noon });
  for (const value of [["x", 1], [1], [-1, 1], [1, "x"]]) {
    await store.commit([{ table: "marks", key: "backups", value }]);
    t.throws(() => storedLastBackup(store, noon), StoreUnreadableError, JSON.stringify(value));
  }
});

t.test("the latest backup counts, unless the clock was set back since", async (t) => {
  const last = { atMs: noon, sinceMs: 1 };
  t.equal(laterBackup(last, noon - 5, noon + 1).atMs, noon, "another one was begun later");
  t.equal(laterBackup(last, noon + 5, noon + 6).atMs, noon + 5);
  t.equal(laterBackup(last, noon - 5, noon - 1).atMs, noon - 5, "that was in the future");
});

t.test(
  "a backup that was kept is known to status, metrics, proxies and the next daemon",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noon });
    const proxy = daemon.proxy("p");
    const events = (): unknown[] =>
      proxy.received.filter(
        (message) => message.kind === "event" && message.name === "last_backup",
      );
    const noted = async (): Promise<unknown> =>
      ((await ask(daemon, "status", null)) as { store: object }).store;
    t.match(await noted(), { last_backup_at: null, has_usage: false });
    const series = async (): Promise<unknown> =>
      ((await ask(daemon, "metrics", { rules_max: 1 })) as { series: unknown[][] }).series.find(
        ([name]) => name === "sluice_limiter_last_backup_timestamp_seconds",
      );
    t.equal(await series(), undefined, "an alert on its age needs one that was made");

    t.same(await ask(daemon, "backup", { kept: "2026-11-23T11:00:00.000Z" }), { status: "ok" });
    t.match(await noted(), { last_backup_at: "2026-11-23T11:00:00Z" });
    t.same((await series()) as unknown, [
      "sluice_limiter_last_backup_timestamp_seconds",
      [],
      [noon / 1000 - 3600],
    ]);
    t.match(events(), exactly([{ value: noon - 3_600_000 }]));
    t.match(storedLastBackup(daemon.store.crash(), noon).lastBackup, { atMs: noon - 3_600_000 });
    const later = daemon.proxy("q");
    t.match(later.received.at(-1), { name: "last_backup", value: noon - 3_600_000 });

    for (const kept of [7, "yesterday", "2026-11-24T12:00:00.000Z", {}])
      t.match(
        await refusal(ask(daemon, "backup", { kept })),
        { status: 400, param: "kept" },
        JSON.stringify(kept),
      );
    daemon.store.broken = true;
    t.match(await refusal(ask(daemon, "backup", { kept: "2026-11-23T11:30:00.000Z" })), {
      status: 503,
      message: /^the store can't be written \(.*\): the backup is noted once it can$/,
    });
    t.match(events().at(-1), { value: noon - 1_800_000 });
  },
);
