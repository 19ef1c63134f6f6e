import t from "tap";
import { KeyRing } from "../../../limiterd/keys/key-ring.js";
import { keysMax } from "../../../shared/domain/credential-bounds.js";
import { hashKey, newKey } from "../../../shared/domain/key-secret.js";
import { startDaemon } from "../in-memory-daemon.js";
import { admit, call } from "./key-fixture.js";

t.test("keys that begin alike, in what is shown and in their hashes, are two keys", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  const { hash, redacted } = newKey();
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
    for (let i = 0; i < size; i++)
      made.add({
        number: i + 1,
        hash: hashes[i]!,
        redacted: "",
        oldSecrets: [],
        models: null,
        name: null,
        userPath: "/",
        labels: [],
        createdAtMs: 0,
        expiresAtMs: null,
        deactivatedAtMs: null,
        deletedAtMs: null,
        lastUsedAtMs: null,
      });
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
