import t from "tap";
import { NameReader } from "../../../limiterd/counters/child-name.js";
import {
  readPosition,
  readRestoredLsn,
  readStartMs,
  readWindow,
  writeNumbers,
  writePosition,
} from "../../../limiterd/counters/child-numbers.js";
import { ChildTable } from "../../../limiterd/counters/child-table.js";

const windowOf = (from: number) => ({
  startMs: from,
  previousRequests: from + 1,
  currentRequests: from + 2,
  previousTokens: from + 3,
  currentTokens: from + 4,
});

t.test("each number of a child is read as it was written, beside its neighbours'", async (t) => {
  const table = new ChildTable(new NameReader([1, 2]));
  const places = ["a", "bcdef", "łłł"].map((name) => table.add(name));
  places.forEach((place, i) => {
    writeNumbers(table, place, windowOf(100 * (i + 1)), 100 * (i + 1) + 5);
  });
  places.forEach((place, i) => {
    t.same(readWindow(table, place), windowOf(100 * (i + 1)));
    t.equal(readStartMs(table, place), 100 * (i + 1));
    t.equal(readRestoredLsn(table, place), 100 * (i + 1) + 5);
  });
  writePosition(table, places[1]!, 7);
  t.equal(readPosition(table, places[1]!), 7, "a position is in the place of the first number");
  t.same(readWindow(table, places[1]!), { ...windowOf(200), startMs: 7 });
});
