import t from "tap";
import { formatDuration } from "../../../bin/text/duration.js";

t.test("a duration shows its two largest units that count", async (t) => {
  const table: readonly (readonly [number, string])[] = [
    [-1, "0s"],
    [0, "0s"],
    [0.2, "1s"],
    [42, "42s"],
    [60, "1m"],
    [200, "3m 20s"],
    [7200, "2h"],
    [7201, "2h"],
    [7260, "2h 1m"],
    [100_800, "1d 4h"],
    [86_400, "1d"],
  ];
  for (const [seconds, text] of table) t.equal(formatDuration(seconds), text, String(seconds));
});
