import t from "tap";
import { isEchoed } from "../../../bin/supervisor/echoed-signal.js";

t.test("under npm alone, the same signal at once is the one before", async (t) => {
  const npm = { npm_lifecycle_event: "start" };
  const first = { name: "SIGINT", atMonoMs: 1_000 };
  const table = [
    [null, "SIGINT", 1_003, npm, false],
    [first, "SIGINT", 1_003, npm, true],
    [first, "SIGINT", 1_500, npm, false],
    [first, "SIGTERM", 1_003, npm, false],
    [first, "SIGINT", 1_003, {}, false],
  ] as const;
  for (const [previous, name, atMonoMs, env, echoed] of table)
    t.equal(isEchoed(previous, { name, atMonoMs }, env), echoed, `${name} ${atMonoMs}`);
});
