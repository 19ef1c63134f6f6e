import t from "tap";
import {
  isAccepted,
  type KeyFields,
  KeyRing,
  keyStatus,
  workingOldSecrets,
} from "../../../limiterd/keys/key-ring.js";
import { keysMax, keyUseWrittenMs } from "../../../shared/bounds.js";
import { hashKey, makeManagedKey } from "../../../shared/domain/make-managed-key.js";
import { exactly } from "../../support/patterns/exactly.js";
import { startDaemon } from "../in-memory-daemon.js";
import { admit, call } from "./key-fixture.js";

const fieldsOf = (number: number, changes: Partial<KeyFields> = {}): KeyFields => ({
  number,
  hash: `hash ${number}`,
  redacted: "",
  oldSecrets: [],
  models: null,
  role: null,
  name: null,
  userPath: null,
  labels: [],
  createdAtMs: 0,
  expiresAtMs: null,
  deactivatedAtMs: null,
  deletedAtMs: null,
  lastUsedAtMs: null,
  ...changes,
});

const tombstone = (number: number): KeyFields =>
  fieldsOf(number, { hash: "", deactivatedAtMs: 5, deletedAtMs: 5 });

const old = (hash: string, untilMs: number, lastUsedAtMs: number | null = null) => ({
  hash,
  redacted: "",
  untilMs,
  lastUsedAtMs,
});

/** The numbers of the keys that are to be written. */
const written = (ring: KeyRing, count = 10): readonly number[] =>
  ring.takeUsed(count).map(({ number }) => number);

const unsent = (ring: KeyRing, count = 10): readonly number[] =>
  ring.takeUnsentUses(count).map(({ number }) => number);

t.test("a key is found by its number and its secrets, a deleted one by its number", async (t) => {
  const ring = new KeyRing();
  t.same(
    [ring.size, ring.nextNumber, ring.byNumber(0), ring.byNumber(1)],
    [0, 1, undefined, undefined],
  );
  ring.add(fieldsOf(2, { oldSecrets: [old("older", 9)] }));
  ring.add(tombstone(4));
  ring.add(fieldsOf(7));
  t.same([ring.size, ring.deletedCount, ring.nextNumber], [3, 1, 8]);
  t.same(
    Array.from({ length: 10 }, (_, number) => ring.byNumber(number)?.id ?? "").join(),
    ",,key_2,,key_4,,,key_7,,",
  );
  for (const [hash, id] of [
    ["hash 2", "key_2"],
    ["older", "key_2"],
    ["hash 7", "key_7"],
    ["", undefined],
    ["hash 4", undefined],
  ] as const)
    t.equal(ring.find(hash)?.id, id, hash);
  for (const [below, count, numbers] of [
    [8, 10, [7, 2]],
    [8, 2, [7, 2]],
    [8, 1, [7]],
    [8, 0, []],
    [7, 10, [2]],
    [5, 10, [2]],
    [3, 10, [2]],
    [2, 10, []],
  ] as const)
    t.same(
      ring.newest(below, count).map(({ number }) => number),
      numbers,
      `${count} below ${below}`,
    );
});

t.test("a key that is put takes the place of the one with its number, or its own", async (t) => {
  const ring = new KeyRing();
  ring.put(fieldsOf(3));
  ring.put(fieldsOf(1));
  ring.put(fieldsOf(2, { oldSecrets: [old("older", 9)] }));
  t.same(
    ring.all().map(({ number }) => number),
    [1, 2, 3],
  );
  ring.put(fieldsOf(2, { hash: "newer", oldSecrets: [old("hash 2", 9)] }));
  for (const [hash, id] of [
    ["newer", "key_2"],
    ["hash 2", "key_2"],
    ["older", undefined],
    ["hash 1", "key_1"],
    ["hash 3", "key_3"],
  ] as const)
    t.equal(ring.find(hash)?.id, id, hash);
  ring.put(tombstone(2));
  t.same(
    [ring.size, ring.deletedCount, ring.find("newer"), ring.find("hash 2")],
    [3, 1, undefined, undefined],
  );
  ring.put(tombstone(2));
  t.equal(ring.deletedCount, 1, "deleted once");
  ring.put(tombstone(5));
  t.same([ring.size, ring.deletedCount, ring.nextNumber], [4, 2, 6]);
  ring.put(fieldsOf(2));
  t.same([ring.deletedCount, ring.find("hash 2")?.id], [1, "key_2"], "another host knows it lives");
});

