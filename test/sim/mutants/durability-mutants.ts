/** Bugs in what the daemon writes, removes and restores. */
import type { Mutant } from "./mutant.js";

const epoch = "limiterd/lifecycle/stored-epoch.js";
const flush = "limiterd/lifecycle/flush-usage.js";
const startState = "limiterd/lifecycle/start-state.js";

export const durabilityMutants: readonly Mutant[] = [
  {
    name: "settle acknowledged before its commit",
    file: "limiterd/store/writer.js",
    find: "this.#batchDone.push(onDurable);",
    put: "this.#batchDone.push(() => {}); onDurable();",
    often: true,
  },
  {
    name: "journal not replayed",
    file: "limiterd/lifecycle/restore.js",
    find: "const journaled = replayJournal(store, book, proxies, nowMs);",
    put: "const journaled = [];",
    often: true,
  },
  {
    name: "journal removed before the windows are written",
    file: "limiterd/lifecycle/snapshot.js",
    find: "const coveredLsn = writer.closeBatch();",
    put: "const coveredLsn = writer.closeBatch(); void writer.write(writer.removeJournal(coveredLsn));",
    often: false,
  },
  {
    name: "journal removed beyond the snapshot",
    file: "limiterd/lifecycle/snapshot.js",
    find: "writer.removeJournal(coveredLsn)",
    put: "writer.removeJournal(writer.lsn)",
    often: false,
  },
  {
    name: "window claims the batch that is still open",
    file: "limiterd/lifecycle/snapshot.js",
    find: "windowChanges(dirty, writer.closeBatch())",
    put: "windowChanges(dirty, writer.closeBatch() + 1)",
    often: false,
  },
  {
    name: "records not added to the sums again",
    file: "limiterd/usage/restore-usage.js",
    find: "rollups.replay(record, lastKey);",
    put: ";",
    often: true,
  },
  {
    name: "record added again to sums that hold it",
    file: "limiterd/usage/rollups.js",
    find: "if (recordKey > cell.restoredKey)",
    put: "if (true)",
    often: false,
  },
  {
    name: "sum claims records that are still to come",
    file: flush,
    find: "rollups.changes(slice, usage.lastKey)",
    put: "rollups.changes(slice, usage.lastKey + 1_000_000)",
    often: false,
  },
  {
    name: "sum claims fewer records than it holds",
    file: flush,
    find: "rollups.changes(slice, usage.lastKey)",
    put: "rollups.changes(slice, usage.rolledUpKey)",
    often: false,
  },
  {
    name: "sums marked as written before they are",
    file: flush,
    find: "const sums = usage.takeDirty();",
    put: "const sums = usage.takeDirty(); void writer.write([rollupProgressChange(coveredKey)]);",
    often: false,
  },
  {
    name: "log of spends not read",
    file: "limiterd/budgets/restore-budgets.js",
    find: "account.spends.length = 0;\n            append(account.spends, image.spends);",
    put: "",
    often: false,
  },
  {
    name: "log of spends removed before the accounts are written",
    file: flush,
    find: "const accounts = spendLog.takeBehind();",
    put: "const accounts = spendLog.takeBehind(); void writer.write(spendLog.removals(coveredKey));",
    often: false,
  },
  {
    name: "accounts that the log brought forward not written",
    file: "limiterd/budgets/restore-budgets.js",
    find: "logged.behind.add(account);",
    put: "",
    often: false,
  },
  {
    name: "last settle's number forgotten over a restart",
    file: "limiterd/lifecycle/restore.js",
    find: "proxies.restore(String(key), proxy);",
    put: "proxies.restore(String(key), { ...proxy, settledSeq: 0 });",
    often: true,
  },
  {
    name: "numbers of a new epoch overlap the old one's",
    file: epoch,
    find: "return lastLsn + lsnGap + sinceMs * lsnsPerMs;",
    put: "return lastLsn + 1;",
    often: false,
  },
  {
    name: "numbers of a new epoch overlap those of one that a full disk didn't take",
    file: epoch,
    find: "return lastLsn + lsnGap + sinceMs * lsnsPerMs;",
    put: "return lastLsn + lsnGap;",
    often: false,
  },
  {
    name: "a start on a full disk removes the journal before the windows are written",
    file: startState,
    find: "await writer.tryWrite([",
    put: "const failing = await writer.tryWrite([]); void writer.write(failing ? writer.removeJournal(restored.epochStartLsn) : []); await writer.tryWrite([",
    often: false,
  },
  {
    name: "a start on a full disk lets what follows pass its epoch",
    file: startState,
    find: "const backfills = incomplete.map((budget) => beginBackfill(state, budget, nowMs));",
    put: "const backfills = []; if ((await writer.tryWrite([])) !== null) return { state, staleWindows: [] };",
    often: false,
  },
  {
    name: "failed commit lets later ones pass",
    file: "limiterd/store/writer.js",
    find: "this.#ports.schedule(this.#options.retryMs, () => void this.#commit(jobs));",
    put: "this.#committing = false; this.#ports.schedule(this.#options.retryMs, () => { this.#jobs.push(...jobs); this.#pump(); }); this.#pump();",
    often: false,
  },
];
