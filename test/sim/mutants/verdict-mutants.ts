/** Bugs in verdicts that a proxy reads late or never, and in requests that run without one. */
import type { Mutant } from "./mutant.js";

const takeBack = "limiterd/handlers/take-back-unread.js";
const pending = "proxy/limiter/client/pending-admissions.js";
const leases = "proxy/limiter/client/report-leases.js";

export const verdictMutants: readonly Mutant[] = [
  {
    name: "unread verdict stays counted",
    file: takeBack,
    find: "countSince(book, counters, { lsn, atMs, requests: -1 }, nowMs);",
    put: "",
    often: false,
  },
  {
    name: "verdict that was read is taken back",
    file: takeBack,
    find: "if (readNumber === undefined || number <= readNumber)",
    put: "if (readNumber === undefined)",
    often: true,
  },
  {
    name: "verdicts that are still to come are acknowledged",
    file: "limiterd/peer.js",
    find: "this.#verdicts[this.#first].number <= read",
    put: "true",
    often: false,
  },
  {
    name: "unread verdict not written with the batch that counts it",
    file: "limiterd/peer.js",
    find: "proxy.unread.add({ connection, number, userPath, atPath, target, lsn, atMs, refusedBy }); proxies.markUnread(proxy);",
    put: "proxy.unread.add({ connection, number, userPath, atPath, target, lsn, atMs, refusedBy });",
    often: false,
  },
  {
    name: "unread verdict taken back once more after the next crash",
    file: takeBack,
    find: "nowMs); } proxies.markUnread(proxy);",
    put: "nowMs); }",
    often: false,
  },
  {
    name: "unread verdicts forgotten over a restart",
    file: "limiterd/lifecycle/restore.js",
    find: "unread?.add(verdict);",
    put: ";",
    often: false,
  },
  {
    name: "only the last connection's read verdicts are told",
    file: "proxy/limiter/daemon-connection.js",
    find: "[...this.#earlierVerdictsRead, last]",
    put: "[last]",
    often: false,
  },
  {
    name: "connection that was left is still served",
    file: "limiterd/handlers/handle-admit.js",
    find: "if (proxy.peer !== peer)",
    put: "if (false)",
    often: false,
  },
  {
    name: "connection that was left keeps its slots",
    file: "limiterd/handlers/accept-hello.js",
    find: "if (current !== null) releaseAllLeases(current);",
    put: "",
    often: false,
  },
  {
    name: "of two connections the one whose hello is read last counts",
    file: "limiterd/handlers/accept-hello.js",
    find: "if (current !== null && current.helloId > peer.helloId)",
    put: "if (false)",
    often: false,
  },
  {
    name: "late admission never withdrawn",
    file: pending,
    find: "if (rerouted === null)",
    put: "if (false)",
    often: false,
  },
  {
    name: "target of a late reroute stays counted",
    file: pending,
    find: 'this.#outbox.add("untried",',
    put: 'void ("untried",',
    often: true,
    from: 21,
  },
  {
    name: "request without a verdict reported, and counted again by its settle",
    file: leases,
    find: "lsn: countedLsn, targetLsn",
    put: "lsn: admission.lsn, targetLsn",
    often: false,
  },
  {
    name: "request without a verdict reported and not counted",
    file: leases,
    find: 'outbox.add("request",',
    put: 'void ("request",',
    often: false,
  },
  {
    name: "request without a verdict counted and not held",
    file: leases,
    find: "held.set(lease, admission);",
    put: "",
    often: false,
  },
  {
    name: "request without a verdict reported in a hello alone",
    file: leases,
    find: "if (this.admissions.size === 0 ||",
    put: "if (true ||",
    often: false,
  },
  {
    name: "request without a verdict not held until the next hello",
    file: "limiterd/handlers/handle-message.js",
    find: "return holdLeases(state, peer, message, nowMs);",
    put: "return true;",
    often: false,
  },
];
