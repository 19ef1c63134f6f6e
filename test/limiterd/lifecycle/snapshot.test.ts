import fc from "fast-check";
import t from "tap";
import type { Change } from "../../../limiterd/store/store.js";
import { modelsPerDayMax } from "../../../shared/bounds.js";
import { dayMs } from "../../../shared/time.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { budget, client, spend } from "../budgets/budget-fixture.js";
import { ask, startDaemon } from "../in-memory-daemon.js";
import {
  atRest,
  budgets,
  labelsOf,
  mustAgree,
  noonMs,
  recordOn,
  recordsIn,
  type Settled,
  settleOne,
  slow,
  step,
  sumsOf,
  tell,
} from "./flush-fixture.js";

t.test(
  "whenever the daemon dies, between any two commits of a flush too, sums and accounts are what the records on the disk add up to",
  async (t) => {
    let crashes = 0;
    let inFlush = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 90 }), async (steps) => {
        let onCommit = (): void => {};
        let daemon = startDaemon([], {
          store: slow(createMemoryStore(), () => onCommit()),
          nowMs: noonMs,
          budgets,
          labelsOf,
        });
        let peer = daemon.proxy("p");
        let flushing = false;
        let seq = 0;
        const sent: (() => void)[] = [];
        const acknowledged = (): number =>
          Math.max(
            0,
            ...peer.received.map((message) =>
              message.kind === "settled"
                ? message.seq
                : message.kind === "welcome"
                  ? message.settledSeq
                  : 0,
            ),
          );
        const settleNow = (one: Settled): void => {
          const number = ++seq;
          const atMs = Math.max(noonMs - 3 * dayMs, daemon.nowMs - one.agoMs);
          sent.push(() => void tell(peer, number, one, daemon.nowMs - atMs));
          sent.at(-1)!();
        };
        const crash = async (): Promise<void> => {
          crashes++;
          const known = acknowledged();
          daemon = startDaemon([], {
            store: slow(daemon.store.crash(), () => onCommit()),
            nowMs: daemon.nowMs,
            budgets,
            labelsOf,
          });
          await atRest(daemon);
          flushing = false;
          mustAgree(daemon, recordsIn(daemon.store), "after a crash");
          peer = daemon.proxy("p");
          if (acknowledged() < known) throw new Error("an acknowledged settle is gone");
          for (const again of sent.slice(acknowledged())) again();
        };
        for (const one of steps) {
          switch (one.kind) {
            case "settle":
              settleNow(one);
              break;
            case "commit":
              await daemon.commit();
              break;
            case "disk":
              daemon.store.broken = one.broken;
              break;
            case "clock":
              daemon.nowMs += one.byMs;
              break;
            case "flush": {
              daemon.store.commitsLeft = one.diesAfter ?? Infinity;
              if (!flushing) {
                flushing = true;
                void daemon.flush(one.perSlice).then(() => {
                  flushing = false;
                });
              }
              if (one.diesAfter === null) break;
              const during = [...one.during];
              onCommit = () => {
                const record = during.shift();
                if (record !== undefined) settleNow(record);
              };
              for (let turns = 0; turns < 15; turns++) await daemon.commit();
              onCommit = () => {};
              inFlush++;
              await crash();
              break;
            }
            case "crash": {
              await crash();
              if (!one.again) break;
              await daemon.flush();
              await crash();
              break;
            }
            case "budget": {
              if (daemon.store.broken) break;
              const key =
                one.op === "reset-one"
                  ? { period: "daily" }
                  : {
                      budget_key: { period: "daily" },
                      ...(one.op === "put" ? { amount: 1e6, per_child: one.perChild } : {}),
                    };
              // What was settled in the millisecond of a reset would lie behind it.
              daemon.nowMs++;
              // One that isn't there can't be deleted.
              const asked = ask(daemon, `budgets.${one.op}`, {
                subject: one.subject,
                ...key,
              }).catch(() => {});
              if (one.meanwhile !== null) settleNow(one.meanwhile);
              await asked;
              break;
            }
          }
        }
        daemon.store.broken = false;
        await atRest(daemon);
        if (recordsIn(daemon.store).length !== seq)
          throw new Error(`${recordsIn(daemon.store).length} records of ${seq} settles`);
        mustAgree(daemon, recordsIn(daemon.store), "at last");
      }),
      { numRuns: 60, seed: 20_260_310 },
    );
    t.ok(crashes > 180 && inFlush > 60, `${crashes} crashes, ${inFlush} of them in a flush`);
  },
);

