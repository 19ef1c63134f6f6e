/**
 * Ends a service's process, whatever state its packages are in. What they do at the end is left
 * out: lmdb waits for its writer then, and after a failed write of its head that never comes. The
 * daemon was dead but its process alive, so that no supervisor started another one.
 */
export function exitNow(exitCode: number): never {
  process.removeAllListeners("exit");
  return process.exit(exitCode);
}
