/**
 * Waits for writes to a daemon's store: the moments at which a crash may leave half of something.
 */
import { watch } from "node:fs";

/**
 * True when the files in `directory` have been written this often; false when that doesn't happen
 * in time.
 */
export function storeWrites(directory: string, times: number, withinMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    let seen = 0;
    const end = (reached: boolean): void => {
      watcher.close();
      clearTimeout(missed);
      resolve(reached);
    };
    const watcher = watch(directory, () => ++seen === times && end(true));
    const missed = setTimeout(end, withinMs, false);
  });
}
