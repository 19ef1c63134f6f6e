import t from "tap";
import { OddAnswers, type WorkerAnswer } from "../../../../bin/supervisor/metrics/odd-answers.js";

const answerWith = (odd: number): WorkerAnswer => ({ counted: [], read: [], odd });

t.test("what is wrong with a proxy's answer is said in words", async (t) => {
  const table: readonly (readonly [WorkerAnswer, string | null])[] = [
    [answerWith(0), null],
    [answerWith(3), "3 of its series are odd"],
    ["no_listener", null],
    ["gone", null],
    ["none in time", "it doesn't answer in time"],
    ["too large", "its answer is too large"],
    ["no metrics", "what it answers are no metrics"],
    [{ code: "EACCES" }, "it can't be asked: permission denied"],
    [{ code: "EMFILE" }, "it can't be asked: this process may not open more files"],
    [{ code: "EAGAIN" }, "it can't be asked: too many wait for it already"],
    [{ code: "ENOTSOCK" }, "it can't be asked: ENOTSOCK"],
  ];
  for (const [answer, expected] of table) {
    const said: string[] = [];
    new OddAnswers((_, reason) => void said.push(reason)).noteAnswer({ file: "a" }, answer);
    t.same(said, expected === null ? [] : [expected], JSON.stringify(answer));
  }
});

t.test("each proxy is reported once, until it answers well or leaves", async (t) => {
  const said: string[] = [];
  const answers = new OddAnswers((file) => void said.push(file));
  const odd = (file: string): void => answers.noteAnswer({ file }, answerWith(1));
  odd("a");
  odd("a");
  odd("b");
  t.same(said, ["a", "b"]);
  answers.noteAnswer({ file: "a" }, answerWith(0));
  odd("a");
  odd("b");
  t.same(said, ["a", "b", "a"]);
  answers.there(["a"]);
  odd("a");
  odd("b");
  t.same(said, ["a", "b", "a", "b"]);
});

t.test("however many have come and left, those that are there are reported", async (t) => {
  let said = 0;
  const answers = new OddAnswers(() => void said++);
  for (let i = 0; i < 1_000; i++) {
    answers.there([`worker-${i}`]);
    answers.noteAnswer({ file: `worker-${i}` }, "no metrics");
  }
  t.equal(said, 1_000);
  answers.there([]);
  for (let i = 0; i < 1_000; i++) answers.noteAnswer({ file: `worker-${i}` }, "no metrics");
  t.equal(said, 1_128, "and of those at once as many as a port has");
});
