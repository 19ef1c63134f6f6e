import t from "tap";
import { ask, refusal, startDaemon } from "../in-memory-daemon.js";

t.test("no backup is begun while the store can't be written", async (t) => {
  const daemon = startDaemon([]);
  let begun = 0;
  Object.assign(daemon.state.backups, {
    progress: () => Promise.resolve({ ok: true, value: { copies: ++begun } }),
  });
  t.same(await ask(daemon, "backup", {}), { copies: 1 });
  t.same(await ask(daemon, "backup", null), { copies: 2 });
  daemon.store.broken = true;
  t.match(await refusal(ask(daemon, "backup", {})), {
    status: 503,
    code: "limiter_unavailable",
    message: "the backup can't be made: the store can't be written (the disk is broken)",
  });
  t.equal(begun, 2);
});

t.test("an offset that is no place in a copy is refused", async (t) => {
  const daemon = startDaemon([]);
  for (const offset of [-1, 0.5, "0", {}])
    t.match(
      await refusal(ask(daemon, "backup", { offset })),
      { status: 400, param: "offset" },
      JSON.stringify(offset),
    );
});

t.test("a backup that is kept is noted with the moment that it is of", async (t) => {
  const nowMs = Date.parse("2026-03-10T12:00:00Z");
  const at = (ms: number): string => new Date(ms).toISOString();
  for (const [kept, notedMs] of [
    [at(1000), 1000],
    [at(nowMs - 1000), nowMs - 1000],
    [at(nowMs), nowMs],
    [at(nowMs + 60_000), nowMs],
  ] as const) {
    const daemon = startDaemon([], { nowMs });
    t.same(await ask(daemon, "backup", { kept }), { status: "ok" }, kept);
    t.equal(daemon.state.lastBackup.atMs, notedMs, `${kept}: no later than it is here`);
  }
  const daemon = startDaemon([], { nowMs: nowMs - 1 });
  for (const kept of [at(0), at(nowMs + 60_000), "yesterday", "", nowMs, {}])
    t.match(
      await refusal(ask(daemon, "backup", { kept })),
      { status: 400, param: "kept" },
      JSON.stringify(kept),
    );
  t.equal(daemon.state.lastBackup.atMs, null);
});

t.test("a backup that can't be noted in the store is noted as soon as it can", async (t) => {
  const daemon = startDaemon([]);
  daemon.store.broken = true;
  t.match(await refusal(ask(daemon, "backup", { kept: "2026-01-01T00:00:00Z" })), {
    status: 503,
    message: /the disk is broken.*the backup is noted once it can/,
  });
});
