import t from "tap";
import { OneAtATime } from "../../shared/one-at-a-time.js";

t.test("each begins when the one before it is done, in order, at the time of that", async (t) => {
  const queue = new OneAtATime();
  const log: string[] = [];
  const ends: ((nowMs: number) => void)[] = [];
  for (const name of ["a", "b", "c"])
    queue.add((nowMs, done) => {
      log.push(`${name} at ${nowMs}`);
      ends.push(done);
    }, 1);
  t.same([log, queue.waiting], [["a at 1"], 2]);
  ends.shift()!(5);
  t.same([log.at(-1), queue.waiting], ["b at 5", 1]);
  ends.shift()!(6);
  ends.shift()!(7);
  t.same([log.at(-1), queue.waiting], ["c at 6", 0]);
  queue.add((nowMs) => void log.push(`d at ${nowMs}`), 9);
  t.equal(log.at(-1), "d at 9");
});

t.test("thousands of results that are ready immediately don't overflow the stack", async (t) => {
  const queue = new OneAtATime();
  let first = (_: number): void => {};
  queue.add((_, done) => {
    first = done;
  }, 0);
  let ran = 0;
  for (let i = 0; i < 100_000; i++)
    queue.add((nowMs, done) => {
      ran++;
      done(nowMs);
    }, 0);
  t.equal(ran, 0);
  first(1);
  t.same([ran, queue.waiting], [100_000, 0]);
});
