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
