import t from "tap";
import {
  deactivatedKey,
  deletedKey,
  rotatedKey,
  rotationFlaw,
} from "../../../limiterd/keys/changed-key.js";
import { type KeyFields, KeyRing, type OldSecret } from "../../../limiterd/keys/key-ring.js";

const key: KeyFields = {
  number: 1,
  hash: "now",
  redacted: "n…",
  oldSecrets: [],
  models: ["a"],
  role: null,
  name: "CI",
  userPath: "/team",
  labels: ["eu"],
  createdAtMs: 1,
  expiresAtMs: 1000,
  deactivatedAtMs: null,
  deletedAtMs: null,
  lastUsedAtMs: 7,
};

const old = (hash: string, untilMs: number): OldSecret => ({
  hash,
  redacted: `${hash}…`,
  untilMs,
  lastUsedAtMs: null,
});

t.test(
  "of a rotated key the secrets until now work until the overlap ends, or earlier",
  async (t) => {
    const oldSecrets = [old("long", 90), old("short", 40), old("ended", 20)];
    const secret = { hash: "new", redacted: "new…" };
    t.same(rotatedKey({ ...key, oldSecrets }, secret, 60, 20), {
      ...key,
      ...secret,
      oldSecrets: [
        { hash: "now", redacted: "n…", untilMs: 60, lastUsedAtMs: 7 },
        old("long", 60),
        old("short", 40),
        old("ended", 20),
      ],
    });
    t.same(
      rotatedKey({ ...key, oldSecrets }, secret, 20, 20).oldSecrets.map(({ untilMs }) => untilMs),
      [20, 20, 20, 20],
      "no overlap",
    );
  },
);

t.test("a key remembers its last eight secrets that have ended, and all that work", async (t) => {
  const oldSecrets = Array.from({ length: 8 }, (_, i) => old(String(i), i === 7 ? 90 : i));
  const secret = { hash: "new", redacted: "new…" };
  t.same(
    rotatedKey({ ...key, oldSecrets }, secret, 60, 20).oldSecrets.map(({ hash }) => hash),
    ["now", "0", "1", "2", "3", "4", "5", "6", "7"],
  );
  t.same(
    rotatedKey({ ...key, oldSecrets }, secret, 20, 20).oldSecrets.map(({ hash }) => hash),
    ["now", "0", "1", "2", "3", "4", "5", "6"],
  );
});

t.test("a key is rotated while it is active and has room for an old secret", async (t) => {
  const flaw = (changes: Partial<KeyFields>, overlapSeconds: number): string | undefined =>
    rotationFlaw(new KeyRing().add({ ...key, ...changes }), overlapSeconds, 50)?.message;
  t.equal(flaw({}, 60), undefined);
  t.match(flaw({ expiresAtMs: 50 }, 60), /^key_1 is expired/);
  t.match(flaw({ deactivatedAtMs: 9 }, 60), /^key_1 is deactivated/);
  t.equal(flaw({ oldSecrets: [old("a", 51), old("b", 50)] }, 60), undefined, "one has ended");
  const oldSecrets = [old("a", 51), old("b", 51)];
  t.match(flaw({ oldSecrets }, 1), /^key_1 has 2 old secrets/);
  t.equal(flaw({ oldSecrets }, 0), undefined);
});

t.test(
  "the first moment of a deactivation stays, and a deletion leaves labels alone",
  async (t) => {
    t.same(deactivatedKey(key, 5), { ...key, deactivatedAtMs: 5 });
    t.same(deactivatedKey({ ...key, deactivatedAtMs: 3 }, 5), { ...key, deactivatedAtMs: 3 });
    const left = {
      number: 1,
      hash: "",
      redacted: "",
      oldSecrets: [],
      models: null,
      role: null,
      name: null,
      userPath: null,
      labels: ["eu"],
      createdAtMs: 1,
      expiresAtMs: null,
      lastUsedAtMs: null,
      deletedAtMs: 5,
    };
    t.same(deletedKey(key, 5), { ...left, deactivatedAtMs: 5 });
    t.same(deletedKey({ ...key, deactivatedAtMs: 3 }, 5), { ...left, deactivatedAtMs: 3 });
  },
);
