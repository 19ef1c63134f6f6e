import t from "tap";
import {
  type DrawnOutput,
  OutputAllowance,
  type WantedOutput,
} from "../../../proxy/hard-caps/output-allowance.js";
import { outputChunkTokens, outputChunkTokensMax } from "../../../shared/bounds.js";

const chunk = outputChunkTokens;

class Daemon {
  readonly drawn: DrawnOutput;
  readonly asked: number[] = [];
  readonly waits: number[] = [];
  nowMs = 0;
  #then: (() => void) | null = null;

  constructor(granted: number, spent = 0) {
    this.drawn = { granted, spent, cap: null, promptTokens: 9, isPromptKnown: false };
  }

  monoMs(): number {
    return this.nowMs;
  }

  draw({ total, waitMs }: WantedOutput, then: () => void): void {
    this.asked.push(total);
    this.waits.push(waitMs);
    this.#then = then;
  }

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
  "the next chunk is asked for when a quarter of the last is left, and nothing waits",
  async (t) => {
    const daemon = new Daemon(chunk);
    const allowance = new OutputAllowance(daemon.drawn, daemon);
    t.ok(allowance.use((3 * chunk) / 4 - 1, fails));
    t.same(daemon.asked, []);
    t.ok(allowance.use((3 * chunk) / 4, fails));
    t.ok(allowance.use((3 * chunk) / 4 + 5, fails));
    t.same(daemon.asked, [2 * chunk], "once");
    daemon.grant(2 * chunk);
    t.ok(allowance.use((7 * chunk) / 4 - 1, fails));
    t.same(daemon.asked, [2 * chunk]);
    t.ok(allowance.use((7 * chunk) / 4, fails));
    t.same(daemon.asked, [2 * chunk, 3 * chunk]);
  },
);

t.test("a stream waits for a late answer, and asks for more from then on", async (t) => {
  const daemon = new Daemon(chunk);
  const allowance = new OutputAllowance(daemon.drawn, daemon);
  let granted = 0;
  t.notOk(allowance.use(chunk, () => granted++));
  t.equal(allowance.cap, null);
  daemon.grant(2 * chunk);
  t.equal(granted, 1);
  t.ok(allowance.use(chunk, fails));
  t.notOk(allowance.use(2 * chunk, () => {}));
  t.same(daemon.asked, [2 * chunk, 4 * chunk], "twice as many");
  for (let at = 4 * chunk; daemon.asked.length < 20; at = daemon.asked.at(-1)!) {
    daemon.grant(at);
    t.notOk(allowance.use(at, () => {}));
  }
  t.equal(daemon.asked.at(-1)! - daemon.asked.at(-2)!, outputChunkTokensMax, "within a bound");
});

t.test("a stream that gets no more uses what it has, and asks once more at its end", async (t) => {
  const cap = "max_tokens 1000 of /a";
  const daemon = new Daemon(chunk);
  const allowance = new OutputAllowance(daemon.drawn, daemon);
  allowance.use(chunk - 9, fails);
  daemon.grant(chunk, cap);
  t.ok(allowance.use(chunk - 1, fails), "what was granted may be used");
  t.equal(daemon.asked.length, 1, "nothing more is asked for until then");
  let answers = 0;
  t.notOk(allowance.use(chunk, () => answers++));
  t.equal(allowance.cap, null, "another request may have given something back");
  daemon.grant(chunk + 10);
  t.equal(answers, 1);
  t.ok(allowance.use(chunk + 1, fails));
  t.notOk(allowance.use(chunk + 10, () => answers++));
  daemon.grant(chunk + 10, cap);
  t.equal(answers, 2);
  t.notOk(allowance.use(chunk + 10, fails));
  t.equal(allowance.cap, cap);
  t.equal(daemon.asked.length, 3);
});

t.test("a question waits while the provider sends what is left and 4 tokens", async (t) => {
  const daemon = new Daemon(chunk);
  const allowance = new OutputAllowance(daemon.drawn, daemon);
  allowance.use(0, fails);
  daemon.nowMs = 10 * (chunk - 4);
  allowance.use(chunk - 4, fails);
  t.same(daemon.waits, [80], "at a token in ten milliseconds");
  let answers = 0;
  t.notOk(allowance.use(chunk, () => answers++));
  daemon.grant(chunk, "max_tokens 1000 of /a");
  t.equal(answers, 1);
  t.notOk(allowance.use(chunk, fails));
  t.equal(allowance.cap, "max_tokens 1000 of /a", "it has waited while it used the rest");
  t.equal(daemon.asked.length, 1);
});

t.test(
  "a slow stream waits a quarter of a second, one that is beyond its grant not at all",
  async (t) => {
    const slow = new Daemon(chunk);
    const ofSlow = new OutputAllowance(slow.drawn, slow);
    ofSlow.use(0, fails);
    slow.nowMs = 1000 * chunk;
    ofSlow.use(chunk, () => {});
    const beyond = new Daemon(chunk);
    const ofBeyond = new OutputAllowance(beyond.drawn, beyond);
    ofBeyond.use(0, fails);
    beyond.nowMs = 1000 * chunk;
    ofBeyond.use(chunk + 8, () => {});
    t.same([slow.waits, beyond.waits], [[250], [0]]);
  },
);

t.test("a small grant near the cap is half used before the next question", async (t) => {
  const daemon = new Daemon(chunk);
  const allowance = new OutputAllowance(daemon.drawn, daemon);
  allowance.use((3 * chunk) / 4, fails);
  daemon.grant(chunk + 8);
  t.ok(allowance.use(chunk + 3, fails));
  t.equal(daemon.asked.length, 1, "a stream doesn't hold what it needs later");
  t.ok(allowance.use(chunk + 4, fails));
  t.equal(daemon.asked.length, 2);
});

t.test("an answer that grants nothing and names no limit ends the stream, too", async (t) => {
  const daemon = new Daemon(chunk);
  const allowance = new OutputAllowance(daemon.drawn, daemon);
  t.notOk(allowance.use(chunk, () => {}));
  daemon.grant(chunk);
  t.notOk(allowance.use(chunk, fails));
  t.equal(allowance.cap, "a hard limit");
});

t.test("a later attempt goes on from what the earlier ones have put out", async (t) => {
  const daemon = new Daemon(10 * chunk, 0);
  const first = new OutputAllowance(daemon.drawn, daemon);
  t.ok(first.use(3 * chunk, fails));
  first.end();
  t.equal(daemon.drawn.spent, 3 * chunk);
  const second = new OutputAllowance(daemon.drawn, daemon);
  t.ok(second.use(6 * chunk, fails));
  t.same(daemon.asked, []);
  t.notOk(second.use(7 * chunk, () => {}));
  t.same(daemon.asked, [11 * chunk]);
});
