/**
 * Why the operating system has refused something, in words for people: without the code, the call
 * and the path that Node's messages have. The caller prints which file or address it is.
 */

/** Where Node's words are no help. */
const plainWords: ReadonlyMap<string, string> = new Map([
  ["EISDIR", "it is a directory"],
  ["EPERM", "permission denied"],
  ["ECONNREFUSED", "nothing listens there"],
  ["ECONNRESET", "it hung up"],
  ["EPIPE", "it hung up"],
  ["ETIMEDOUT", "it doesn't answer"],
  ["EHOSTUNREACH", "there is no way to its host"],
  ["ENETUNREACH", "there is no way to its network"],
  ["ENOTFOUND", "its host has no address"],
  ["EAI_AGAIN", "its host has no address now"],
]);

/** Errors that aren't the system's have their own message. */
export function systemReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code = "", message } = error as NodeJS.ErrnoException;
  if (code === "") return message;
  return plainWords.get(code) ?? message.replace(/^E[A-Z0-9]+: |, \w+( '.*')?$/gs, "");
}

/**
 * Why a directory can't be made. Of something else in its place the system says that it exists;
 * `reasonOf` has the words for any other error.
 */
export function noDirectoryReason(
  error: unknown,
  reasonOf: (error: unknown) => string = systemReason,
): string {
  const isOther = error instanceof Error && (error as NodeJS.ErrnoException).code === "EEXIST";
  return isOther ? "not a directory" : reasonOf(error);
}