t.test(
  "a day with too many models keeps each record in the sum that it was added to, wherever a flush was interrupted",
  async (t) => {
    const before = startDaemon([], { nowMs: noonMs });
    const add = (from: number, to: number): void => {
      for (let i = from; i < to; i++)
        before.state.usage.add(
          recordOn("/a", { model: `m${(i * 7) % 1999}`, totalCost: i }),
          noonMs,
        );
      settleOne(before.proxy(`p${from}`), 1);
      before.state.writer.closeBatch();
    };
    add(0, 700);
    await before.flush(300);
    add(700, modelsPerDayMax + 400);
    await before.commit();
    const expected = sumsOf(before, new Map());
    t.ok(expected.has("m\n/a\n2026-03-10\nother\nother"));
    for (const commits of [0, 1, 3, 7, 11]) {
      const dying = startDaemon([], { store: before.store.crash(), nowMs: noonMs });
      await dying.commit();
      dying.store.commitsLeft = commits;
      void dying.flush(300);
      for (let turns = 0; turns < 3; turns++) await dying.commit();
      const after = startDaemon([], { store: dying.store.crash(), nowMs: noonMs });
      t.same(sumsOf(after, expected), expected, `after ${commits} commits`);
      t.equal(after.state.usage.rollups.find("t\n/\na\n2026-03-10")!.models, modelsPerDayMax);
    }
  },
);

t.test("sums and accounts are written in slices that are full, and what is left", async (t) => {
  const daemon = startDaemon([], {
    nowMs: noonMs,
    budgets: [budget("/", 86_400, 1, { perChild: true })],
  });
  const proxy = client(daemon);
  for (const child of ["a", "b", "c", "d", "e"]) spend(proxy, `/${child}`, 1);
  await daemon.commit();
  const { writer } = daemon.state;
  const written: (string | undefined)[] = [];
  const write = writer.writeWithBatch.bind(writer);
  Object.assign(writer, {
    writeWithBatch: (changesOf: () => readonly Change[]) =>
      write(() => {
        const changes = changesOf();
        written.push(`${changes.length} ${changes[0]?.table}`);
        return changes;
      }),
  });
  const { rollups } = daemon.state.usage;
  const makeRoom = rollups.makeRoom.bind(rollups);
  let calls = 0;
  Object.assign(rollups, {
    makeRoom() {
      calls++;
      makeRoom();
    },
  });
  await daemon.flush(2);
  t.equal(calls, 1, "and sums that nobody needs may go from memory");
  t.same(
    written.filter((text) => text?.endsWith("spends")),
    ["2 spends", "2 spends", "1 spends"],
  );
  const ofSums = written.filter((text) => text?.endsWith("rollups"));
  t.same(new Set(ofSums.slice(0, -1)), new Set(["2 rollups"]));
  t.same([...rollups.unstoredKeys()], [], "the store has all of them");
  written.length = 0;
  for (const child of ["a", "b", "c", "d"]) spend(proxy, `/${child}`, 1);
  await daemon.commit();
  await daemon.flush(2);
  t.same(written.filter((text) => !text?.endsWith("rollups")).slice(0, 2), [
    "2 spends",
    "2 spends",
  ]);
  t.notOk(written.includes("0 undefined"), "none is empty");
  written.length = 0;
  for (let i = 0; i < 200; i++) spend(proxy, `/${i}`, 1);
  await daemon.commit();
  await daemon.flush(2);
  t.equal(written[0], "25 rollups", "the more wait, the larger the slices");
  t.ok(written.includes("8 spends"));
});

t.test(
  "an account with a record that came while sums were written is on the disk no earlier than that record",
  async (t) => {
    let arrive = (): void => {};
    const daemon = startDaemon([], {
      store: slow(createMemoryStore(), () => arrive()),
      nowMs: noonMs,
      budgets,
      labelsOf,
    });
    await atRest(daemon);
    const peer = daemon.proxy("p");
    settleOne(peer, 1);
    await atRest(daemon);
    let seq = 1;
    const wrong: unknown[] = [];
    arrive = () => {
      if (seq < 30) settleOne(peer, ++seq);
      const store = daemon.store.crash();
      const died = startDaemon([], { store, nowMs: noonMs, budgets, labelsOf });
      try {
        mustAgree(died, recordsIn(store), `before record ${seq}`);
      } catch (error) {
        wrong.push(error);
      }
    };
    // No timer runs meanwhile: what is counted stays in the open batch, unless the flush closes it.
    await daemon.flush(1);
    t.same(wrong, []);
    t.ok(recordsIn(daemon.store).length > 3, `${recordsIn(daemon.store).length} of ${seq} records`);
  },
);
