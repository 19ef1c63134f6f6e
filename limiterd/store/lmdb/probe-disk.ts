/**
 * Why a disk can't be written, in plain words, and whether it can be by now; LMDB's own messages
 * are not for users.
 */
import { open, rm } from "node:fs/promises";
import { getSystemErrorMap } from "node:util";

/**
 * The operating system's text for its error, such as `no space left on device`; LMDB's own errors
 * without the addresses that it adds.
 */
export function plainReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, errno = code } = error as { readonly code?: unknown; readonly errno?: unknown };
  // Node's numbers are negative, LMDB passes on positive ones; its own are far below.
  const known = typeof errno === "number" ? getSystemErrorMap().get(-Math.abs(errno)) : undefined;
  if (known !== undefined) return known[1];
  return error.message.replace(/: Attempting to write page.*$/s, "");
}

/** Whether an error is EIO, in the words of LMDB or of Node. */
export function isIoError(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return code === ioErrorNumber || code === "EIO";
}

const ioErrorNumber = 5;

/**
 * What LMDB says of a file or of a state of its own that it finds wrong: MDB_PAGE_NOTFOUND,
 * MDB_CORRUPTED, MDB_PANIC, MDB_BAD_TXN and MDB_PROBLEM. No full disk is behind it, and what it has
 * in memory stays wrong.
 */
const wrongStates: ReadonlySet<unknown> = new Set([-30797, -30796, -30795, -30782, -30779]);
/** MDB_PAGE_NOTFOUND, MDB_CORRUPTED, MDB_VERSION_MISMATCH and MDB_INVALID. */
const damages: ReadonlySet<unknown> = new Set([-30797, -30796, -30794, -30793]);

/** What LMDB finds wrong with a file, in words; null: its error is about something else. */
export function damageReason(error: unknown): string | null {
  const { code, message = "" } = (error ?? {}) as { readonly code?: unknown; message?: string };
  if (!damages.has(code)) return null;
  return `it is damaged, as LMDB finds (${/MDB_\w+/.exec(message)?.[0] ?? String(code)})`;
}

/** A commit that a full disk cut short may leave one behind, but not several in a row. */
const wrongStatesMax = 2;

interface FailedCommit {
  /** Whether the disk takes a file. */
  readonly tryDisk: () => Promise<void>;
  /** How many commits in a row have failed before. */
  readonly failedBefore: number;
}

/**
 * Why a store whose commit failed mustn't be written any more, and what to do; null: it may be
 * tried again. The kernel reports once that it couldn't write a page, and may drop it then: a flush
 * that is tried again succeeds without it. LMDB calls it the same when only a part of a page found
 * room; then the trial finds none.
 */
export async function whyUntrusted(
  failure: unknown,
  { tryDisk, failedBefore }: FailedCommit,
): Promise<string | null> {
  const { code } = (failure ?? {}) as { readonly code?: unknown };
  const isWrong = wrongStates.has(code);
  if (!isIoError(failure) && !(isWrong && failedBefore >= wrongStatesMax)) return null;
  const reason = await tryDisk().then(
    () => failure,
    (diskFailure: unknown) => diskFailure,
  );
  if (reason !== failure && !isIoError(reason)) return null;
  return isWrong
    ? `LMDB can't go on with it (${plainReason(failure)}). Keep a copy of the file`
    : `the disk failed to write what it had taken (${plainReason(failure)}). Check the disk`;
}

/**
 * Writes `bytes` to a file and removes it. Rejects with the operating system's error. `at`: how far
 * out in the file, so that a bound on a file's size is met as the store meets it.
 */
export async function probeDisk(
  file: string,
  { at, bytes }: { readonly at: number; readonly bytes: number },
): Promise<void> {
  const trial = await open(file, "w", 0o600);
  try {
    const content = Buffer.alloc(bytes, 1);
    // What a disk takes in part is no error until the rest is written.
    for (let done = 0; done < bytes; )
      done += (await trial.write(content, done, bytes - done, at + done)).bytesWritten;
    await trial.datasync();
  } finally {
    await trial.close();
    await rm(file, { force: true });
  }
}