t.test("a key that takes another's place keeps the newest uses that are known", async (t) => {
  for (const [known, put, lastUsedAtMs] of [
    [null, null, null],
    [5, null, 5],
    [null, 5, 5],
    [5, 7, 7],
    [7, 5, 7],
  ] as const) {
    const ring = new KeyRing();
    ring.add(fieldsOf(1, { lastUsedAtMs: known, oldSecrets: [old("older", 9, known)] }));
    const of = { hash: "newer", lastUsedAtMs: put };
    const oldSecrets = [old("hash 1", 9), old("older", 9, put), old("unknown", 9, put)];
    t.match(
      ring.put(fieldsOf(1, { ...of, oldSecrets })),
      exactly({
        lastUsedAtMs,
        oldSecrets: [{ lastUsedAtMs: known }, { lastUsedAtMs }, { lastUsedAtMs: put }],
      }),
      `${known} ${put}`,
    );
    t.equal(ring.put(tombstone(1)).lastUsedAtMs, null, "a tombstone has none");
  }
});

t.test(
  "uses are written once they are out of date by five minutes, and then no more",
  async (t) => {
    const ring = new KeyRing();
    const used = ring.add(fieldsOf(1, { oldSecrets: [old("older", 9)] }));
    const never = ring.add(fieldsOf(2));
    ring.add(fieldsOf(3));
    ring.use(used, "older", 1000);
    t.match(used, exactly({ lastUsedAtMs: 1000, oldSecrets: [{ lastUsedAtMs: 1000 }] }));
    ring.use(used, "hash 1", 2000);
    t.match(used, exactly({ lastUsedAtMs: 2000, oldSecrets: [{ lastUsedAtMs: 1000 }] }));
    ring.use(never, "hash 2", 2000);
    t.same([written(ring, 0), written(ring, 1), written(ring), written(ring)], [[], [1], [2], []]);
    for (const [nowMs, keys] of [
      [2000 + keyUseWrittenMs - 1, []],
      [2000 + keyUseWrittenMs, [1]],
      [2001, []],
      [2000, [1]],
    ] as const) {
      ring.use(used, "hash 1", nowMs);
      t.same(written(ring), keys, `at ${nowMs}`);
    }
    ring.use(used, "hash 1", 9 * keyUseWrittenMs);
    ring.put(fieldsOf(1));
    t.same(written(ring), [], "who puts a key writes it");
    ring.use(ring.byNumber(1)!, "hash 1", 9 * keyUseWrittenMs + 1);
    t.same(written(ring), [], "with the use that was known");
    const again = ring.add(fieldsOf(4, { lastUsedAtMs: 5000 }));
    ring.use(again, "hash 4", 5001);
    t.same(written(ring), [], "what was restored is written already");
  },
);

t.test("what other hosts have seen is known here, and written", async (t) => {
  const ring = new KeyRing();
  const key = ring.add(fieldsOf(1, { lastUsedAtMs: 5, oldSecrets: [old("older", 9, 3)] }));
  ring.add(tombstone(2));
  const hear = (number: number, lastUsedAtMs: number | null, older?: number): void =>
    ring.applyUses([
      { number, lastUsedAtMs, oldSecrets: new Map(older === undefined ? [] : [["older", older]]) },
    ]);
  const known = (): unknown => [key.lastUsedAtMs, key.oldSecrets[0]?.lastUsedAtMs];
  hear(1, null, 9);
  t.same(known(), [5, 3], "a key that they haven't seen");
  hear(1, 4);
  t.same(known(), [5, 3]);
  hear(1, 6, 2);
  t.same(known(), [6, 3]);
  hear(1, 7, 7);
  t.same(known(), [7, 7]);
  t.same(written(ring), []);
  hear(1, 5 + keyUseWrittenMs);
  t.same(written(ring), [1]);
  hear(2, 9);
  hear(3, 9);
  t.equal(ring.byNumber(2)?.lastUsedAtMs, null);
  t.same(written(ring), []);
});

t.test("uses of keys are reported to other hosts, first all known ones", async (t) => {
  const ring = new KeyRing();
  const [first, , third] = [1, 2, 3].map((number) => ring.add(fieldsOf(number)));
  ring.use(first!, "hash 1", 1);
  t.same(unsent(ring), [], "there are no others");
  ring.shareUses();
  t.same([unsent(ring, 0), unsent(ring), unsent(ring)], [[], [1], []]);
  ring.use(third!, "hash 3", 2);
  ring.use(first!, "hash 1", 2);
  t.same([unsent(ring, 1), unsent(ring, 1), unsent(ring, 1)], [[3], [1], []]);
  ring.use(first!, "hash 1", 3);
  const put = ring.put(fieldsOf(1, { name: "renamed" }));
  t.same(ring.takeUnsentUses(10), [put], "the key that took its place, and not the one before");
});

