/**
 * The order of measuring. A machine's speed drifts over seconds, so the peers take turns, round by
 * round, and only values of the same round are compared with one another.
 */
import type { Phase } from "./phase.js";
import type { Processes } from "./processes.js";

export interface RunContext {
  readonly processes: Processes;
  /** A directory of the run's own; it goes with the run. */
  readonly dir: string;
  readonly seconds: number;
  readonly rounds: number;
  /** Reports progress. */
  say(line: string): void;
}

export interface Contender {
  readonly name: string;
  /** In place of a round that isn't counted. */
  readonly warmUp?: () => Promise<void>;
  run(seconds: number): Promise<Phase>;
}

export interface Rounds {
  /** By contender, one phase per round. */
  readonly phases: Readonly<Record<string, readonly Phase[]>>;
  /** By contender, why it wasn't measured. */
  readonly skipped: Readonly<Record<string, string>>;
}

/**
 * One round of warm-up that isn't counted, then `rounds` that count; each begins with another
 * contender.
 */
export async function inTurn(
  context: RunContext,
  contenders: readonly Contender[],
  skipped: Rounds["skipped"],
): Promise<Rounds> {
  const phases: Record<string, Phase[]> = {};
  for (const { name } of contenders) phases[name] = [];
  for (let round = 0; round <= context.rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const { name, run, warmUp } = contenders[(turn + round) % contenders.length]!;
      context.say(
        round === 0 ? `warming up ${name}` : `round ${round} of ${context.rounds}: ${name}`,
      );
      if (round === 0 && warmUp !== undefined) {
        await warmUp();
        continue;
      }
      const phase = await run(context.seconds).catch((cause: unknown) => {
        throw new Error(`${name}: ${cause instanceof Error ? cause.message : String(cause)}`, {
          cause,
        });
      });
      if (round > 0) phases[name]!.push(phase);
    }
  }
  return { phases, skipped };
}
