import t from "tap";
import { ask, refusal, startDaemon } from "../in-memory-daemon.js";

t.test("no backup is begun while the store can't be written", async (t) => {
  const daemon = startDaemon([]);
  let begun = 0;
  Object.assign(daemon.state.backups, {
    progress: () => Promise.resolve({ ok: true, value: { copies: ++begun } }),
  });
  t.same(await ask(daemon, "backup", {}), { copies: 1 });
  daemon.store.broken = true;
  t.match(await refusal(ask(daemon, "backup", {})), {
    status: 503,
    code: "limiter_unavailable",
    message: "the backup can't be made: the store can't be written (the disk is broken)",
  });
  t.equal(begun, 1);
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
