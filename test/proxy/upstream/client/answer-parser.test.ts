/** The parser of answers by itself, and beside undici's: whatever undici refuses is refused. */
import { deepStrictEqual } from "node:assert/strict";
import { createRequire } from "node:module";
import { Duplex } from "node:stream";
import fc from "fast-check";
import t from "tap";
import type * as undici from "undici";
import { AnswerParser } from "../../../../proxy/upstream/client/answer-parser.js";

const require = createRequire(import.meta.url);
const Client = require("undici/lib/dispatcher/client.js") as typeof undici.Client;

interface Answer {
  readonly statuses: readonly number[];
  readonly headers: readonly string[];
  readonly body: string;
  readonly isKept: boolean;
}

/** The answer, or why there is none. */
type Outcome = Answer | string;

/** Cuts `bytes` at these places. */
function pieces(bytes: string, cuts: readonly number[]): Buffer[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  const ends = [...at, bytes.length];
  return ends
    .map((end, i) => Buffer.from(bytes.slice(i === 0 ? 0 : ends[i - 1], end), "latin1"))
    .filter((piece) => piece.length > 0);
}

/** `pauses`: after the head and after each piece of the body, until the next bytes have arrived. */
function parsed(
  given: readonly Buffer[],
  method: string,
  closes: boolean,
  pauses = false,
): Outcome {
  const statuses: number[] = [];
  let headers: readonly string[] = [];
  let body = "";
  let isEnded = false;
  const parser = new AnswerParser({
    onHead(status, rawHeaders) {
      statuses.push(status);
      headers = rawHeaders;
      return !pauses;
    },
    onData(chunk) {
      body += chunk.toString("latin1");
      return !pauses;
    },
    onEnd() {
      isEnded = true;
    },
  });
  parser.begin(method);
  try {
    // One buffer for all, as the connections have it.
    const shared = Buffer.alloc(64 * 1024);
    for (const piece of given) {
      if (isEnded) return { statuses, headers, body, isKept: false };
      piece.copy(shared);
      parser.read(shared.subarray(0, piece.length));
      shared.fill(0x58);
      for (let i = 0; i < 3; i++) parser.resume();
    }
    if (closes && !isEnded) parser.close();
    for (let i = 0; i < 3; i++) parser.resume();
  } catch (error) {
    return (error as Error).message;
  }
  return isEnded ? { statuses, headers, body, isKept: parser.keepsAlive } : "unfinished";
}

/** What undici makes of the same bytes. */
async function byUndici(
  given: readonly Buffer[],
  method: string,
  closes: boolean,
): Promise<Outcome> {
  let asked = (): void => {};
  const hasAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const socket = new Duplex({
    read() {},
    write(_chunk, _encoding, done) {
      asked();
      done();
    },
  });
  socket.on("error", () => {});
  const client = new Client("http://provider", {
    connect: (_to: unknown, done: (error: null, socket: never) => void) =>
      void setImmediate(() => done(null, socket as never)),
  });
  let ended: Outcome | null = null;
  const statuses: number[] = [];
  let headers: readonly string[] = [];
  let body = "";
  client.dispatch({ method: method as "GET", path: "/" }, {
    onConnect() {},
    onError(error: Error) {
      ended ??= error.message;
    },
    onHeaders(status: number, rawHeaders: Buffer[]) {
      statuses.push(status);
      headers = rawHeaders.map((each) => each.toString("latin1"));
      return true;
    },
    onData(chunk: Buffer) {
      body += chunk.toString("latin1");
      return true;
    },
    onComplete() {
      ended ??= { statuses, headers, body, isKept: true };
    },
  } as unknown as undici.Dispatcher.DispatchHandler);
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  await hasAsked;
  for (const piece of given) {
    if (socket.destroyed) break;
    socket.push(piece);
    await turn();
  }
  if (closes && ended === null && !socket.destroyed) socket.push(null);
  for (let i = 0; i < 5; i++) await turn();
  const outcome = (ended ?? "unfinished") as Outcome;
  const isKept = !socket.destroyed;
  void client.destroy();
  return typeof outcome === "string" ? outcome : { ...outcome, isKept };
}

const ok = "HTTP/1.1 200 OK\r\n";

