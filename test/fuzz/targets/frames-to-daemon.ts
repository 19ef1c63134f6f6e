/**
 * Frames to the daemon, mutated as values and as bytes, in pieces of any size, from a peer that has
 * said hello or hasn't. Each is handled or the peer is closed; another peer is served meanwhile,
 * counts make sense, slots are free afterwards, and what was written can be read again.
 */
import * as lmdb from "lmdb";
import { connect, receive } from "../../../limiterd/handlers/connection.js";
import { freeSlotsOfLostPeer } from "../../../limiterd/handlers/free-slots-of-lost-peer.js";
import { sweepChildren, sweepSpends } from "../../../limiterd/lifecycle/sweep.js";
import { keyToBytes, sealValue, unsealValue } from "../../../limiterd/store/lmdb/entry-bytes.js";
import type { Change } from "../../../limiterd/store/store.js";
import { frameBytesMaxToDaemon } from "../../../shared/bounds.js";
import { adminOps } from "../../../shared/wire/admin-op.js";
import { createFrameReader, encodeFrame } from "../../../shared/wire/codec.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { writeFromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { writeToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { askFor, settleOf, startDaemon, type TestDaemon } from "../../limiterd/in-memory-daemon.js";
import type { Random } from "../../sim/random.js";
import { createMemoryStore, type MemoryStore } from "../../support/memory-store.js";
import { framed } from "../../support/processes/hostile-peer.js";
import { type FuzzTarget, must } from "../fuzz-target.js";
import { cutBytes, mutateBytes } from "../mutate/mutate-bytes.js";
import { JsonMutator } from "../mutate/mutate-json.js";
import { hello, toDaemonSamples } from "../samples/frame-samples.js";
import { committing, mustBeIdle, mustCountSanely } from "./daemon-checks.js";
import { configuredBudgets, configuredRules } from "./daemon-scene.js";

const frames = toDaemonSamples.map((message) => writeToDaemon(message));
const mutator = new JsonMutator(frames, { levels: 400, items: 20_000, chars: 60_000 });

/** How LMDB writes keys; its types leave them out. */
const { keyValueToBuffer, bufferToKeyValue } = lmdb as unknown as {
  keyValueToBuffer(key: string | number): Buffer;
  bufferToKeyValue(bytes: Buffer): unknown;
};

/** A store in memory that refuses what LMDB would keep as something else. */
function faithfulStore(): MemoryStore {
  const store = createMemoryStore();
  const commit = store.commit.bind(store);
  store.commit = (changes: readonly Change[]) => {
    for (const { table, key, value } of changes) {
      const back = bufferToKeyValue(Buffer.from(keyValueToBuffer(key)));
      must(back === key, () => `${table}: the key ${JSON.stringify(key)} is read ${String(back)}`);
      if (value === undefined) continue;
      const keyBytes = keyToBytes(key);
      const sealed = sealValue(table, keyBytes, value);
      must(
        unsealValue(table, keyBytes, sealed) !== null,
        () => `${table}: a value that can't be read`,
      );
    }
    return commit(changes);
  };
  return store;
}

function frameOf(random: Random): Buffer {
  const frame = random.pick(frames);
  const kind = random.next();
  if (kind < 0.25) return encodeFrame(frame);
  if (kind < 0.8) {
    const mutated = mutator.value(frame, random);
    return encodeFrame(Array.isArray(mutated) ? mutated : [mutated]);
  }
  if (kind < 0.99) return mutateBytes(encodeFrame(frame), random);
  return deepFrame(random);
}

/** Lists in lists, or names of maps that are maps, deeper than an encoder would go. */
function deepFrame(random: Random): Buffer {
  const levels = Buffer.alloc(
    Math.round(random.skewed(1, 40_000)),
    random.pick([0x91, 0x81, 0xd4]),
  );
  if (random.chance(0.3)) return framed(levels);
  const plain = encodeFrame(["admin", 8, random.pick(adminOps), null]).subarray(4);
  return framed(Buffer.concat([plain.subarray(0, -1), levels, Buffer.from([0xc0])]));
}

/** One connection with some frames; returns how many. */
function talk(daemon: TestDaemon, random: Random): number {
  let closed = false;
  const peer = connect(
    daemon.state,
    {
      mayAdminister: true,
      send: (message: FromDaemon) => void encodeFrame(writeFromDaemon(message)),
      sendBulk(message, then) {
        encodeFrame(writeFromDaemon(message));
        then(daemon.nowMs);
      },
      close: () => {
        closed = true;
      },
    },
    daemon.nowMs,
  );
  const connection = { peer, reader: createFrameReader(frameBytesMaxToDaemon) };
  const count = random.int(1, 12);
  const said = Array.from({ length: count }, () => frameOf(random));
  // Not as "good": of two connections under one name, which is random, the daemon serves the later.
  if (random.chance(0.95))
    said.unshift(
      encodeFrame(writeToDaemon({ ...hello, proxyId: random.pick(["p1", "p2", "p3"]) })),
    );
  for (const bytes of random.chance(0.7) ? said : cutBytes(Buffer.concat(said), random)) {
    if (closed) break;
    receive(daemon.state, connection, bytes, daemon.nowMs);
  }
  freeSlotsOfLostPeer(daemon.state, peer, daemon.nowMs);
  return count;
}

/** A day's work between the frames, which must go on. */
async function housekeep(daemon: TestDaemon, random: Random): Promise<void> {
  daemon.nowMs += Math.round(random.skewed(1, 100_000_000));
  await daemon.commit();
  if (random.chance(0.5)) await committing(daemon, daemon.snapshot());
  if (random.chance(0.5)) await committing(daemon, daemon.flush());
  await committing(
    daemon,
    sweepChildren(
      daemon.state,
      () => daemon.nowMs,
      () => Promise.resolve(),
    ),
  );
  void sweepSpends(daemon.state, () => daemon.nowMs);
  await daemon.commit();
}

async function life(random: Random): Promise<number> {
  const options = { budgets: configuredBudgets, labelsOf: () => ["research"] };
  const daemon = startDaemon(configuredRules, { ...options, store: faithfulStore() });
  const good = daemon.proxy("good");
  let spoken = 0;
  for (let connections = random.int(1, 4), id = 10; connections > 0; connections--, id++) {
    spoken += talk(daemon, random);
    const lease = askFor(good, id, "/calm/app");
    must(
      lease !== null ||
        good.received.at(-1)?.kind === "refused" ||
        good.received.at(-1)?.kind === "exceeded" ||
        good.received.at(-1)?.kind === "denied",
      () => `another proxy hears ${JSON.stringify(good.received.at(-1))}`,
    );
    if (lease !== null) must(good.send(settleOf(lease, id, 5)), "and isn't closed for its settle");
    mustCountSanely(daemon);
    if (random.chance(0.3)) await housekeep(daemon, random);
  }
  good.close();
  mustBeIdle(daemon);
  await housekeep(daemon, random);
  must(daemon.damageReports.length === 0, () => `damaged by itself: ${daemon.damageReports[0]}`);
  mustCountSanely(startDaemon(configuredRules, { ...options, store: daemon.store.crash() }));
  return spoken;
}

export const framesToDaemon: FuzzTarget = {
  name: "frames-to-daemon",
  share: 0.5,
  open: () => Promise.resolve({ run: life, close: () => Promise.resolve() }),
};
