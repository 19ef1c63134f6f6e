import { spawn } from "node:child_process";
import { once } from "node:events";
import t from "tap";
import {
  predecessorsVariable,
  takePredecessors,
  waitForEnd,
} from "../../../../bin/supervisor/reload/predecessors.js";

t.test("a successor is handed those that still run, and waits for their end", async (t) => {
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  t.teardown(() => child.kill("SIGKILL"));
  await once(child, "spawn");
  const { pid } = child;
  const env: Record<string, string | undefined> = predecessorsVariable(["1.1", "x"], pid!);
  const predecessors = takePredecessors(env);
  t.same(env, {}, "no process started later takes them for its own");
  t.equal(predecessors.length, 1, "a process of that id that started at another time is another");
  t.match(predecessors[0], new RegExp(`^${pid}\\.\\d+$`));
  const next = predecessorsVariable(predecessors, process.pid);
  t.equal(takePredecessors({ ...next }).length, 2);

  let isAlone = false;
  const alone = waitForEnd(predecessors, 60_000).then(() => {
    isAlone = true;
  });
  await waitForEnd(predecessors, 1);
  t.equal(isAlone, false, "it has waited as long as it may");
  child.kill("SIGKILL");
  await alone;
  t.same(takePredecessors({ ...predecessorsVariable(predecessors, process.pid) }).length, 1);
});

t.test("what isn't a process's id and start is none", async (t) => {
  for (const text of ["", "1", "a.b", "-1.2", "1.2;3.4"])
    t.same(takePredecessors({ SLUICE_PREDECESSORS: text }), [], text);
  await waitForEnd([], 60_000);
});