t.test("what is HTTP is read, wherever it is cut, also with pauses", async (t) => {
  const table: Readonly<Record<string, readonly [bytes: string, body: string, isKept: boolean]>> = {
    "a length": [`${ok}Content-Length: 3\r\nx: y\r\n\r\nabc`, "abc", true],
    "no body": [`${ok}content-length: 0\r\n\r\n`, "", true],
    "no reason": ["HTTP/1.1 200\r\ncontent-length: 1\r\n\r\na", "a", true],
    "an empty reason": ["HTTP/1.1 200 \r\ncontent-length: 1\r\n\r\na", "a", true],
    "a line before it": [`\r\n${ok}content-length: 1\r\n\r\na`, "a", true],
    "status 204": ["HTTP/1.1 204 No Content\r\n\r\n", "", true],
    "status 304 with the length of what hasn't changed": [
      "HTTP/1.1 304 Not Modified\r\ncontent-length: 3\r\n\r\n",
      "",
      false,
    ],
    "status 304": ["HTTP/1.1 304 Not Modified\r\netag: x\r\n\r\n", "", true],
    chunks: [
      `${ok}Transfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n`,
      "abc0123456789",
      true,
    ],
    extensions: [
      `${ok}transfer-encoding: chunked\r\n\r\n3;a=b;c="d \\" e"\r\nabc\r\n0;x\r\n\r\n`,
      "abc",
      true,
    ],
    trailers: [
      `${ok}transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx-sum: 1\r\ny: 2\r\n\r\n`,
      "a",
      true,
    ],
    "until it closes": [`${ok}x: y\r\n\r\nabc`, "abc", false],
    "connection: close": [`${ok}Connection: x, Close\r\ncontent-length: 1\r\n\r\na`, "a", false],
    "HTTP/1.0": ["HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na", "a", false],
    "HTTP/1.0, kept": [
      "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 1\r\n\r\na",
      "a",
      true,
    ],
    "an early hint": [
      `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${ok}content-length: 1\r\n\r\na`,
      "a",
      true,
    ],
    "continue, which wasn't asked for": [
      `HTTP/1.1 100 Continue\r\n\r\n${ok}content-length: 1\r\n\r\na`,
      "a",
      true,
    ],
    "more than was asked for": [`${ok}content-length: 1\r\n\r\nab`, "a", false],
    "another answer": [
      `${ok}content-length: 1\r\n\r\na${ok}content-length: 1\r\n\r\nb`,
      "a",
      false,
    ],
  };
  for (const [name, [bytes, body, isKept]] of Object.entries(table)) {
    const whole = parsed([Buffer.from(bytes, "latin1")], "POST", true);
    t.match(whole, { body, isKept }, name);
    const cuts = Array.from({ length: bytes.length }, (_, i) => i);
    for (const pauses of [false, true]) {
      const inTwo = cuts.map((cut) => parsed(pieces(bytes, [cut]), "POST", true, pauses));
      t.ok(
        inTwo.every((each) => typeof each !== "string" && each.body === body),
        `${name}, in two`,
      );
      t.match(parsed(pieces(bytes, cuts), "POST", true, pauses), { body }, `${name}, byte by byte`);
    }
  }
  t.match(parsed([Buffer.from(`${ok}content-length: 9\r\n\r\n`)], "HEAD", false), {
    body: "",
    isKept: true,
  });
});

