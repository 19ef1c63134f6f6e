import { setImmediate as nextTurn } from "node:timers/promises";
import t from "tap";
import { RunningHandlers } from "../../../../proxy/http/drain/running-handlers.js";

t.test("none is waited for where none runs", async () => {
  const running = new RunningHandlers();
  await running.none();
  running.began();
  running.ended();
  await running.none();
});

t.test("whoever waits is told when the last one has ended, and each time anew", async (t) => {
  const running = new RunningHandlers();
  for (let round = 0; round < 2; round++) {
    running.began();
    running.began();
    let told = 0;
    const waits = [1, 2].map(() => running.none().then(() => told++));
    running.ended();
    await nextTurn();
    t.equal(told, 0, "one still runs");
    running.ended();
    await Promise.all(waits);
    t.equal(told, 2);
  }
});
