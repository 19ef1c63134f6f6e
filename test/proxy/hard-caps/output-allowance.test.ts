import t from "tap";
import { type DrawnOutput, OutputAllowance } from "../../../proxy/hard-caps/output-allowance.js";
import { outputChunkTokensMax, outputChunkTokensMin } from "../../../shared/bounds.js";

const chunk = outputChunkTokensMin;

class Daemon {
  readonly drawn: DrawnOutput;
  readonly asked: number[] = [];
  #then: (() => void) | null = null;

  constructor(granted: number, spent = 0) {
    this.drawn = { granted, spent, cap: null, promptTokens: 9, isPromptKnown: false };
  }

  readonly draw = (total: number, then: () => void): void => {
    this.asked.push(total);
    this.#then = then;
  };

  grant(total: number, cap: string | null = null): void {
    Object.assign(this.drawn, { granted: total, cap });
    const then = this.#then!;
    this.#then = null;
    then();
  }
}

const fails = (): never => {
  throw new Error("it doesn't wait");
};

t.test(
  "the next chunk is asked for when half of the last is used, and nothing waits",
  async (t) => {
    const daemon = new Daemon(chunk);
    const allowance = new OutputAllowance(daemon.drawn, daemon.draw);
    t.ok(allowance.use(chunk / 2 - 1, fails));
    t.same(daemon.asked, []);
    t.ok(allowance.use(chunk / 2, fails));
    t.ok(allowance.use(chunk / 2 + 5, fails));
    t.same(daemon.asked, [2 * chunk], "once");
    daemon.grant(2 * chunk);
    t.ok(allowance.use(chunk + 1, fails));
    t.same(daemon.asked, [2 * chunk]);
    t.ok(allowance.use(2 * chunk - 1, fails));
    t.same(daemon.asked, [2 * chunk, 3 * chunk]);
  },
);

t.test("a stream waits for a late answer, and asks for more from then on", async (t) => {
  const daemon = new Daemon(chunk);
  const allowance = new OutputAllowance(daemon.drawn, daemon.draw);
  let granted = 0;
  t.notOk(allowance.use(chunk, () => granted++));
  t.equal(allowance.cap, null);
  daemon.grant(2 * chunk);
  t.equal(granted, 1);
  t.ok(allowance.use(chunk, fails));
  t.same(daemon.asked, [2 * chunk, 4 * chunk], "twice as many");
  for (let at = 4 * chunk; daemon.asked.length < 20; at = daemon.asked.at(-1)!) {
    daemon.grant(at);
    t.notOk(allowance.use(at, () => {}));
  }
  t.equal(daemon.asked.at(-1)! - daemon.asked.at(-2)!, outputChunkTokensMax, "within a bound");
});

t.test("a stream ends once what was granted is used and no more comes", async (t) => {
  const daemon = new Daemon(chunk);
  const allowance = new OutputAllowance(daemon.drawn, daemon.draw);
  allowance.use(chunk - 1, fails);
  daemon.grant(chunk + 10, "max_tokens 1000 of /a");
  t.ok(allowance.use(chunk + 9, fails), "the last grant may be used");
  t.equal(allowance.cap, null);
  t.notOk(allowance.use(chunk + 10, fails));
  t.equal(allowance.cap, "max_tokens 1000 of /a");
  t.equal(daemon.asked.length, 1, "nothing more is asked for");
});

t.test("an answer that grants nothing and names no limit ends the stream, too", async (t) => {
  const daemon = new Daemon(chunk);
  const allowance = new OutputAllowance(daemon.drawn, daemon.draw);
  t.notOk(allowance.use(chunk, () => {}));
  daemon.grant(chunk);
  t.notOk(allowance.use(chunk, fails));
  t.equal(allowance.cap, "a hard limit");
});

t.test("a later attempt goes on from what the earlier ones have put out", async (t) => {
  const daemon = new Daemon(10 * chunk, 0);
  const first = new OutputAllowance(daemon.drawn, daemon.draw);
  t.ok(first.use(3 * chunk, fails));
  first.end();
  t.equal(daemon.drawn.spent, 3 * chunk);
  const second = new OutputAllowance(daemon.drawn, daemon.draw);
  t.ok(second.use(6 * chunk, fails));
  t.same(daemon.asked, []);
  t.notOk(second.use(7 * chunk, () => {}));
  t.same(daemon.asked, [11 * chunk]);
});
