import t from "tap";
import { createUsageBoard } from "../../../../limiterd/cluster/usage/usage-board.js";
import { dayMs } from "../../../../shared/time.js";
import { createFakeEngine } from "../../../support/cluster/fake-engine.js";

const noonMs = Date.UTC(2026, 2, 10, 12);

function board(keepDays: number) {
  const engine = createFakeEngine(noonMs);
  const { commands } = engine.connect();
  const given: string[] = [];
  const counted = {
    ...commands,
    hset(...words: Parameters<typeof commands.hset>) {
      given.push("hset");
      return commands.hset(...words);
    },
    pexpire(...words: Parameters<typeof commands.pexpire>) {
      given.push("pexpire");
      return commands.pexpire(...words);
    },
  };
  const nowMs = (): number => engine.nowMs;
  const options = { clusterName: "test", host: "a", keepMs: keepDays * dayMs, nowMs };
  const made = createUsageBoard(counted, options);
  return {
    engine,
    board: made,
    /** What the engine is asked to do for sums of these pieces. */
    async given(...pieces: string[]): Promise<string> {
      given.length = 0;
      const sums = pieces.map((piece) => ({ day: "2026-03-10", piece, field: "f", sum: "1" }));
      await made.publish(sums);
      return given.join(" ");
    },
  };
}

const first = "hset pexpire hset pexpire";

t.test("a piece that the engine keeps is one command", async (t) => {
  const { engine, given, board: usage } = board(400);
  t.equal(await given("p1"), first);
  t.equal(await given("p1"), "hset");
  t.equal(await given("p1", "p2"), `hset ${first}`);
  engine.wipe();
  usage.forget();
  t.equal(await given("p1"), first, "an engine that lost it is told all");
  t.same(await usage.pieces("a", "2026-03-10"), ["p1"]);
});

t.test("one that may end soon gets its end each time", async (t) => {
  const { given, engine } = board(2);
  t.equal(await given("p1"), first);
  t.equal(await given("p1"), "hset");
  engine.nowMs += dayMs;
  t.equal(await given("p1"), first);
});

t.test("an incomplete publication starts again", async (t) => {
  const engine = createFakeEngine(noonMs);
  const connection = engine.connect();
  const options = { clusterName: "test", host: "a", keepMs: 400 * dayMs, nowMs: () => noonMs };
  const usage = createUsageBoard(connection.commands, options);
  const sums = [{ day: "2026-03-10", piece: "p1", field: "f", sum: "1" }];
  connection.loseAnswers(1);
  await t.rejects(usage.publish(sums));
  engine.wipe();
  await usage.publish(sums);
  t.same(await usage.pieces("a", "2026-03-10"), ["p1"]);
});
