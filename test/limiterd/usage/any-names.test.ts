import t from "tap";
import { openLmdbStore } from "../../../limiterd/store/lmdb/open-lmdb-store.js";
import { RecordDays } from "../../../limiterd/usage/record-days.js";
import { modelSuffix, modelsPrefix } from "../../../limiterd/usage/rollup-keys.js";
import { createUsageTrimmer } from "../../../limiterd/usage/trim-usage.js";
import { printableName } from "../../../shared/domain/target-name.js";
import { createRandom } from "../../sim/random.js";
import type { MemoryStore } from "../../support/memory-store.js";
import { ask, startDaemon } from "../in-memory-daemon.js";
import { anyText } from "../store/lmdb/any-text.js";
import { temporary } from "../store/lmdb/store-fixture.js";
import { noonMs, recordOn, spend, today } from "./usage-fixture.js";

t.test(
  "whatever names a record holds, its sums are read again after a restart, and nothing ends the daemon",
  async (t) => {
    const random = createRandom(12);
    const directory = temporary(t);
    const open = async () => (await openLmdbStore(directory)) as MemoryStore;
    const names = ["m\u0000\u0002".padEnd(80, "x"), "\u0000", "a\u0000\u0000b", "\ud800", "other"];
    for (let i = 0; i < 200; i++) names.push(anyText(random, 120));
    const expected = new Map<string, number>();
    const firstStore = await open();
    const first = startDaemon([], { store: firstStore, nowMs: noonMs });
    for (const model of names) {
      // The wire refuses names that aren't printable.
      const name = printableName(model);
      first.state.usage.add(recordOn("/a", { model: name }), noonMs);
      expected.set(name, (expected.get(name) ?? 0) + 1);
    }
    spend(first.proxy("p"), 1, "/a", { model: "plain" });
    expected.set("plain", 1);
    await first.flush();
    await firstStore.close();

    const secondStore = await open();
    const second = startDaemon([], { store: secondStore, nowMs: noonMs });
    const { groups, usage } = await ask(second, "usage.summary", {
      ...today,
      user_path: "/a",
      by: "model",
    });
    t.match(usage, { total_requests: names.length + 1 });
    t.same(
      new Map(
        (groups as { key: string; requests: number }[]).map(({ key, requests }) => [key, requests]),
      ),
      new Map([...expected].map(([name, count]) => [`openai/${name === "" ? "-" : name}`, count])),
    );
    const trimmer = createUsageTrimmer(secondStore, new RecordDays([]), 1);
    const removed = trimmer.next(noonMs + 800 * 86_400_000, Number.MAX_SAFE_INTEGER);
    await secondStore.commit(removed);
    t.same([...secondStore.entries("rollups")], [], "and they can be removed");
    await secondStore.close();
  },
);

t.test("the parts of a key are separated correctly, whatever the names contain", async (t) => {
  const random = createRandom(13);
  const keys = Array.from({ length: 500 }, () => {
    const [provider, model] = [anyText(random, 300), anyText(random, 700)].map(printableName);
    return `${modelsPrefix("/a")}2026-03-10${modelSuffix(provider!, model!)}`;
  });
  t.same(
    keys.filter((key) => key.split("\n").length !== 5 || Buffer.byteLength(key) > 900),
    [],
  );
});
