/**
 * Whatever a peer says on the socket of a real daemon, it is closed or answered, the others keep
 * their service, and memory stays bounded. What the codec makes of each kind of bytes is tested
 * beside it.
 */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import t from "tap";
import {
  costPicoUsdMax,
  helloDeadlineMs,
  peersMax,
  tokensPerResponseMax,
} from "../../../shared/bounds.js";
import { adminSocketBeside } from "../../../shared/socket/socket-place.js";
import { wireVersion } from "../../../shared/version.js";
import { encodeFrame } from "../../../shared/wire/codec.js";
import { agesSeconds } from "../../support/ages.js";
import { ruleNow, until } from "../../support/client.js";
import { liveHeapBytes } from "../../support/memory/live-heap.js";
import { exactly } from "../../support/patterns/exactly.js";
import {
  admitFrame,
  connectPeer,
  framed,
  type HostilePeer,
  helloFrame,
  settleFrame,
  startWitness,
} from "../../support/processes/hostile-peer.js";
import { inspectorOf, makeSite } from "../../support/processes/processes.js";

t.setTimeout(240_000);
const site = makeSite(
  t,
  `
rate_limits:
  user_paths:
    - { path: /witness, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1000000000, max_tokens: 1000000000 }] }
    - { path: /hostile, limits: [{ period: concurrent, max_requests: 1000000 }, { period_seconds: ${agesSeconds}, max_requests: 1000000000, max_tokens: 1000000000 }] }
`,
);
const daemon = await site.startDaemon({ inspected: true });
const proxy = await site.startProxy();
/** A peer of the daemon's user may do all that there is to do. */
const adminSocket = adminSocketBeside(site.socket);
const witness = await startWitness(site.socket, "/witness");
/** Says nothing from the first test to the last. */
const silent = await connectPeer(site.socket);
const silentSince = performance.now();
let names = 0;

async function greeted(reads = true): Promise<HostilePeer> {
  const peer = await connectPeer(adminSocket, { reads });
  peer.socket.write(helloFrame(`hostile-${++names}`));
  if (reads) await peer.received("welcome");
  return peer;
}

