import fc from "fast-check";
import t from "tap";
import { identifyCaller } from "../../../../limiterd/keys/identify-caller.js";
import { namesOfToken } from "../../../../shared/domain/jwt-denial.js";
import { hashKey, makeManagedKey } from "../../../../shared/domain/make-managed-key.js";
import type { SessionAnswer } from "../../../../shared/wire/dashboard-session.js";
import { ask, refusal, startDaemon, type TestDaemon } from "../../in-memory-daemon.js";

const hash = hashKey("a token");
const mark = hashKey("a mark");

async function issued(daemon: TestDaemon, key: object = {}): Promise<string> {
  const made = makeManagedKey();
  await ask(daemon, "keys.issue", {
    key_hash: made.hash,
    redacted_value: made.redacted,
    key: { user_path: "/team", ...key },
  });
  return made.hash;
}

const open = (daemon: TestDaemon, body: object): Promise<unknown> =>
  ask(daemon, "sessions.open", { session_hash: hash, ...body });
const check = (daemon: TestDaemon, session_hash = hash): Promise<unknown> =>
  ask(daemon, "sessions.check", { session_hash });

t.test("a session tells whose it is, until it is closed", async (t) => {
  const daemon = startDaemon([]);
  const keyHash = await issued(daemon, { name: "CI", labels: ["ci"] });
  const session = {
    kind: "key",
    userPath: "/team",
    keyId: "key_1",
    keyName: "CI",
    labels: ["ci"],
    openedAtMs: daemon.nowMs,
    expiresAtMs: daemon.nowMs + 12 * 3_600_000,
  };
  t.same(await check(daemon), { kind: "none" });
  t.same(await open(daemon, { key_hash: keyHash }), session);
  t.same(await check(daemon), session);
  t.same(await check(daemon, hashKey("another")), { kind: "none" });
  await ask(daemon, "sessions.close", { session_hash: hash });
  t.same(await check(daemon), { kind: "none" });
  t.match(await ask(daemon, "sessions.open-admin", { session_hash: hash, mark }), {
    kind: "admin",
    mark,
  });
  t.same(
    await check(startDaemon([], { store: daemon.store.crash() })),
    { kind: "none" },
    "none survives the daemon",
  );
});

t.test("an unaccepted key opens no session, and ends no other session", async (t) => {
  const daemon = startDaemon([]);
  const keyHash = await issued(daemon);
  t.same(await open(daemon, { key_hash: hashKey("unknown") }), { kind: "denied", ended: null });
  await ask(daemon, "keys.deactivate", { id: "key_1" });
  t.same(await open(daemon, { key_hash: keyHash }), {
    kind: "denied",
    ended: { keyId: "key_1", expiredAtMs: null },
  });
  t.equal(daemon.state.sessions.size, 0);
  t.equal(daemon.state.counts.denied, 2);
  t.same(await check(daemon), { kind: "none" });
});

t.test("a JWT's session ends with a denial, by whichever of its names", async (t) => {
  const claims = { iss: "https://issuer.example", jti: "j", sub: "ann" };
  for (const jwt of [
    { jti: "j" },
    { sub: "ann" },
    { sub: "ann", issuer: claims.iss },
    { jti: "j", issuer: claims.iss },
  ]) {
    const daemon = startDaemon([]);
    await open(daemon, {
      mark,
      issuer: claims.iss,
      user_path: "/team/ann",
      names: namesOfToken(claims),
      expires_at_ms: daemon.nowMs + 60_000,
    });
    t.match(await check(daemon), { kind: "jwt", userPath: "/team/ann", mark });
    await ask(daemon, "jwts.deny", { jwt: { sub: "somebody else" } });
    t.match(await check(daemon), { kind: "jwt" });
    await ask(daemon, "jwts.deny", { jwt });
    t.same(await check(daemon), { kind: "none" });
    await ask(daemon, "jwts.allow", jwt);
    t.same(await check(daemon), { kind: "none" }, "it has ended for good");
  }
});

t.test("a body that isn't right is refused by the name of its field", async (t) => {
  const daemon = startDaemon([]);
  const jwt = { mark, issuer: "i", user_path: "/a", names: [], expires_at_ms: 1 };
  const table: readonly (readonly ["open" | "open-admin" | "check" | "close", unknown, string])[] =
    [
      ["open", null, "session_hash"],
      ["open", { session_hash: "short", key_hash: hash }, "session_hash"],
      ["open", { session_hash: hash, key_hash: 1 }, "key_hash"],
      ["open", { session_hash: hash }, "mark"],
      ["open", { session_hash: hash, ...jwt, issuer: "" }, "issuer"],
      ["open", { session_hash: hash, ...jwt, user_path: "a" }, "user_path"],
      ["open", { session_hash: hash, ...jwt, names: Array(7).fill("a") }, "names"],
      ["open", { session_hash: hash, ...jwt, names: ["x".repeat(2049)] }, "names"],
      ["open", { session_hash: hash, ...jwt, expires_at_ms: 0.5 }, "expires_at_ms"],
      ["open-admin", { session_hash: hash }, "mark"],
      ["open-admin", { session_hash: hash, mark: "x" }, "mark"],
      ["check", {}, "session_hash"],
      ["close", { session_hash: 5 }, "session_hash"],
    ];
  for (const [op, body, param] of table)
    t.match(
      await refusal(ask(daemon, `sessions.${op}`, body)),
      { status: 400, param },
      `${op} ${JSON.stringify(body)?.slice(0, 60)}`,
    );
  t.equal(daemon.state.sessions.size, 0);
});

/** What may happen to keys, and how much later. */
const event = fc.record({
  what: fc.constantFrom("deactivate", "delete", "rotate", "rotate at once", "wait", "sign in"),
  id: fc.constantFrom("key_1", "key_2"),
  afterMs: fc.integer({ min: 0, max: 3_600_000 }),
});

t.test("no session outlives its key, whatever happens to keys", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 20 }), async (events) => {
      const daemon = startDaemon([]);
      const expires = new Date(daemon.nowMs + 4 * 3_600_000).toISOString();
      const secrets = [await issued(daemon), await issued(daemon, { expires_at: expires })];
      const sessions: { readonly hash: string; readonly keyHash: string }[] = [];
      for (const { what, id, afterMs } of events) {
        daemon.nowMs += afterMs;
        if (what === "deactivate") await ask(daemon, "keys.deactivate", { id }).catch(() => {});
        if (what === "delete") await ask(daemon, "keys.delete", { id }).catch(() => {});
        if (what.startsWith("rotate")) {
          const made = makeManagedKey();
          secrets.push(made.hash);
          await ask(daemon, "keys.rotate", {
            id,
            new_hash: made.hash,
            redacted_value: made.redacted,
            rotation: { overlap_seconds: what === "rotate" ? 1800 : 0 },
          }).catch(() => {});
        }
        if (what === "sign in")
          for (const keyHash of secrets) {
            const session = { hash: hashKey(`${sessions.length}`), keyHash };
            sessions.push(session);
            await ask(daemon, "sessions.open", { session_hash: session.hash, key_hash: keyHash });
          }
        for (const session of sessions) {
          const { kind } = (await check(daemon, session.hash)) as SessionAnswer;
          const claimed = { userPath: "/", credential: session.keyHash };
          const caller = identifyCaller(daemon.state.keys, claimed, daemon.nowMs);
          if (kind !== "none" && caller.kind === "denied")
            throw new Error(`a session of a key that is refused: ${kind}`);
        }
      }
    }),
    { numRuns: 60 },
  );
});
