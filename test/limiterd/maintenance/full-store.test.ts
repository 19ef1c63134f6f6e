import t from "tap";
import { verifyStore } from "../../../limiterd/maintenance/verify-store.js";
import { createUsageTrimmer } from "../../../limiterd/usage/trim-usage.js";
import { wind } from "../clockwork.js";
import {
  ask,
  askFor,
  counts,
  executed,
  pathRule,
  settleOf,
  startDaemon,
} from "../in-memory-daemon.js";

const dayMs = 86_400_000;
const days = { user_path: "/", start_date: "2026-01-01", end_date: "2026-01-31" };

t.test(
  "what a full store gives up are its oldest records that are in their sums, and nothing else",
  async (t) => {
    const rule = pathRule("/team", 86_400, { requests: 1000 });
    const daemon = startDaemon([rule], {
      budgets: [
        {
          scope: "user_path",
          subject: "/",
          periodSeconds: 86_400,
          amountUsd: 1e6,
          perChild: false,
        },
      ],
    });
    const proxy = daemon.proxy("p");
    const send = async (seq: number): Promise<void> => {
      proxy.send({ ...settleOf(askFor(proxy, seq, "/team")!, seq, 30), record: executed() });
      await daemon.commit();
    };
    for (let n = 1; n <= 12; n++) {
      await send(n);
      if (n % 4 === 0) daemon.nowMs += dayMs;
    }
    await daemon.snapshot();
    const flushed = daemon.flush();
    await daemon.commit();
    await flushed;
    // No sum holds it yet.
    await send(13);
    const { store, state } = daemon;
    const { rolledUpKey } = state.usage;
    const trimmer = createUsageTrimmer(store, state.usage.days, 400);
    t.same(trimmer.next(daemon.nowMs, rolledUpKey), [], "nothing is old");
    const counted = counts(daemon, rule);
    const [before, summed] = [store.crash(), await ask(daemon, "usage.summary", days)];
    const removals = trimmer.next(daemon.nowMs, rolledUpKey, true);
    t.same(
      removals.filter(({ table }) => table === "usage").map(({ key }) => key),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    );
    t.same([...new Set(removals.map(({ table }) => table))], ["usage", "days"]);
    // As far as a slice reaches.
    await store.commit(removals.slice(0, 6));
    for (const table of ["rules", "windows", "rollups", "spends", "budgets"] as const)
      t.same([...store.entries(table)], [...before.entries(table)], table);
    t.same((await ask(daemon, "usage.summary", days))["usage"], summed["usage"]);
    t.same(counts(daemon, rule), counted);
    const { problems, records } = verifyStore(store.crash(), {
      schema: 1,
      entries: 0,
      nowMs: daemon.nowMs,
      onProgress: () => {},
    });
    t.same(problems, []);
    t.equal(records, 13 - removals.slice(0, 6).filter(({ table }) => table === "usage").length);
    const next = startDaemon([rule], { store: store.crash(), nowMs: daemon.nowMs });
    t.same((await ask(next, "usage.summary", days))["usage"], summed["usage"], "over a restart");
  },
);

t.test(
  "a daemon looks each second how much its store holds, and removes what is too much",
  async (t) => {
    const daemon = startDaemon([pathRule("/team", 86_400, { requests: 1000 })]);
    const records = (): number => [...daemon.store.entries("usage")].length;
    daemon.store.usedBytes = () => records() * 10;
    const { ring, log } = wind(daemon, 0, 50);
    const proxy = daemon.proxy("p");
    for (let n = 1; n <= 6; n++) {
      proxy.send({ ...settleOf(askFor(proxy, n, "/team")!, n, 30), record: executed() });
      await daemon.commit();
      ring(1000);
      await daemon.commit();
      if (n === 4) t.same(log, ["the store is near"]);
    }
    t.same(log, ["the store is near", "the store is over"]);
    t.equal(records(), 6, "no sum holds them");
    const flushed = daemon.flush();
    await daemon.commit();
    await flushed;
    ring(1000);
    await daemon.commit();
    t.equal(records(), 0);
  },
);
