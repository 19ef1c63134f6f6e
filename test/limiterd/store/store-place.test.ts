import t from "tap";
import type { Change } from "../../../limiterd/store/store.js";
import { StorePlace } from "../../../limiterd/store/store-place.js";
import { ask, pathRule, startDaemon } from "../in-memory-daemon.js";

const counts = [{ table: "windows" }, { table: "journal" }, { table: "usage" }] as const;

t.test(
  "a store that was seen in its place is believed there for a tenth of a second",
  async (t) => {
    let isThere = true;
    let looks = 0;
    const place = new StorePlace(() => {
      looks++;
      return isThere;
    });
    t.ok(place.takes(counts, 1000));
    isThere = false;
    t.ok(place.takes(counts, 1099));
    t.equal(looks, 1, "nobody has looked again");
    t.notOk(place.takes(counts, 1100));
    isThere = true;
    t.ok(place.takes(counts, 1101), "one that is missing is looked for each time");
    isThere = false;
    t.notOk(place.isKept(1102), "whoever asks for a look gets one");
    t.notOk(place.takes(counts, 1103), "and it is believed at once");
  },
);

t.test("what is defined is committed to a store that is seen in its place then", async (t) => {
  for (const table of [
    "rules",
    "keys",
    "denials",
    "objects",
    "budgets",
    "resets",
    "settings",
  ] as const) {
    let isThere = true;
    const place = new StorePlace(() => isThere);
    t.ok(place.takes([...counts, { table }], 1000), table);
    isThere = false;
    t.ok(place.takes(counts, 1001), "it is believed for what counts");
    t.notOk(place.takes([...counts, { table }], 1001), table);
  }
});

t.test("so is a reset of all rules", async (t) => {
  const daemon = startDaemon([pathRule("/a", 60, { requests: 1 })]);
  await daemon.commit();
  const committed: Change[] = [];
  const commit = daemon.store.commit.bind(daemon.store);
  daemon.store.commit = (changes) => {
    for (const change of changes) committed.push(change);
    return commit(changes);
  };
  await ask(daemon, "rate-limits.reset", { confirmation: "reset" });
  let isThere = true;
  const place = new StorePlace(() => isThere);
  place.isKept(1000);
  isThere = false;
  t.notOk(place.takes(committed, 1001));
});
