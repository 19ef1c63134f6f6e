import { readdirSync, readFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { getPriority } from "node:os";
import t from "tap";
import { lowerPriority, politePriority } from "../../../limiterd/maintenance/lower-priority.js";

t.test("all threads of the process let others go first, those that come later too", async (t) => {
  await stat("/");
  const before = getPriority();
  lowerPriority();
  await Promise.all(Array.from({ length: 8 }, () => stat("/")));
  const threads = readdirSync("/proc/self/task").map((id) => {
    const line = readFileSync(`/proc/self/task/${id}/stat`, "utf8");
    // The field `nice`; the name, in parentheses, may have blanks.
    return Number(line.slice(line.lastIndexOf(")") + 2).split(" ")[16]);
  });
  t.ok(threads.length > 4, "Node's and the pool's");
  t.same([...new Set(threads)], [Math.max(before, politePriority)]);
});
