import t from "tap";
import { sayOnce } from "../../../proxy/capacity/say-once.js";

t.test("it is said at once, and again after a minute at the earliest", async (t) => {
  let nowMs = 5;
  const said: number[] = [];
  const say = sayOnce(
    () => said.push(nowMs),
    () => nowMs,
  );
  for (nowMs of [5, 6, 60_004, 60_005, 60_006, 200_000]) say();
  t.same(said, [5, 60_005, 200_000]);
});