/** Resident memory of the daemon in bytes. */
function residentBytes(): number {
  return (
    Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${daemon.child.pid}/status`, "utf8"))![1]) *
    1024
  );
}

const text = (value: string): number[] => [0xa0 + value.length, ...Buffer.from(value)];
const deep = framed(Buffer.concat([Buffer.alloc(60_000, 0x91), Buffer.from([1])]));
const targets = [["test", "model"]];

/** Each is closed for what it says first. */
const breaches: readonly (readonly [name: string, bytes: Buffer])[] = [
  ["a length of zero", Buffer.alloc(4)],
  ["a frame one byte too large", Buffer.from([0, 1, 0, 1])],
  ["four gigabytes announced", Buffer.from([255, 255, 255, 255])],
  ["HTTP", Buffer.from("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")],
  ["the byte that msgpack never uses", framed([0xc1])],
  ["an array cut short", framed([0x93, 1, 2])],
  ["two values in a frame", framed([1, 2])],
  ["no array", framed([0x81, ...text("a"), 1])],
  ["arrays 60,000 deep", deep],
  ["four billion items announced", framed([0xdd, 255, 255, 255, 255])],
  ["four billion pairs announced", framed([0xdf, 255, 255, 255, 255])],
  ["a text of four gigabytes announced", framed([0xdb, 255, 255, 255, 255, 0x61])],
  ["a value within itself", framed([0xd6, 0x69, 0, 0, 0, 0, 0x91, 0xd6, 0x70, 0, 0, 0, 0])],
  [
    "a record definition",
    framed([0xd4, 0x72, 0x40, 0x92, ...text("kind"), ...text("id"), ...text("hello"), 1]),
  ],
  ["an expression", framed([0xd4, 0x78, 0, 0x92, ...text("(a+)+$"), ...text("")])],
  ["an unknown kind", encodeFrame(["obey", 1])],
  [
    "an id that isn't a count",
    encodeFrame(["admit", -1, "/hostile", "authenticated", targets, false, 0]),
  ],
  ["an admission before a hello", admitFrame(1, "/hostile")],
  ["a settle before a hello", settleFrame(1, 0, "/hostile", { tokens: 1 })],
  ["an admin call before a hello", encodeFrame(["admin", 1, "rate-limits.list", null])],
  ["a hello of a command line of another version", encodeFrame(["hello", 1, 999, "cli", "a"])],
  ["a hello of nobody of another version", encodeFrame(["hello", 1, 999])],
  ["a hello of no role", encodeFrame(["hello", 1, wireVersion, "king", "a", [], false])],
  [
    "a hello whose name is a path",
    encodeFrame(["hello", 1, wireVersion, "proxy", "../a", [], false]),
  ],
  [
    "a hello that holds one lease twice",
    encodeFrame([
      "hello",
      1,
      wireVersion,
      "proxy",
      "twice",
      [
        [7, "/hostile", 0, 0, [], 0, 0, false],
        [7, "/hostile", 0, 0, [], 0, 0, false],
      ],
      false,
    ]),
  ],
  [
    "a hello that holds lease 0",
    encodeFrame([
      "hello",
      1,
      wireVersion,
      "proxy",
      "zero",
      [[0, "/hostile", 0, 0, [], 0, 0, false]],
      false,
    ]),
  ],
];

/** Each is closed for what it says after a hello. */
const laterBreaches: readonly (readonly [name: string, bytes: Buffer])[] = [
  ["a second hello", helloFrame("again")],
  ["an admission 0", admitFrame(0, "/hostile")],
  [
    "the same admission twice",
    Buffer.concat([admitFrame(5, "/hostile"), admitFrame(5, "/hostile")]),
  ],
  ["a path that isn't normal", admitFrame(5, "/hostile/../x")],
  ["a path of 2,000 bytes", admitFrame(5, `/${"x".repeat(2000)}`)],
  ["half a target", encodeFrame(["admit", 5, "/hostile", "authenticated", [["test"]], false, 0])],
  [
    "65 targets",
    encodeFrame([
      "admit",
      5,
      "/hostile",
      "authenticated",
      Array.from({ length: 65 }, () => targets).flat(),
      false,
      0,
    ]),
  ],
  ["a settle of fewer than none", settleFrame(1, 0, "/hostile", { tokens: -1 })],
  ["a settle of half a token", settleFrame(1, 0, "/hostile", { tokens: 0.5 })],
  ["a settle of no number", settleFrame(1, 0, "/hostile", { tokens: Number.NaN })],
  [
    "a settle of endless tokens",
    settleFrame(1, 0, "/hostile", { tokens: Number.POSITIVE_INFINITY }),
  ],
  ["a settle 0", settleFrame(0, 0, "/hostile", { tokens: 1 })],
  ["an operation that can't be one", encodeFrame(["admin", 5, "exit now", null])],
  ["what only the daemon says", encodeFrame(["admitted", 1, 0, 0, 0, []])],
];

t.test("a peer that breaks the grammar is closed, and the others keep their service", async (t) => {
  for (const [later, table] of [
    [false, breaches],
    [true, laterBreaches],
  ] as const) {
    for (const [name, bytes] of table) {
      for (const pieceBytes of [bytes.length, 3]) {
        const served = await witness.whileItIsServed(async () => {
          const peer = await (later ? greeted() : connectPeer(site.socket));
          if (bytes.length <= 2_000 || pieceBytes > 3)
            for (let at = 0; at < bytes.length; at += pieceBytes)
              peer.socket.write(bytes.subarray(at, at + pieceBytes));
          else peer.socket.write(bytes);
          await peer.closed;
        });
        t.ok(served > 0, `${name}, in pieces of ${pieceBytes}`);
      }
    }
  }
});

t.test("of another wire version settles are taken, and nothing else", async (t) => {
  const peer = await connectPeer(site.socket);
  peer.socket.write(
    encodeFrame(["hello", 1, 999, "proxy", "future", [["a lease of then"]], 5, {}]),
  );
  peer.socket.write(settleFrame(1, 0, "/future", { tokens: 1 }));
  await peer.received("settled");
  t.match(
    peer.frames,
    exactly([
      [
        "failed",
        1,
        { status: 400, message: /^the daemon speaks wire versions? .*, this peer 999$/ },
      ],
      ["settled", 1],
    ]),
  );
  peer.socket.write(admitFrame(2, "/future"));
  await peer.closed;
});

t.test("numbers as wild as the grammar allows harm no other peer", async (t) => {
  const peer = await greeted();
  const wild = Number.MAX_SAFE_INTEGER;
  const tokens = tokensPerResponseMax;
  const cost = costPicoUsdMax;
  const record = {
    requestId: "r",
    endpoint: "/e",
    provider: "p",
    providerType: "t",
    model: "",
    status: 999,
    inputTokens: tokens,
    outputTokens: tokens,
    cachedInputTokens: tokens,
    cacheWriteInputTokens: 0,
    inputCost: cost,
    outputCost: cost,
    totalCost: cost,
    cacheHit: false,
    rewriteTokensSaved: tokens,
    rewriteCostSaved: cost,
    latencyMs: wild,
    firstByteMs: wild,
    requestedModel: "",
    session: "",
    details: null,
    atMost: null,
    responseId: "",
    keyId: "k",
  };
  peer.socket.write(settleFrame(wild, wild, "/hostile", { tokens: wild, times: wild, record }));
  await peer.received("settled");
  peer.socket.write(
    encodeFrame([
      "admin",
      9,
      "rate-limits.put",
      { user_path: "/x", limit_key: { period: "minute" }, max_requests: 1e300 },
    ]),
  );
  t.match(
    await peer.received("failed"),
    exactly(["failed", 9, { status: 400 }]),
    "a wrong admin call is answered",
  );
  peer.socket.destroy();
  t.ok((await witness.whileItIsServed(async () => {})) > 0);
  t.equal(
    (await ruleNow(proxy.ready, "/witness", agesSeconds)).in_flight <= 1,
    true,
    "the witness's own slot at most",
  );
});

t.test(
  "any bytes in any pieces, and good frames with any bytes changed: the daemon lives and serves",
  async (t) => {
    const good = [
      helloFrame("fuzz"),
      admitFrame(3, "/hostile"),
      settleFrame(1, 3, "/hostile", { tokens: 5 }),
      encodeFrame(["admin", 4, "rate-limits.list", { after: null }]),
    ];
    const bytes = fc.uint8Array({ minLength: 1, maxLength: 200 });
    const changed = fc
      .tuple(
        fc.constantFrom(...good),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
        fc.nat(),
      )
      .map(([frame, changes, end]) => {
        const copy = Buffer.from(frame);
        for (const [at, byte] of changes) copy[at % copy.length] = byte;
        return end % 5 === 0 ? copy.subarray(0, end % copy.length) : copy;
      });
    const stream = fc.array(
      fc.oneof({ weight: 1, arbitrary: bytes }, { weight: 3, arbitrary: changed }),
      { minLength: 1, maxLength: 6 },
    );
    let peers = 0;
    const served = await witness.whileItIsServed(() =>
      fc.assert(
        fc.asyncProperty(
          stream,
          fc.boolean(),
          fc.integer({ min: 1, max: 80 }),
          async (chunks, greets, pieceBytes) => {
            const peer = await (greets ? greeted() : connectPeer(adminSocket));
            const all = Buffer.concat(chunks);
            for (let at = 0; at < all.length; at += pieceBytes)
              peer.socket.write(all.subarray(at, at + pieceBytes));
            peer.socket.end();
            await peer.closed;
            peers++;
          },
        ),
        { numRuns: 300 },
      ),
    );
    t.ok(served >= 1 && peers >= 300, `${served} admissions beside ${peers} peers`);
    t.equal(daemon.child.exitCode, null);
  },
);

t.test("a half-open connection, and one that breaks within a frame, end immediately", async (t) => {
  for (const last of [Buffer.alloc(0), helloFrame("half"), helloFrame("part").subarray(0, 9)]) {
    const peer = await connectPeer(site.socket);
    peer.socket.end(last);
    await peer.closed;
  }
  t.ok((await witness.whileItIsServed(async () => {})) > 0);
});

/** Writes without reading until the daemon has had enough; the bytes that it took. */
async function pour(peer: HostilePeer, next: () => Buffer): Promise<number> {
  let bytes = 0;
  let closed = false;
  void peer.closed.then(() => (closed = true));
  while (!closed && bytes < 64 * 1024 * 1024) {
    const piece = next();
    bytes += piece.length;
    if (!peer.socket.write(piece))
      await Promise.race([
        new Promise((resolve) => peer.socket.once("drain", resolve)),
        peer.closed,
      ]);
  }
  await peer.closed;
  return bytes;
}

t.test(
  "a peer that asks and never reads is closed at a bound, and what it held is free",
  async (t) => {
    let id = 1;
    const admits = (): Buffer =>
      Buffer.concat(Array.from({ length: 500 }, () => admitFrame(++id, "/hostile")));
    const lists = (): Buffer =>
      Buffer.concat(
        Array.from({ length: 500 }, () =>
          encodeFrame(["admin", ++id, "rate-limits.list", { after: null }]),
        ),
      );
    for (const [name, next] of [
      ["admissions", admits],
      ["lists", lists],
    ] as const) {
      const before = residentBytes();
      const liveBefore = await liveHeapBytes(inspectorOf(daemon));
      let poured = 0;
      const served = await witness.whileItIsServed(async () => {
        poured = await pour(await greeted(false), next);
      });
      t.ok(
        served > 0 && poured > 0,
        `${name}: closed after ${poured} bytes, ${served} others served meanwhile`,
      );
      const grown = residentBytes() - before;
      // With garbage, of which V8 leaves more on newer releases of Node.
      t.ok(grown < 256 * 1024 * 1024, `${name}: ${Math.round(grown / 1024 / 1024)} MiB more`);
      const left = async () => (await liveHeapBytes(inspectorOf(daemon))) - liveBefore;
      t.ok((await until(left, (bytes) => bytes < 8_000_000)) < 8_000_000, `${name}: it is free`);
    }
    t.equal((await ruleNow(proxy.ready, "/hostile", 0)).in_flight, 0);
  },
);

t.test("fifty megabytes of bombs leave memory where it was", async (t) => {
  const attack = (): Promise<void> =>
    Promise.all(
      Array.from({ length: 50 }, async () => {
        const peer = await connectPeer(site.socket);
        peer.socket.write(deep);
        await peer.closed;
      }),
    ).then(() => {});
  for (let i = 0; i < 4; i++) await attack();
  const before = residentBytes();
  const served = await witness.whileItIsServed(async () => {
    for (let i = 0; i < 16; i++) await attack();
  });
  const grown = residentBytes() - before;
  t.ok(
    grown < 48 * 1024 * 1024,
    `${Math.round(grown / 1024 / 1024)} MiB more after ${16 * 50 * deep.length} bytes`,
  );
  t.ok(served > 0);
});

/** The system turns a connection away (EAGAIN) while the daemon hasn't taken the ones before it. */
async function connectInTurn(): Promise<HostilePeer> {
  for (;;) {
    try {
      return await connectPeer(site.socket);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

t.test(
  `more than ${peersMax} connections aren't taken, those that are there stay, and there is room again when they go`,
  async (t) => {
    const peers: HostilePeer[] = [];
    let closed = 0;
    const served = await witness.whileItIsServed(async () => {
      while (peers.length < peersMax + 50) {
        const more = await Promise.all(Array.from({ length: 50 }, () => connectInTurn()));
        for (const peer of more) void peer.closed.then(() => closed++);
        peers.push(...more);
      }
      await Promise.any(peers.slice(-50).map(({ closed: gone }) => gone));
    });
    t.ok(served > 0);
    t.ok(closed > 0, `${closed} of ${peers.length} were turned away`);
    for (const { socket } of peers) socket.destroy();
    await Promise.all(peers.map((peer) => peer.closed));
    const after = await greeted();
    after.socket.destroy();
  },
);

t.test("a peer that says nothing is closed at its deadline", async (t) => {
  await silent.closed;
  t.ok(performance.now() - silentSince >= helloDeadlineMs - 50);
});

t.test("after all of it the witness was counted to the request, and no slot is held", async (t) => {
  witness.end();
  const rule = await until(
    () => ruleNow(proxy.ready, "/witness", agesSeconds),
    ({ in_flight: slots }) => slots === 0,
  );
  t.equal(rule.requests_used, rule.tokens_used, "a token for each request");
  t.ok(rule.requests_used > 100);
  t.equal(daemon.child.exitCode, null);
});
