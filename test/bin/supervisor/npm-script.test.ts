import t from "tap";
import { isEchoed, onParentGone } from "../../../bin/supervisor/npm-script.js";

function started(env: Record<string, string>) {
  const looks: (() => void)[] = [];
  let [stops, looking] = [0, 0];
  const parent = { pid: 7 };
  onParentGone(
    {
      env,
      parentPid: () => parent.pid,
      every: (_ms, run) => {
        looks.push(run);
        looking++;
        return { stop: () => looking-- };
      },
    },
    () => stops++,
  );
  return {
    parent,
    look: () => looks.map((look) => look()),
    state: () => ({ stops, looking }),
  };
}

t.test("what npm started stops when its shell has gone, once", (t) => {
  const up = started({ npm_lifecycle_event: "npx" });
  up.look();
  t.same(up.state(), { stops: 0, looking: 1 });
  up.parent.pid = 1;
  up.look();
  t.same(up.state(), { stops: 1, looking: 0 });
  t.end();
});

t.test("what a shell started goes on after it, as nohup and setsid ask", (t) => {
  t.same(started({}).state(), { stops: 0, looking: 0 });
  t.end();
});

t.test("under npm alone, a signal that follows immediately is the same one", async (t) => {
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
