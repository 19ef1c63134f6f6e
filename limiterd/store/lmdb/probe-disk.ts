/**
 * Describes in plain words why a disk can't be written, and tests whether it can. LMDB's own
 * messages are not for users.
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
  // Node's numbers are negative and LMDB passes on positive ones; LMDB's own are far lower.
  const systemError =
    typeof errno === "number" ? getSystemErrorMap().get(-Math.abs(errno)) : undefined;
  if (systemError !== undefined) return systemError[1];
  return error.message.replace(/: Attempting to write page.*$/s, "");
}

/** Whether an error is EIO, from LMDB or from Node. */
export function isIoError(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return code === ioErrorNumber || code === "EIO";
}

const ioErrorNumber = 5;

/**
 * LMDB's codes for a wrong file or a wrong state of its own: MDB_PAGE_NOTFOUND, MDB_CORRUPTED,
 * MDB_PANIC, MDB_BAD_TXN and MDB_PROBLEM. A full disk isn't the cause, and LMDB's state in memory
 * stays wrong.
 */
const wrongStates: ReadonlySet<unknown> = new Set([-30797, -30796, -30795, -30782, -30779]);
/** MDB_PAGE_NOTFOUND, MDB_CORRUPTED, MDB_VERSION_MISMATCH and MDB_INVALID. */
const damages: ReadonlySet<unknown> = new Set([-30797, -30796, -30794, -30793]);

/** What LMDB finds wrong with a file, in words; null if its error is about something else. */
export function damageReason(error: unknown): string | null {
  const { code, message = "" } = (error ?? {}) as { readonly code?: unknown; message?: string };
  if (!damages.has(code)) return null;
  return `it is damaged, as LMDB finds (${/MDB_\w+/.exec(message)?.[0] ?? String(code)})`;
}

/**
 * Maximum number of tolerated wrong states in a row: a commit that a full disk cut short may leave
 * one.
 */
const wrongStatesMax = 2;

interface FailedCommit {
  /** Rejects if the disk can't be written. */
  readonly tryDisk: () => Promise<void>;
  /** How many commits in a row have failed before. */
  readonly failedBefore: number;
}

/**
 * Why a store whose commit failed must not be written any more, and what to do; null if the commit
 * may be retried. The kernel reports once that it couldn't write a page and may then drop the page,
 * so a repeated flush succeeds without it. LMDB reports the same error if only a part of a page
 * found room; then the trial also fails for lack of room.
 */
export async function untrustedDiskText(
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
 * Writes `bytes` to a file and removes it. Rejects with the operating system's error. `at`: the
 * offset in the file, so that a limit on file sizes applies as it does to the store. `flushes`:
 * whether to wait until the disk has them.
 */
export async function probeDisk(
  file: string,
  {
    at,
    bytes,
    flushes = true,
  }: { readonly at: number; readonly bytes: number; readonly flushes?: boolean },
): Promise<void> {
  const trial = await open(file, "w", 0o600);
  try {
    const content = Buffer.alloc(bytes, 1);
    // A partial write is no error until the rest is written.
    for (let done = 0; done < bytes; )
      done += (await trial.write(content, done, bytes - done, at + done)).bytesWritten;
    if (flushes) await trial.datasync();
  } finally {
    await trial.close();
    await rm(file, { force: true });
  }
}
