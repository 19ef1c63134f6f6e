/**
 * Takes the windows that a start has left in the store into memory, in slices, while the daemon
 * answers already; those that are needed before are read by themselves
 * (`counters/unread-windows.ts`).
 */
import { windowFromStored } from "../counters/stored-window.js";
import { loadWindow } from "../counters/unread-windows.js";
import type { DaemonState } from "../state.js";
import { readSlices } from "../store/read-slices.js";
import { throwMalformed } from "../store/store.js";

/**
 * Resolved: all are in memory, or the daemon stops; with the keys of those that nothing counts any
 * more. No child may be forgotten meanwhile: its entry would come back. Rejects with
 * `StoreUnreadableError`.
 */
export async function loadWindows(state: DaemonState, perSlice: number): Promise<string[]> {
  const { book, store } = state;
  const stale: string[] = [];
  const next = async (): Promise<boolean> => {
    await state.yieldToEventLoop();
    return !state.stopping;
  };
  const all = await readSlices(store, "windows", { perSlice, next }, ({ key, value }) => {
    const window = windowFromStored(value) ?? throwMalformed(store, "windows", key);
    if (!loadWindow(book, String(key), window)) stale.push(String(key));
  });
  if (all) book.unread = null;
  return stale;
}
