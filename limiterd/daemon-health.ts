/** How the daemon is, for its supervisor. */
import type { DaemonState } from "./state.js";
import { createStuckCommit } from "./store/stuck-commit.js";

export interface DaemonHealth {
  /** One line for people. */
  readonly status: string;
  /** What has stopped for good, so that only a restart helps; null: nothing that is known. */
  readonly stuck: string | null;
}

/** To be asked every few seconds. */
export function createDaemonHealth(
  state: Pick<DaemonState, "book" | "budgets" | "peers" | "writer">,
  monoMs: () => number,
): () => DaemonHealth {
  const stuckCommit = createStuckCommit(state.writer.commits, monoMs);
  return () => ({ status: statusLine(state), stuck: stuckCommit() });
}

function statusLine({
  book,
  budgets,
  peers,
  writer,
}: Pick<DaemonState, "book" | "budgets" | "peers" | "writer">): string {
  let proxies = 0;
  for (const { role } of peers) if (role === "proxy") proxies++;
  const store = writer.failing === null ? "ok" : `can't be written, ${writer.failing.message}`;
  return `ready: proxies: ${proxies}, rules: ${book.ruleSet.size}, budgets: ${budgets.budgets.size}, store: ${store}`;
}
