/**
 * Where all hosts write what they have spent: in the engine one hash for each account, one row for
 * each host. What a row says is in `spend-row.ts`.
 */
import { type EngineCommands, EngineRefusedError } from "../engine/engine.js";

/** One account: this host's row is written, if there is one, then all rows are read. */
export interface SpendQuestion {
  /** As the store names accounts: the budget's id and the child. */
  readonly account: string;
  /** Null: nothing is to be written. */
  readonly row: string | null;
  /** How long the rows of the account are kept after this one. */
  readonly keepMs: number;
}

/**
 * The rows of all hosts, by host; or why the engine has refused the question, such as that it is
 * full.
 */
export type SpendAnswer =
  | { readonly ok: true; readonly rows: ReadonlyMap<string, string> }
  | { readonly ok: false; readonly reason: string };

export interface SpendBoard {
  /** One answer each, in order. Rejects with `EngineAwayError`: any row may have been written. */
  exchange(questions: readonly SpendQuestion[]): Promise<readonly SpendAnswer[]>;
}

export function createSpendBoard(
  commands: Pick<EngineCommands, "hset" | "pexpire" | "hgetall">,
  { clusterName, host }: { readonly clusterName: string; readonly host: string },
): SpendBoard {
  /** The commands of all questions are given in one turn, so that they travel together. */
  async function ask({ account, row, keepMs }: SpendQuestion): Promise<SpendAnswer> {
    const key = `sluice:${clusterName}:spend:${account}`;
    try {
      const told =
        row === null
          ? []
          : [commands.hset(key, { [host]: row }), commands.pexpire(key, Math.ceil(keepMs))];
      const [rows] = await Promise.all([commands.hgetall(key), ...told]);
      return { ok: true, rows };
    } catch (error) {
      if (!(error instanceof EngineRefusedError)) throw error;
      return { ok: false, reason: error.message };
    }
  }
  return { exchange: (questions) => Promise.all(questions.map(ask)) };
}