t.test("what isn't HTTP is refused, wherever it is cut", async (t) => {
  const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;
  const table: Readonly<Record<string, string>> = {
    "not HTTP": "SSH-2.0-x\r\n\r\n",
    "another version": "HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n",
    "no status": "HTTP/1.1 OK\r\n\r\n",
    "a status below 100": `HTTP/1.1 099 X\r\n\r\n${ok}content-length: 0\r\n\r\n`,
    "a bare line feed": "HTTP/1.1 200 OK\ncontent-length: 0\n\n",
    "a bare line feed behind a header": `${ok}a: b\nc: d\r\n\r\n`,
    "a bare return in a value": `${ok}a: b\rc: d\r\n\r\n`,
    "a control character in a reason": "HTTP/1.1 200 O\x01K\r\n\r\n",
    "a zero in a value": `${ok}a: \0\r\n\r\n`,
    "a folded header": `${ok}a: b\r\n c\r\n\r\n`,
    "a space before the colon": `${ok}a : b\r\n\r\n`,
    "a space in a name": `${ok}a b: c\r\n\r\n`,
    "no name": `${ok}: c\r\n\r\n`,
    "no colon": `${ok}abc\r\n\r\n`,
    "two lengths": `${ok}content-length: 1\r\ncontent-length: 2\r\n\r\na`,
    "the same length twice": `${ok}content-length: 1\r\ncontent-length: 1\r\n\r\na`,
    "two lengths in one": `${ok}content-length: 1, 1\r\n\r\na`,
    "a negative length": `${ok}content-length: -1\r\n\r\na`,
    "a length with a sign": `${ok}content-length: +1\r\n\r\na`,
    "a hexadecimal length": `${ok}content-length: 0x1\r\n\r\na`,
    "a length behind another space": `${ok}content-length: \u00a01\r\n\r\na`,
    "chunked behind another space": `${ok}transfer-encoding: \u00a0chunked\r\n\r\n0\r\n\r\n`,
    "no length in its header": `${ok}content-length:\r\n\r\na`,
    "too great a length": `${ok}content-length: 99999999999999999999\r\n\r\na`,
    "a length and chunks": `${ok}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`,
    "chunks and a length": `${ok}transfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n1\r\na\r\n0\r\n\r\n`,
    "another coding": `${ok}transfer-encoding: gzip\r\n\r\n`,
    "chunked inside another coding": `${ok}transfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n`,
    "chunked twice": `${ok}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    "a size that isn't one": `${chunked}g\r\n\r\n`,
    "a size with a prefix": `${chunked}0x1\r\na\r\n0\r\n\r\n`,
    "a negative size": `${chunked}-1\r\na\r\n0\r\n\r\n`,
    "a space behind a size": `${chunked}1 \r\na\r\n0\r\n\r\n`,
    "a space before a size": `${chunked} 1\r\na\r\n0\r\n\r\n`,
    "no size": `${chunked}\r\na\r\n0\r\n\r\n`,
    "a size with a bare line feed": `${chunked}1\na\r\n0\r\n\r\n`,
    "too great a size": `${chunked}fffffffffffffffff\r\na`,
    "a chunk longer than its size": `${chunked}1\r\nab\r\n0\r\n\r\n`,
    "a chunk without its end": `${chunked}1\r\na0\r\n\r\n`,
    "a line feed in an extension": `${chunked}1;a\nb\r\na\r\n0\r\n\r\n`,
    "an extension without a name": `${chunked}1;\r\na\r\n0\r\n\r\n`,
    "a folded trailer": `${chunked}0\r\na: b\r\n c\r\n\r\n`,
    "a length in trailers": `${chunked}0\r\ncontent-length: 1\r\n\r\n`,
    "another protocol":
      "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
    "an informational answer that ends the connection": `HTTP/1.1 103 X\r\nconnection: close\r\n\r\n${ok}content-length: 0\r\n\r\n`,
    "an end in the head": `${ok}content-le`,
    "an end in the body": `${ok}content-length: 3\r\n\r\nab`,
    "an end in a chunk": `${chunked}3\r\nab`,
    "an end in trailers": `${chunked}0\r\na: b\r\n`,
    "a long head": `${ok}a: ${"b".repeat(17 * 1024)}\r\n\r\n`,
    "a head without an end": `${ok}a: ${"b".repeat(17 * 1024)}`,
    "long trailers": `${chunked}0\r\na: ${"b".repeat(17 * 1024)}\r\n\r\n`,
    "a long extension": `${chunked}1;${"a".repeat(300)}\r\na\r\n0\r\n\r\n`,
  };
  for (const [name, bytes] of Object.entries(table)) {
    t.type(parsed([Buffer.from(bytes, "latin1")], "POST", true), "string", name);
    const cuts =
      bytes.length > 200 ? [20, 100, 16_000] : Array.from({ length: bytes.length }, (_, i) => i);
    for (const cut of cuts)
      if (typeof parsed(pieces(bytes, [cut]), "POST", true) !== "string")
        t.fail(`${name}, cut at ${cut}`);
  }
});

t.test("what can't become HTTP is refused at once: nobody waits for its end", async (t) => {
  const reason = /^its answer (?:isn't HTTP: it begins with|has a malformed head)/;
  for (const bytes of [
    "220 mail ESMTP\r\n",
    "-ERR unknown command\r\n",
    "\0\0\x12\x04\0\0\0\0\0",
    "HTTP/2",
    "HTTP/1.1 200 OK\n",
    "\nHTTP/1.1 200 OK\r\n",
  ]) {
    const whole = [Buffer.from(bytes, "latin1")];
    t.match(parsed(whole, "POST", false), reason, bytes);
    const cuts = Array.from({ length: bytes.length }, (_, i) => i);
    t.match(parsed(pieces(bytes, cuts), "POST", false), reason, bytes);
  }
  for (const bytes of [
    "H",
    "HTTP/1.",
    "\r",
    "\r\nHTT",
    "HTTP/1.1 200 OK\r",
    "HTTP/1.1 200 OK\r\na",
  ])
    t.equal(parsed([Buffer.from(bytes)], "POST", false), "unfinished", bytes);
});

/** Answers that servers send, and mutations of them. */
const header = fc.constantFrom(
  "content-type: application/json",
  "X-Empty:",
  "x-spaces: \t a b \t",
  "date: Sun, 29 Nov 2026 10:00:00 GMT",
  "connection: close",
  "Connection: keep-alive",
  "x-space: \u00a0a\u00a0",
  "keep-alive: timeout=5",
  "x-latin1: \u00e9\u00ff",
  "set-cookie: a=b; c",
  "x_1~!#: :",
);
const piece = fc.string({
  unit: fc.constantFrom("a", "0", "\r", "\n", ";", "\u00ff", "\0"),
  maxLength: 12,
});
const body = fc.oneof(
  piece.map((text) => `content-length: ${text.length}\r\n\r\n${text}`),
  fc
    .array(
      piece.filter((text) => text !== ""),
      { maxLength: 3 },
    )
    .chain((texts) =>
      fc
        .constantFrom("", ";a", ";a=b", ';a="b c"')
        .chain((extension) =>
          fc
            .constantFrom("", "x-t: 1\r\n", "a:\r\nb: c\r\n")
            .map(
              (trailers) =>
                `transfer-encoding: chunked\r\n\r\n${texts
                  .map((text) => `${text.length.toString(16)}${extension}\r\n${text}\r\n`)
                  .join("")}0\r\n${trailers}\r\n`,
            ),
        ),
    ),
  piece.map((text) => `\r\n${text}`),
);
const answer = fc
  .record({
    early: fc.constantFrom(
      "",
      "",
      "",
      "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\n",
    ),
    first: fc.constantFrom(
      ok,
      ok,
      "HTTP/1.1 404 Not Found\r\n",
      "HTTP/1.0 200 OK\r\n",
      "HTTP/1.1 204 None\r\n",
      "HTTP/1.1 304 Same\r\n",
      "HTTP/1.1 500\r\n",
      "HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n",
    ),
    headers: fc.array(header, { maxLength: 4 }),
    body,
  })
  .map(
    ({ early, first, headers, body: rest }) =>
      `${early}${first}${headers.map((each) => `${each}\r\n`).join("")}${rest}`,
  );
const inserted = fc.constantFrom(
  ...'\r\n\t :;,0aF-+"\\\0\x7f\u0080\u00a0',
  "\r\n",
  "\r\n\r\n",
  "\n ",
  "\r\n ",
  "content-length: 1\r\n",
  "content-length: 0\r\n",
  "Transfer-Encoding: chunked\r\n",
  "transfer-encoding: gzip, chunked\r\n",
  "transfer-encoding: identity\r\n",
  "upgrade: h2c\r\n",
  "connection: upgrade\r\n",
  ok,
);
const mutation = fc.record({
  at: fc.nat(400),
  removed: fc.nat(3),
  inserted: fc.oneof(fc.constant(""), inserted),
});
const mutated = fc.tuple(answer, fc.array(mutation, { maxLength: 3 })).map(([bytes, mutations]) =>
  mutations.reduce((text, { at, removed, inserted: added }) => {
    const place = at % (text.length + 1);
    return text.slice(0, place) + added + text.slice(place + removed);
  }, bytes),
);

t.test("undici reads the same, or one of them or both refuse it: never undici alone", async (t) => {
  let both = 0;
  let strict = 0;
  await fc.assert(
    fc.asyncProperty(
      mutated,
      fc.array(fc.nat(500), { maxLength: 4 }),
      fc.constantFrom("POST", "POST", "GET", "HEAD"),
      fc.boolean(),
      async (bytes, cuts, method, closes) => {
        const given = pieces(bytes, cuts);
        const ours = parsed(given, method, closes);
        const theirs = await byUndici(given, method, closes);
        if (typeof ours === "string") {
          if (typeof theirs !== "string") strict++;
          return;
        }
        // undici refuses two that RFC 9110 allows.
        if (ours.statuses.includes(100) || ours.statuses.at(-1) === 304) return;
        both++;
        if (typeof theirs === "string") throw new Error(`undici alone refuses: ${theirs}`);
        const trimmed = (headers: readonly string[]): string[] =>
          headers.map((each) => each.replace(/^[\t ]+|[\t ]+$/g, ""));
        const wanted = { ...theirs, headers: trimmed(theirs.headers), isKept: true };
        deepStrictEqual({ ...ours, isKept: true }, wanted);
        // Connections close after HEAD anyway.
        if (ours.isKept && !theirs.isKept && method !== "HEAD")
          throw new Error("undici closes the connection");
      },
    ),
    { numRuns: Number(process.env["FUZZ_RUNS"] ?? 600) },
  );
  t.ok(both > 50, `${both} read by both, ${strict} refused by ours alone`);
});
