/**
 * The spend of all hosts in the engine: one hash for each account, with one row for each host. The
 * content of a row is in `spend-row.ts`.
 */
import { type EngineCommands, EngineRefusedError } from "../engine/engine.js";

/** A question about one account: writes this host's row, if given, then reads all rows. */
export interface SpendQuestion {
  /** The account's key in the store: the budget's id and the child. */
  readonly account: string;
  /** Null: only read. */
  readonly row: string | null;
  /** How long the account's rows are kept from now, in ms. */
  readonly keepMs: number;
}

/**
 * The rows of all hosts, by host; or why the engine refused the question, for example because its
 * memory is full.
 */
export type SpendAnswer =
  | { readonly ok: true; readonly rows: ReadonlyMap<string, string> }
  | { readonly ok: false; readonly reason: string };

export interface SpendBoard {
  /**
   * One answer for each question, in order. Rejects with `EngineAwayError`; some rows may have been
   * written then.
   */
  exchange(questions: readonly SpendQuestion[]): Promise<readonly SpendAnswer[]>;
}

export function createSpendBoard(
  commands: Pick<EngineCommands, "hset" | "pexpire" | "hgetall">,
  { clusterName, host }: { readonly clusterName: string; readonly host: string },
): SpendBoard {
  /** Sends the commands of all questions in one turn, so that they travel together. */
  async function ask({ account, row, keepMs }: SpendQuestion): Promise<SpendAnswer> {
    const key = `sluice:${clusterName}:spend:${account}`;
    try {
      const writes =
        row === null
          ? []
          : [commands.hset(key, { [host]: row }), commands.pexpire(key, Math.ceil(keepMs))];
      const [rows] = await Promise.all([commands.hgetall(key), ...writes]);
      return { ok: true, rows };
    } catch (error) {
      if (!(error instanceof EngineRefusedError)) throw error;
      return { ok: false, reason: error.message };
    }
  }
  return { exchange: (questions) => Promise.all(questions.map(ask)) };
}
