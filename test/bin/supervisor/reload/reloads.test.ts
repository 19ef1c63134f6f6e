import t from "tap";
import type { ReloadOutcome } from "../../../../bin/supervisor/reload/reload-outcome.js";
import { outcomeFrom } from "../../../../bin/supervisor/reload/reload-outcome.js";
import { Reloads } from "../../../../bin/supervisor/reload/reloads.js";
import { exactly } from "../../../support/patterns/exactly.js";

const done: ReloadOutcome = { ok: true, lines: ["done"] };

function running() {
  const ends: (() => void)[] = [];
  const reported: ReloadOutcome[] = [];
  const reloads = new Reloads(
    () => new Promise((resolve) => ends.push(() => resolve(done))),
    (outcome) => void reported.push(outcome),
  );
  const end = async (): Promise<void> => {
    ends.at(-1)!();
    for (let turn = 0; turn < 5; turn++) await null;
  };
  return { reloads, reported, end, started: () => ends.length };
}

t.test("a reload that is asked for during another one is refused", async (t) => {
  const { reloads, reported, end, started } = running();
  const first = reloads.request();
  t.match(
    await reloads.request(),
    exactly({
      ok: false,
      exitCode: 75,
      lines: [/^error: a reload is in progress/],
    }),
  );
  await end();
  t.same(await first, done);
  t.same(reported, [done]);
  t.equal(started(), 1);
});

t.test("signals during a reload are one more reload after it", async (t) => {
  const { reloads, reported, end, started } = running();
  for (let i = 0; i < 3; i++) reloads.signal();
  t.equal(started(), 1);
  await end();
  t.equal(started(), 2);
  await end();
  t.equal(started(), 2);
  t.same(reported, [done, done]);
});

t.test("none begins during a stop", async (t) => {
  const { reloads, end, started } = running();
  reloads.signal();
  reloads.signal();
  reloads.stop();
  t.match(await reloads.request(), exactly({ ok: false, exitCode: 75, lines: [/is stopping/] }));
  await end();
  reloads.signal();
  t.equal(started(), 1);
});

t.test("an outcome is read as it was written, and nothing else is one", async (t) => {
  const failed: ReloadOutcome = { ok: false, exitCode: 78, lines: ["a", "b"] };
  for (const outcome of [done, failed])
    t.same(outcomeFrom(JSON.parse(JSON.stringify(outcome))), outcome);
  const others = [
    null,
    1,
    {},
    { ok: true },
    { ok: true, lines: [1] },
    { ok: false, lines: [] },
    { ok: false, lines: [], exitCode: 0 },
    { ok: false, lines: [], exitCode: 256 },
    { ok: "yes", lines: [] },
  ];
  for (const other of others) t.equal(outcomeFrom(other), null, JSON.stringify(other));
});
