/**
 * The spend of all hosts in the engine: one hash for each account, with a row for each host, and
 * its claim if the budget is hard. The content of both is in `spend-row.ts`.
 */
import { type EngineCommands, EngineRefusedError } from "../engine/engine.js";

/** A question about one account: writes this host's fields, if given, then reads all fields. */
export interface SpendQuestion {
  /** The account's key in the store: the budget's id and the child. */
  readonly account: string;
  /** The host's row, and its claim; null: only read. */
  readonly fields: Readonly<Record<string, string>> | null;
  /** How long the account's fields are kept from now, in ms. */
  readonly keepMs: number;
}

/**
 * The fields of all hosts; or why the engine refused the question, for example because its
 * memory is full.
 */
export type SpendAnswer =
  | { readonly ok: true; readonly fields: ReadonlyMap<string, string> }
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
  { clusterName }: { readonly clusterName: string },
): SpendBoard {
  /** Sends the commands of all questions in one turn, so that they travel together. */
  async function ask({ account, fields: own, keepMs }: SpendQuestion): Promise<SpendAnswer> {
    const key = `sluice:${clusterName}:spend:${account}`;
    try {
      const writes =
        own === null ? [] : [commands.hset(key, own), commands.pexpire(key, Math.ceil(keepMs))];
      const [fields] = await Promise.all([commands.hgetall(key), ...writes]);
      return { ok: true, fields };
    } catch (error) {
      if (!(error instanceof EngineRefusedError)) throw error;
      return { ok: false, reason: error.message };
    }
  }
  return { exchange: (questions) => Promise.all(questions.map(ask)) };
}
