/**
 * Copies of the store for backups, made while the daemon runs. There is one copy at a time, for the
 * connection that asks for it and reads it in pieces. The copy is removed when that connection
 * ends; an unfinished one also when the store can't be written, because settles need the room. Not
 * here: making the copy (`BackupPorts`).
 */
import { type Checked, good } from "../../shared/checked.js";
import { failure, plainFailure } from "../../shared/error-code.js";
import { formatMillis } from "../../shared/time.js";
import { backupPieceBytes, backupWaitMs } from "../bounds.js";
import { StoreFailingError } from "./store.js";

/** A complete copy, as of one commit. */
export interface StoreCopy {
  readonly bytes: number;
  /** Up to `length` bytes from `from` on. */
  read(from: number, length: number): Promise<Uint8Array>;
  /** Removes the copy. */
  close(): void;
}

/** An unfinished copy. */
export interface CopyInProgress {
  /** Rejects with `StoreFailingError`. */
  readonly finished: Promise<StoreCopy>;
  /** The estimated number of bytes to copy. */
  readonly storeBytes: number;
  copiedBytes(): number;
  /** Stops it and removes what was copied. */
  cancel(): void;
}

export interface BackupPorts {
  /** Throws `StoreFailingError` when there is no room for a copy. */
  beginCopy(): CopyInProgress;
  /** Runs `run` after `ms`. */
  schedule(ms: number, run: () => void): void;
}

/** The answer to the request for a copy, until the copy is finished and then. */
interface BackupProgress {
  readonly ready: boolean;
  /** When it was begun: the name of the backup once it is kept. */
  readonly as_of: string;
  readonly copied_bytes: number;
  /** The size of a finished copy; else the estimated size. */
  readonly bytes: number;
}

interface Current {
  readonly asker: object;
  readonly beganMs: number;
  readonly copying: CopyInProgress;
  copy: StoreCopy | null;
  failing: Error | null;
  /** Resolves when the copy is made or has failed. */
  readonly settled: Promise<void>;
}

export class Backups {
  readonly #ports: BackupPorts;
  #current: Current | null = null;

  constructor(ports: BackupPorts) {
    this.#ports = ports;
  }

  /** Whether this connection has a copy, finished or not. */
  isOf(asker: object): boolean {
    return this.#current?.asker === asker;
  }

  /**
   * Begins a copy for a connection without one. Resolves when the copy is made, or after
   * `backupWaitMs` with its progress.
   */
  async progress(asker: object, nowMs: number): Promise<Checked<BackupProgress>> {
    try {
      this.#current ??= this.#begin(asker, nowMs);
    } catch (error) {
      if (error instanceof StoreFailingError) return notCopied(error);
      throw error;
    }
    const current = this.#current;
    if (current.asker !== asker) return anotherBackup;
    await Promise.race([
      current.settled,
      new Promise<void>((resolve) => this.#ports.schedule(backupWaitMs, resolve)),
    ]);
    const { copy, copying } = current;
    if (current.failing !== null) {
      this.#end(current);
      return notCopied(current.failing);
    }
    const asOf = { as_of: formatMillis(current.beganMs) };
    if (copy !== null)
      return good({ ready: true, ...asOf, copied_bytes: copy.bytes, bytes: copy.bytes });
    const copied = copying.copiedBytes();
    return good({
      ready: false,
      ...asOf,
      copied_bytes: copied,
      bytes: Math.max(copied, copying.storeBytes),
    });
  }

  /** A piece of the copy; empty at its end. */
  async read(asker: object, from: number): Promise<Checked<Uint8Array>> {
    const current = this.#current;
    if (current?.asker !== asker || current.copy === null)
      return {
        ok: false,
        failure: plainFailure(409, "invalid_request_error", "this connection has no backup"),
      };
    try {
      return good(await current.copy.read(from, backupPieceBytes));
    } catch (error) {
      // The disk failed, or the copy was dropped meanwhile: only the backup fails.
      if (this.#current === current) this.#end(current);
      return notCopied(error as Error);
    }
  }

  /** Removes the copy of an ended connection. */
  endCopyOf(asker: object): void {
    if (this.#current?.asker === asker) this.#end(this.#current);
  }

  /** Stops an unfinished copy, because its disk space is needed; its client gets the error. */
  giveUp(reason: Error): void {
    const current = this.#current;
    if (current === null || current.copy !== null) return;
    current.failing ??= reason;
    current.copying.cancel();
  }

  #begin(asker: object, nowMs: number): Current {
    const copying = this.#ports.beginCopy();
    const current: Current = {
      asker,
      beganMs: nowMs,
      copying,
      copy: null,
      failing: null,
      settled: copying.finished.then(
        (copy) => {
          if (this.#current === current && current.failing === null) current.copy = copy;
          else copy.close();
        },
        (error: unknown) => {
          if (!(error instanceof StoreFailingError)) throw error;
          current.failing ??= error;
        },
      ),
    };
    return current;
  }

  #end(current: Current): void {
    if (this.#current === current) this.#current = null;
    if (current.copy === null) current.copying.cancel();
    else current.copy.close();
  }
}

const anotherBackup: Checked<never> = {
  ok: false,
  failure: plainFailure(
    409,
    "invalid_request_error",
    "another backup is being made: there is one at a time",
  ),
};

function notCopied(reason: Error): Checked<never> {
  return {
    ok: false,
    failure: failure("limiter_unavailable", `the backup can't be made: ${reason.message}`),
  };
}
