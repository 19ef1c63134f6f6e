import t from "tap";
import { newSession, SessionTable } from "../../../limiterd/keys/session-table.js";
import {
  type SessionCredential,
  sessionIdleMs,
  sessionMs,
  sessionsMax,
  sessionsPerHolderMax,
} from "../../../shared/wire/dashboard-session.js";

const admin: SessionCredential = { kind: "admin", mark: "m" };
const byKey = (keyHash: string): SessionCredential => ({ kind: "key", keyHash });

function opened(
  table: SessionTable,
  hash: string,
  credential: SessionCredential,
  nowMs = 0,
): string {
  table.add(newSession({ hash, credential }, nowMs));
  return hash;
}

t.test("a session lasts twelve hours, or an hour without use, or as long as its JWT", async (t) => {
  const table = new SessionTable();
  opened(table, "idle", admin);
  t.ok(table.use("idle", sessionIdleMs - 1));
  t.ok(table.use("idle", 2 * sessionIdleMs - 2), "each use begins the hour anew");
  t.equal(table.use("idle", 3 * sessionIdleMs - 2), null);
  opened(table, "used", admin);
  for (let now = 0; now < sessionMs; now += sessionIdleMs / 2) t.ok(table.use("used", now));
  t.equal(table.use("used", sessionMs), null);
  const jwt = { kind: "jwt", mark: "m", issuer: "i", userPath: "/a", names: [] } as const;
  opened(table, "jwt", { ...jwt, expiresAtMs: 1000 });
  t.ok(table.use("jwt", 999));
  t.equal(table.use("jwt", 1000), null);
  t.equal(table.size, 0, "what has ended is forgotten");
});

t.test("a holder's oldest session makes room for its newest", async (t) => {
  const table = new SessionTable();
  opened(table, "other", byKey("other"));
  for (let i = 0; i <= sessionsPerHolderMax; i++) opened(table, `s${i}`, byKey("a"));
  t.equal(table.use("s0", 1), null);
  for (const hash of ["s1", `s${sessionsPerHolderMax}`, "other"]) t.ok(table.use(hash, 1), hash);
  t.equal(table.size, sessionsPerHolderMax + 1);
  table.close("s1");
  table.close("never there");
  opened(table, "again", byKey("a"));
  t.ok(table.use("s2", 1), "one that was closed has left its room");
  table.close("s4");
  opened(table, "once more", byKey("a"));
  t.ok(table.use("s2", 1), "one in the middle too");
  opened(table, "too many", byKey("a"));
  t.equal(table.use("s2", 1), null);
  t.equal(table.size, sessionsPerHolderMax + 1);
});

t.test(
  "whose sessions they are: the master key's, a key's, or those of a path's JWTs",
  async (t) => {
    const jwt = (userPath: string): SessionCredential => ({
      ...{ kind: "jwt", mark: "m", issuer: "i", names: [], expiresAtMs: 1e9 },
      userPath,
    });
    const holders = [admin, byKey("a"), byKey("b"), jwt("/a"), jwt("/b")];
    const table = new SessionTable();
    for (const [i, holder] of holders.entries()) opened(table, `first ${i}`, holder);
    for (const [i, holder] of holders.entries()) {
      for (let n = 1; n < sessionsPerHolderMax; n++) opened(table, `${i} ${n}`, holder);
      t.ok(table.find(`first ${i}`), "as many as there may be");
      opened(table, `${i} more`, holder);
      t.equal(table.find(`first ${i}`), undefined);
    }
    t.equal(table.size, holders.length * sessionsPerHolderMax);
  },
);

t.test("a session begins now, and other hosts don't know of it yet", async (t) => {
  t.same(newSession({ hash: "h", credential: admin }, 5), {
    hash: "h",
    credential: admin,
    openedAtMs: 5,
    expiresAtMs: 5 + sessionMs,
    seenAtMs: 5,
    isShared: false,
  });
});

t.test("the session that was idle longest makes room, but no operator's for a key's", async (t) => {
  const table = new SessionTable();
  opened(table, "admin", admin);
  for (let i = 1; i < sessionsMax; i++) opened(table, `s${i}`, byKey(`key ${i}`));
  table.use("s1", 1);
  opened(table, "one more", byKey("x"));
  t.equal(table.size, sessionsMax);
  t.equal(table.use("s2", 2), null);
  for (const hash of ["s1", "admin", "one more"]) t.ok(table.use(hash, 2), hash);
});

t.test("of a holder whose sessions have all ended nothing stays", async (t) => {
  const table = new SessionTable();
  const ends: Readonly<Record<string, (hash: string) => void>> = {
    closed: (hash) => table.close(hash),
    idle: (hash) => void table.use(hash, sessionIdleMs),
    replaced: (hash) => void opened(table, hash, admin),
  };
  opened(table, "admin", admin);
  for (const [how, end] of Object.entries(ends)) {
    opened(table, "a", byKey("k"));
    opened(table, "b", byKey("k"));
    t.equal(table.holderCount, 2);
    end("a");
    t.equal(table.holderCount, 2, `${how}, with another one left`);
    end("b");
    t.equal(table.holderCount, 1, how);
  }
  for (let i = 0; i < 3 * sessionsMax; i++) opened(table, `s${i}`, byKey(`key ${i}`));
  t.equal(table.size, sessionsMax);
  t.ok(table.holderCount <= sessionsMax, "one that made room left its holder's place");
});

t.test("the same token twice is one session", async (t) => {
  const table = new SessionTable();
  opened(table, "a", byKey("k"));
  opened(table, "a", admin);
  t.equal(table.size, 1);
  t.equal(table.use("a", 1)?.credential.kind, "admin");
  for (let i = 0; i <= sessionsPerHolderMax; i++) opened(table, `s${i}`, byKey("k"));
  t.ok(table.use("a", 1), "it is its holder's no more");
});