t.test("when a key and its old secrets are accepted", async (t) => {
  const ring = new KeyRing();
  const keyOf = (changes: Partial<KeyFields>) => ring.add(fieldsOf(ring.size + 1, changes));
  const oldSecrets = [old("older", 20), old("oldest", 10)];
  const lasting = keyOf({ oldSecrets });
  const ending = keyOf({ oldSecrets, expiresAtMs: 15 });
  const ended = keyOf({ oldSecrets, deactivatedAtMs: 1 });
  for (const [nowMs, status, working, accepted] of [
    [0, "active", 2, "TTT TTT"],
    [9, "active", 2, "TTT TTT"],
    [10, "active", 1, "TTF TTF"],
    [14, "active", 1, "TTF TTF"],
    [15, "expired", 1, "TTF FFF"],
    [19, "expired", 1, "TTF FFF"],
    [20, "expired", 0, "TFF FFF"],
  ] as const) {
    const seen = [lasting, ending].map((key) =>
      [key.hash, "older", "oldest"].map((hash) => (isAccepted(key, hash, nowMs) ? "T" : "F")),
    );
    t.equal(seen.map((each) => each.join("")).join(" "), accepted, `at ${nowMs}`);
    t.equal(keyStatus(ending, nowMs), status);
    t.equal(keyStatus(lasting, nowMs), "active");
    t.equal(workingOldSecrets(ending, nowMs).length, working);
    t.equal(keyStatus(ended, nowMs), "deactivated");
    for (const hash of [ended.hash, "older", "oldest"]) t.notOk(isAccepted(ended, hash, nowMs));
  }
});

t.test("keys that begin alike, in what is shown and in their hashes, are two keys", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  const { hash, redacted } = makeManagedKey();
  const alike = `${hash.slice(0, -1)}${hash.endsWith("A") ? "E" : "A"}`;
  t.match(
    await call(daemon, peer, "keys.issue", {
      key_hash: hash,
      redacted_value: redacted,
      key: { user_path: "/one" },
    }),
    { body: { id: "key_1" } },
  );
  t.same(admit(peer, 2, alike), { kind: "denied", id: 2, ended: null });
  t.match(
    await call(daemon, peer, "keys.issue", {
      key_hash: alike,
      redacted_value: redacted,
      key: { user_path: "/two" },
    }),
    { body: { id: "key_2" } },
  );
  t.match(admit(peer, 3, hash), { key: { userPath: "/one", keyId: "key_1" } });
  t.match(admit(peer, 4, alike), { key: { userPath: "/two", keyId: "key_2" } });
  await call(daemon, peer, "keys.deactivate", { id: "key_2" });
  t.match(admit(peer, 5, hash), { kind: "admitted" });
});

t.test("a key is looked up among 100,000 as among 100", async (t) => {
  const hashes = Array.from({ length: 100_000 }, (_, i) => hashKey(`sk-sluice-${i}`));
  const ring = (size: number): KeyRing => {
    const made = new KeyRing();
    for (let i = 0; i < size; i++) made.add(fieldsOf(i + 1, { hash: hashes[i]! }));
    return made;
  };
  const few = ring(100);
  const many = ring(100_000);
  const asked = Array.from({ length: 100 }, (_, i) => hashes[(i * 7) % 100]!);
  const nsPerLookUp = (keys: typeof few): number => {
    const began = process.hrtime.bigint();
    let found = 0;
    for (let round = 0; round < 200; round++)
      for (const hash of asked) if (keys.find(hash) !== undefined) found++;
    t.equal(found, 20_000);
    return Number(process.hrtime.bigint() - began) / 20_000;
  };
  // The best of several, because other processes only ever make it slower.
  const best = (keys: typeof few): number =>
    Math.min(...Array.from({ length: 9 }, () => nsPerLookUp(keys)));
  const [small, large] = [best(few), best(many)];
  t.comment(`${small.toFixed(0)} ns of 100, ${large.toFixed(0)} ns of 100,000`);
  t.ok(large < 20 * Math.max(small, 20), `${large} ns against ${small} ns`);
  t.ok(many.size < keysMax);
});
