/**
 * Bugs planted on purpose, to prove that the simulation can fail: each is a text of a compiled file
 * and its replacement. The product has no hooks for them. A text that is gone, because
 * the code has changed, fails a test: the mutant must be written again.
 */
export interface Mutant {
  readonly name: string;
  /** Below `dist/`. */
  readonly file: string;
  /** Occurs exactly once, however its lines are broken. */
  readonly find: string;
  readonly put: string;
  /**
   * Caught in a quarter of the seeds or more: `npm test` may plant it too, the others are left to
   * `npm run sim -- --mutants`.
   */
  readonly often: boolean;
}

const applySettle = "limiterd/handlers/apply-settle.js";
const releaseSlots = "limiterd/handlers/release-slots.js";
const countSettle = "limiterd/rules/count-settle.js";
const recount = "limiterd/rules/recount.js";
const client = "proxy/limiter/limiter-client.js";
const flush = "limiterd/lifecycle/flush-usage.js";

export const mutants: readonly Mutant[] = [
  {
    name: "repeated settle counts again",
    file: applySettle,
    find: "if (message.seq <= proxy.settledSeq) {",
    put: "if (message.seq <= 0) {",
    often: false,
  },
  {
    name: "slots stay taken when a connection ends",
    file: releaseSlots,
    find: "releaseLease(peer, id, held);",
    put: "peer.leases.take(id);",
    often: true,
  },
  {
    name: "settle acknowledged before its commit",
    file: "limiterd/store/writer.js",
    find: "this.#batchDone.push(onDurable);",
    put: "this.#batchDone.push(() => {}); onDurable();",
    often: true,
  },
  {
    name: "leases not reported again",
    file: client,
    find: "this.#held.entries().map(([, admission]) => admission)",
    put: "[]",
    often: true,
  },
  {
    name: "submission takes a slot",
    file: "limiterd/rules/admit.js",
    find: "if (slots)",
    put: "",
    often: true,
  },
  {
    name: "submission gives back a slot that it never had",
    file: releaseSlots,
    find: "if (!held.submission)",
    put: "",
    often: false,
  },
  {
    name: "submission judged by a gauge",
    file: "limiterd/rules/judge.js",
    find: ".filter(hasWindow)",
    put: "",
    often: false,
  },
  {
    name: "submission reported again as a request with a slot",
    file: "proxy/limiter/hello.js",
    find: "targetLsn, submission }));",
    put: "targetLsn, submission: false }));",
    often: false,
  },
  {
    name: "settle without a target not counted on replay",
    file: recount,
    find: 'const ofPath = part === "attempt"',
    put: 'const ofPath = part === "attempt" || target === null',
    often: false,
  },
  {
    name: "reported request counted whatever the windows hold",
    file: recount,
    find: "(counter) => isAfter(lsn, counter)",
    put: "() => true",
    often: false,
  },
  {
    name: "reported lease counted again by its settle",
    file: countSettle,
    find: "again: proxy.recounted.delete(lease)",
    put: "again: false",
    often: false,
  },
  {
    name: "reported lease not counted",
    file: recount,
    find: "recount(book, ofPath, { lsn: lease.lsn, atMs: lease.admittedAtMs }, nowMs);",
    put: "",
    often: false,
  },
  {
    name: "settle takes the time of admission from the proxy",
    file: "limiterd/rules/settle-entry.js",
    find: "message.lsn === 0 && held !== undefined ? held : message",
    put: "message",
    often: false,
  },
  {
    name: "failed target's slot not given back",
    file: releaseSlots,
    find: "release(held.counters.filter(",
    put: "void (held.counters.filter(",
    often: true,
  },
  {
    name: "reroute counts at the path again",
    file: "limiterd/rules/admit.js",
    find: "for (const { rule, window } of ofPath)",
    put: "for (const { window } of ofPath) window.currentRequests++; for (const { rule, window } of ofPath)",
    often: true,
  },
  {
    name: "target's number not reported again",
    file: "proxy/limiter/hello.js",
    find: "target, targetAtMs, targetLsn, submission }));",
    put: "target, targetAtMs, targetLsn: 0, submission }));",
    often: false,
  },
  {
    name: "failed attempt not settled",
    file: client,
    find: 'this.#outbox.add("attempt",',
    put: 'void ("attempt",',
    often: true,
  },
  {
    name: "repeated attempt takes the next target's slot",
    file: applySettle,
    find: "if (isSameTarget(held.target, message.target))",
    put: "if (true)",
    often: false,
  },
  {
    name: "target of a late reroute stays counted",
    file: countSettle,
    find: "!sameTarget && held.targetLsn >= epochStartLsn",
    put: "false",
    often: false,
  },
  {
    name: "journal not replayed",
    file: "limiterd/lifecycle/restore.js",
    find: "const journaled = replayJournal(store, book, proxies, nowMs);",
    put: "const journaled = [];",
    often: true,
  },
  {
    name: "journal replayed into windows that hold it",
    file: recount,
    find: "(counter) => isAfter(batchLsn, counter)",
    put: "() => true",
    often: false,
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
    name: "window written once and never again",
    file: "limiterd/counters/dirty-windows.js",
    find: "counter.dirty = false;",
    put: "",
    often: true,
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
    put: "const sums = usage.takeDirty(); void writer.write([rolledUpChange(coveredKey)]);",
    often: false,
  },
  {
    name: "log of spends not read",
    file: "limiterd/budgets/restore-budgets.js",
    find: "account.spends.splice(0, account.spends.length, ...image.spends);",
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
    file: "limiterd/lifecycle/restore.js",
    find: "const lsnGap = 1_000_000;",
    put: "const lsnGap = 1;",
    often: false,
  },
  {
    name: "failed commit lets later ones pass",
    file: "limiterd/store/writer.js",
    find: "this.#ports.schedule(this.#options.retryMs, () => void this.#commit(jobs));",
    put: "this.#committing = false; this.#ports.schedule(this.#options.retryMs, () => { this.#jobs.push(...jobs); this.#pump(); }); this.#pump();",
    often: false,
  },
  {
    name: "admin operation answered before its commit",
    file: "limiterd/handlers/admin/admin-operation.js",
    find: "void written.then((failing) => (failing === null ? answer() : ports.fail(notWritten(failing))));",
    put: "void written; answer();",
    often: true,
  },
  {
    name: "reset doesn't say since when the rule counts",
    file: "limiterd/rules/rule-book.js",
    find: "rule.sinceLsn = Math.max(rule.sinceLsn, lsn);",
    put: "",
    often: false,
  },
  {
    name: "reset drops a child's gauge in use",
    file: "limiterd/counters/children.js",
    find: "return counter !== null && counter.inFlight > 0 ? counter : null;",
    put: "return null;",
    often: true,
  },
  {
    name: "sweep drops a child's gauge in use",
    file: "limiterd/counters/children.js",
    find: "(counter !== null && counter.inFlight > 0) || ",
    put: "",
    often: false,
  },
  {
    name: "child put back while its requests run",
    file: "limiterd/counters/children.js",
    find: "kept === null || counter.inFlight > 0 || !kept.checkedOut.has(counter)",
    put: "kept === null || !kept.checkedOut.has(counter)",
    often: true,
  },
  {
    name: "what a child counted isn't put back",
    file: "limiterd/counters/children.js",
    find: "writeNumbers(kept.table, counter.place, counter.window, counter.restoredLsn);",
    put: "",
    often: true,
  },
  {
    name: "child charged through a counter that was put back",
    file: countSettle,
    find: "held !== undefined && !held.submission && ",
    put: "held !== undefined && ",
    often: false,
  },
  {
    name: "refused request leaves a gauge raised",
    file: "limiterd/rules/longest-breach.js",
    find: "const { scope, periodSeconds } = found.counter.rule.definition;",
    put: "found.counter.inFlight++; const { scope, periodSeconds } = found.counter.rule.definition;",
    often: true,
  },
  {
    name: "window rolls when the clock steps back",
    file: "limiterd/counters/window.js",
    find: "if (ageMs < periodMs) {",
    put: "if (ageMs >= 0 && ageMs < periodMs) {",
    often: false,
  },
  {
    name: "reconnect grace period ends with the first proxy",
    file: "limiterd/handlers/reconnect-grace.js",
    find: "else if (state.expectedProxies.size === 0)",
    put: "else",
    often: false,
  },
  {
    name: "late admission never given back",
    file: "proxy/limiter/late-admissions.js",
    find: "else if (!isReroute)",
    put: "else if (false)",
    often: false,
  },
  {
    name: "settles not sent again after a reconnect",
    file: "proxy/limiter/settle-outbox.js",
    find: "for (const item of this.#items)",
    put: "for (const item of [])",
    often: true,
  },
  {
    name: "acknowledgement drops one settle too many",
    file: "proxy/limiter/settle-outbox.js",
    find: "items[covered].seq <= seq)",
    put: "items[covered].seq <= seq + 1)",
    often: true,
  },
];
