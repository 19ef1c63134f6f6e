/** In what the proxy does with the limiter. By file. */
import type { Equivalent } from "./equivalent.js";

export const proxyLimiterEquivalents: readonly Equivalent[] = [
  {
    file: "proxy/limiter/client/hello-messages.ts",
    line: "for (let i = 0; start + i < leases.length && i < leasesPerHello; i++) {",
    what: "< becomes <=",
    why: "with the one behind the last that fits the number is the same",
  },
  {
    file: "proxy/limiter/client/hello-messages.ts",
    line: "const leaseOverheadBytes = 100;",
    what: "100 becomes 101",
    why: "it is more than a lease takes beside its texts, and the rest follows in the next frame",
  },
  {
    file: "proxy/limiter/client/hello-messages.ts",
    line: "let bytes = 0;",
    what: "0 becomes 1",
    why: "a frame has room for more than is reckoned, and the rest follows in the next one",
  },
  {
    file: "proxy/limiter/client/hello-messages.ts",
    line: "if (bytes > frameBytesMaxToDaemon - leaseOverheadBytes * 2)",
    what: "* becomes /",
    why: "a frame has room for more than is reckoned, and the rest follows in the next one",
  },
  {
    file: "proxy/limiter/denied-jwts.ts",
    line: "if (this.#byName.size === 0)",
    what: "the condition is always false",
    why: "of no names none is found: what is left out is quicker, and no more",
  },
  {
    file: "proxy/limiter/settle-backlog.ts",
    line: "if (Array.isArray(last) && this.size > settlesKeptAsTheyAre)",
    what: "> becomes >=",
    why: "one more is packed, and is the same when it is read",
  },
  {
    file: "proxy/limiter/settle-outbox.ts",
    line: "if (seq > this.#sentSeq)",
    what: "> becomes >=",
    why: "it becomes what it is already",
  },
  {
    file: "proxy/limiter/settle-outbox.ts",
    line: "#sentMonoMs = 0;",
    what: "0 becomes 1",
    why: "it is read once something was sent, which sets it",
  },
  {
    file: "proxy/limiter/spool/deliver-settles.ts",
    line: 'line.send({ kind: "hello", id: 1, wireVersion, role: "proxy", proxyId, leases: [], more: false });',
    what: "1 becomes 2",
    why: "nothing else is asked on this line, so any number will do",
  },
  {
    file: "proxy/limiter/spool/settle-directory.ts",
    line: "const pieceBytes = 256 * 1024;",
    what: "256 becomes 257",
    why: "a piece is a little larger",
  },
  {
    file: "proxy/limiter/spool/settle-directory.ts",
    line: "const pieceBytes = 256 * 1024;",
    what: "1024 becomes 1025",
    why: "a piece is a little larger",
  },
  {
    file: "proxy/limiter/spool/settle-directory.ts",
    line: "const settlesPerPiece = 500;",
    what: "500 becomes 501",
    why: "a piece holds one more, and the file the same",
  },
  {
    file: "proxy/limiter/spool/settle-directory.ts",
    line: "if (++kept % settlesPerPiece > 0)",
    what: "0 becomes 1",
    why: "pieces are written one settle earlier, and are the same file",
  },
];
