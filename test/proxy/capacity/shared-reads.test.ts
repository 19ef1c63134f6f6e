import t from "tap";
import { SharedReads } from "../../../proxy/capacity/shared-reads.js";

/** Reads of which the test answers the oldest that was asked. */
function reads(runningMax = 1, waitingMax = 4, waitingPerCallerMax = 2) {
  const shared = new SharedReads<string>({ runningMax, waitingMax, waitingPerCallerMax });
  const asked: { readonly key: string; readonly answer: (text: string) => void }[] = [];
  return {
    shared,
    asked: () => asked.map(({ key }) => key),
    async answer(text: string) {
      asked.shift()!.answer(text);
      await new Promise((resolve) => setImmediate(resolve));
    },
    /** `leave`: the client does. */
    read(key: string, caller = "a") {
      let leave = (): void => {};
      const answer = shared.read({
        caller,
        key,
        ask: () => new Promise((resolve) => asked.push({ key, answer: resolve })),
        onGone: (run) => {
          leave = run;
        },
      });
      return { answer, leave };
    },
  };
}

t.test(
  "few reads run together; equal ones that wait run once, and all get the answer",
  async (t) => {
    const { read, asked, answer, shared } = reads();
    const first = read("x");
    const second = read("x");
    const third = read("x", "b");
    const other = read("y", "b");
    t.same(asked(), ["x"], "what has been asked isn't shared: it may be too old");
    t.equal(shared.waiting, 2);
    await answer("old");
    t.equal(await first.answer, "old");
    t.same(asked(), ["x"]);
    await answer("new");
    t.same(await Promise.all([second.answer, third.answer]), ["new", "new"]);
    await answer("of y");
    t.equal(await other.answer, "of y");
    t.same(asked(), []);
    t.equal(shared.waiting, 0);
  },
);

t.test("more than may wait are refused: of one caller, and of all", async (t) => {
  const { read, answer } = reads();
  const running = read("x");
  const waiting = [read("1"), read("2"), read("3", "b"), read("4", "b")];
  t.equal(await read("5").answer, null, "of one");
  t.equal(await read("6", "c").answer, null, "of all");
  const joined = read("1", "c");
  for (const text of ["x", "1", "2", "3", "4"]) await answer(text);
  t.equal(await running.answer, "x");
  t.same(await Promise.all(waiting.map(({ answer }) => answer)), ["1", "2", "3", "4"]);
  t.equal(await joined.answer, "1", "one that is asked anyway");
  const again = read("5");
  await answer("5");
  t.equal(await again.answer, "5");
});

t.test("a read that no caller waits for any more doesn't run", async (t) => {
  const { read, asked, answer, shared } = reads();
  const running = read("x");
  const gone = read("y");
  const stays = read("z");
  const alsoZ = read("z");
  gone.leave();
  alsoZ.leave();
  t.same(await Promise.all([gone.answer, alsoZ.answer]), [null, null]);
  t.equal(shared.waiting, 1);
  running.leave();
  t.equal(await running.answer, null);
  await answer("late");
  t.same(asked(), ["z"]);
  await answer("z");
  t.equal(await stays.answer, "z");
});
