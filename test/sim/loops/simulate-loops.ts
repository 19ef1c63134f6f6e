/**
 * Conversations of agents, some of which end in a loop or go on for long. In each dialect,
 * `repeated-turns.ts` must find what a slow comparison of all turns finds, and the breaker must
 * warn and refuse accordingly.
 */
import { isDeepStrictEqual } from "node:util";
import { noLongTexts, turnsInCycleMax } from "../../../proxy/body/repeated-turns.js";
import { LoopBreaker } from "../../../proxy/handlers/loop-breaker.js";
import { loopTimesOf } from "../../../shared/domain/loop-rule.js";
import type { ReportedTurn } from "../../outside/loops.js";
import { conversationDialects, conversationIn } from "../../support/loop-conversations.js";
import { createRandom, type Random } from "../random.js";
import type { SimulationResult } from "../simulate.js";

const conversations = 40;
const [warnAfter, refuseAfter] = [3, 7];
const [warnAfterTurns, refuseAfterTurns] = [9, 16];

export function simulateLoops(seed: number): Promise<SimulationResult> {
  const random = createRandom(seed);
  const tally = new Map<string, number>();
  const lines: string[] = [];
  let traceHash = 0;
  const result = (violation: string | null): Promise<SimulationResult> =>
    Promise.resolve({ seed, violation, events: lines.length, traceHash, tally, lines });
  for (let i = 0; i < conversations; i++) {
    const turns = someTurns(random);
    const [found, foundCalls] = [repeated(turns, true), repeated(turns, false)];
    const comparesResults = random.chance(0.5);
    const { times } = (comparesResults ? found : foundCalls) ?? { times: 1 };
    const length = sinceUser(turns);
    const expected =
      times >= refuseAfter || length >= refuseAfterTurns
        ? "refused"
        : times >= warnAfter || length >= warnAfterTurns
          ? "warned"
          : "let through";
    if (expected !== "let through" && times < warnAfter)
      tally.set("growth", (tally.get("growth") ?? 0) + 1);
    tally.set(expected, (tally.get(expected) ?? 0) + 1);
    lines.push(`${turns.length} turns, ${expected}: ${JSON.stringify([found, foundCalls])}`);
    traceHash = (Math.imul(traceHash, 31) + turns.length + times + length) >>> 0;
    for (const dialect of conversationDialects) {
      const rule = {
        warn_after: warnAfter,
        refuse_after: refuseAfter,
        compare_results: comparesResults,
        warn_after_turns: warnAfterTurns,
        refuse_after_turns: refuseAfterTurns,
      };
      const breaker = new LoopBreaker(
        (head, body) => head + body.toString("latin1"),
        () => loopTimesOf([rule]),
      );
      const turn = breaker.read(dialect.operation, conversationIn(dialect, turns), noLongTexts);
      const seen = [turn?.repeated, turn?.repeatedCalls].map((cycle) =>
        cycle == null ? null : { times: cycle.times, turns: cycle.turns },
      );
      if (!isDeepStrictEqual(seen, [found, foundCalls]))
        return result(`${dialect.operation}: ${JSON.stringify(seen)} in ${lines.at(-1)}`);
      if (turn?.turns !== length)
        return result(`${dialect.operation}: ${turn?.turns} since the user, not ${length}`);
      const judged = turn && breaker.judge({ turn, key: null, sent: 0 }, rule);
      const did = judged === null ? "let through" : judged.isRefused ? "refused" : "warned";
      if (did !== expected) return result(`${dialect.operation} is ${did}, not ${expected}`);
    }
  }
  return result(null);
}

/** Different turns and often, at their end, a loop: a cycle of turns that repeats, or nearly. */
function someTurns(random: Random): readonly ReportedTurn[] {
  const work = Array.from({ length: random.int(1, random.pick([6, 25])) }, () => someTurn(random));
  if (random.chance(0.2)) return work;
  const cycle = Array.from({ length: random.int(1, turnsInCycleMax) }, () => someTurn(random));
  const loop = Array.from({ length: random.int(2, 9) }, () => cycle).flat();
  /** The turn of the loop that differs, if any. */
  const oddTurn = random.chance(0.6) ? null : random.int(0, loop.length - 1);
  return [
    ...work,
    ...loop.map((turn, i) =>
      i === oddTurn && "tool" in turn ? { ...turn, result: "late" } : turn,
    ),
    ...(random.chance(0.2) ? [someTurn(random)] : []),
  ];
}

function someTurn(random: Random): ReportedTurn {
  if (random.chance(0.2))
    return { said: `I look at ${random.int(1, 3)}.`, reply: `Go on ${random.int(1, 2)}.` };
  return {
    tool: random.pick(["read_file", "bash", "grep"]),
    args: { path: `${random.int(1, 3)}.ts` },
    result: `${random.int(1, 2)} lines`,
    ...(random.chance(0.1)
      ? { beside: random.pick(["<info-msg>It is 12:00</info-msg>", "Stop."]) }
      : {}),
  };
}

/** How many turns follow the user's last words, at most `refuseAfterTurns`. */
function sinceUser(turns: readonly ReportedTurn[]): number {
  const isUsers = (turn: ReportedTurn): boolean => "said" in turn || turn.beside === "Stop.";
  return Math.min(turns.length - 1 - turns.findLastIndex(isUsers), refuseAfterTurns);
}

/** The cycle that repeats most often at the end; of equal ones, the shortest. */
function repeated(turns: readonly ReportedTurn[], withResults: boolean) {
  const texts = turns.map((turn) =>
    JSON.stringify(
      "tool" in turn
        ? {
            ...turn,
            ...(withResults ? {} : { result: "" }),
            beside: turn.beside === "Stop." ? turn.beside : undefined,
          }
        : turn,
    ),
  );
  let most = { times: 1, turns: 0 };
  for (let length = 1; length <= turnsInCycleMax && most.times < refuseAfter; length++) {
    const cycleAt = (start: number): string => texts.slice(start, start + length).join("\n");
    let times = 1;
    const end = texts.length - length;
    while (end - times * length >= 0 && cycleAt(end - times * length) === cycleAt(end)) times++;
    times = Math.min(times, refuseAfter);
    if (times > most.times) most = { times, turns: length };
  }
  return most.times < 2 ? null : most;
}
