/**
 * Why the operating system refused an operation, in plain words, without the code, call and path of
 * Node's messages. The caller names the file or address.
 */

/** Clearer words for some codes than Node's. */
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

/** Other errors have their own message. */
export function systemReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code = "", message } = error as NodeJS.ErrnoException;
  if (code === "") return message;
  return plainWords.get(code) ?? message.replace(/^E[A-Z0-9]+: |, \w+( '.*')?$/gs, "");
}

/**
 * Why a directory can't be created. If something else is at its path, the system only says that it
 * exists; `reasonOf` describes any other error.
 */
export function noDirectoryReason(
  error: unknown,
  reasonOf: (error: unknown) => string = systemReason,
): string {
  const isOther = error instanceof Error && (error as NodeJS.ErrnoException).code === "EEXIST";
  return isOther ? "not a directory" : reasonOf(error);
}
