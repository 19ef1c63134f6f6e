import t from "tap";
import { JwtDenials } from "../../../limiterd/keys/jwt-denials.js";
import { deniedJwtsMax, deniedJwtsPerPage, periodSecondsMax } from "../../../shared/bounds.js";
import { jwtNameKey } from "../../../shared/domain/jwt-denial.js";
import { wireVersion } from "../../../shared/version.js";
import type { DaemonEvent, JwtChange } from "../../../shared/wire/message-from-daemon.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { exactly } from "../../support/patterns/exactly.js";
import { wind } from "../clockwork.js";
import { ask, refusal, startDaemon, type TestPeer } from "../in-memory-daemon.js";

const jwtsOf = ({ received }: TestPeer): readonly JwtChange[] =>
  received.flatMap((message) =>
    message.kind === "event" && message.name === "jwts_denied"
      ? [(message as Extract<DaemonEvent, { name: "jwts_denied" }>).value]
      : [],
  );

t.test(
  "a denial reaches every proxy before it is answered, is listed, survives a crash and can be taken back",
  async (t) => {
    const daemon = startDaemon([]);
    const proxies = [daemon.proxy("p1"), daemon.proxy("p2")];
    const answered = ask(daemon, "jwts.deny", { jwt: { jti: "a", issuer: "x" } });
    const denied = { claim: "jti", value: "a", issuer: "x", expiresAtMs: null };
    for (const peer of proxies)
      t.match(jwtsOf(peer), exactly([{ denied: [denied], complete: false }]));
    const listed = {
      jti: "a",
      sub: null,
      issuer: "x",
      denied_at: "2026-01-01T00:00:00Z",
      expires_at: null,
    };
    t.same(await answered, listed);
    await ask(daemon, "jwts.deny", { jwt: { sub: "ann" }, expires_in_seconds: 60 });
    await ask(daemon, "jwts.deny", { jwt: { sub: "ann", expires_at: "2026-01-01T00:02:00Z" } });
    for (const life of [daemon, startDaemon([], { store: daemon.store.crash() })])
      t.match(
        await ask(life, "jwts.list", {}),
        exactly({
          denied_jwts: [listed, { jti: null, sub: "ann", expires_at: "2026-01-01T00:02:00Z" }],
          next: null,
        }),
      );
    t.match(daemon.proxy("p3").received[0], { kind: "welcome", deniedJwts: 2 });
    t.match(jwtsOf(daemon.proxy("p4")), exactly([{ denied: { length: 2 }, complete: true }]));
    await ask(daemon, "jwts.allow", { jti: "a", issuer: "x" });
    t.match(
      jwtsOf(proxies[0]!).at(-1),
      exactly({ denied: { length: 0 }, allowed: [{ value: "a" }] }),
    );
    t.match(await refusal(ask(daemon, "jwts.allow", { jti: "a", issuer: "x" })), {
      status: 404,
      param: "jti",
    });
    const reborn = startDaemon([], { store: daemon.store.crash() });
    t.equal(reborn.state.denials.size, 1);
  },
);

t.test("an expired denial ends without a command", async (t) => {
  const daemon = startDaemon([]);
  const { ring } = wind(daemon, 0);
  const peer = daemon.proxy("p1");
  await ask(daemon, "jwts.deny", { jwt: { jti: "a" }, expires_in_seconds: 2 });
  await ask(daemon, "jwts.deny", { jwt: { jti: "b" } });
  daemon.nowMs += 1999;
  ring(1000);
  t.equal(daemon.state.denials.size, 2);
  daemon.nowMs += 1;
  ring(1000);
  await daemon.commit();
  t.match(jwtsOf(peer).at(-1), exactly({ allowed: [{ value: "a" }] }));
  t.same(
    [...daemon.store.entries("denials")].map(({ value }) => value[1]),
    ["b"],
  );
});

t.test("what doesn't name a token is refused, and so is one too many", async (t) => {
  const daemon = startDaemon([]);
  for (const [jwt, param] of [
    [null, "body"],
    [{}, "jti"],
    [{ jti: "a", sub: "b" }, "jti"],
    [{ jti: "" }, "jti"],
    [{ jti: 5 }, "jti"],
    [{ sub: "a\u0000" }, "sub"],
    [{ sub: "x".repeat(257) }, "sub"],
    [{ jti: "a", issuer: 5 }, "issuer"],
    [{ jti: "a", exp: 5 }, "exp"],
    [{ jti: "a", expires_at: "soon" }, "expires_at"],
    [{ jti: "a", expires_at: "2025-01-01T00:00:00Z" }, "expires_at"],
  ] as const)
    t.match(await refusal(ask(daemon, "jwts.deny", { jwt })), { status: 400, param });
  for (const expires_in_seconds of [0, 1.5, "5", periodSecondsMax + 1])
    t.match(await refusal(ask(daemon, "jwts.deny", { jwt: { jti: "a" }, expires_in_seconds })), {
      param: "expires_in_seconds",
    });
  for (const [expires_in_seconds, expires_at] of [
    [1, "2026-01-01T00:00:01Z"],
    [periodSecondsMax, "2125-12-08T00:00:00Z"],
  ] as const)
    t.match(await ask(daemon, "jwts.deny", { jwt: { jti: "a" }, expires_in_seconds }), {
      expires_at,
    });
  await ask(daemon, "jwts.allow", { jti: "a" });
  t.match(await refusal(ask(daemon, "jwts.list", { after: "x" })), { param: "after" });
  const { denials } = daemon.state;
  const denial = { claim: "jti", issuer: null, expiresAtMs: null, deniedAtMs: 0 } as const;
  for (let i = 0; i < deniedJwtsMax; i++) denials.put({ ...denial, value: `${i}` });
  t.match(await refusal(ask(daemon, "jwts.deny", { jwt: { jti: "a" } })), { status: 400 });
  t.match(await ask(daemon, "jwts.deny", { jwt: { jti: "5" } }), { jti: "5" }, "a known one may");
  const parts = jwtsOf(daemon.proxy("p1"));
  t.equal(parts.length, deniedJwtsMax / deniedJwtsPerPage);
  t.same(parts.map(({ complete }) => complete).lastIndexOf(false), parts.length - 2);
  const listed: unknown[] = [];
  for (let after: unknown = null, pages = 0; pages === 0 || after !== null; pages++) {
    t.ok(pages < deniedJwtsMax / deniedJwtsPerPage, `page ${pages}`);
    const page = await ask(daemon, "jwts.list", { after });
    listed.push(...(page["denied_jwts"] as { jti: string }[]).map(({ jti }) => jti));
    after = page["next"];
  }
  t.equal(new Set(listed).size, deniedJwtsMax);
  t.equal(listed.length, deniedJwtsMax);
});

t.test("an entry of the store that isn't a denial stops the start", async (t) => {
  const good = ["jti", "a", null, 1, null];
  for (const value of [
    good,
    ["jti", "a", "x", 1, 5],
    ["aud", "a", null, 1, null],
    ["jti", 5, null, 1, null],
    ["jti", "a", 5, 1, null],
    ["jti", "a", null, -1, null],
    ["jti", "a", null, 1, "x"],
  ]) {
    const store = createMemoryStore();
    await store.commit([{ table: "denials", key: "k", value }]);
    if (value === good || value[2] === "x") t.doesNotThrow(() => startDaemon([], { store }));
    else t.throws(() => startDaemon([], { store }), { name: "StoreUnreadableError" });
  }
});

t.test("the daemon sends denials to proxies, not to command lines", async (t) => {
  const daemon = startDaemon([]);
  await ask(daemon, "jwts.deny", { jwt: { sub: "ann" } });
  const peer = daemon.connect();
  peer.send({
    kind: "hello",
    id: 1,
    wireVersion,
    role: "cli",
    proxyId: "cli",
    leases: [],
    more: false,
  });
  t.equal(peer.received.length, 1, "the welcome");
  t.equal(jwtsOf(daemon.proxy("p1")).length, 1);
});

t.test("a token is denied until its denial expires; the last denial is listed last", async (t) => {
  const denials = new JwtDenials();
  const named = (value: string) => ({ claim: "jti", value, issuer: null }) as const;
  const deny = (value: string, expiresAtMs: number | null): void =>
    denials.put({ ...named(value), deniedAtMs: 0, expiresAtMs });
  deny("a", 5);
  deny("b", null);
  for (const [value, nowMs, denied] of [
    ["a", 4, true],
    ["a", 5, false],
    ["b", 1e15, true],
    ["c", 4, false],
  ] as const)
    t.equal(denials.denies(jwtNameKey(named(value)), nowMs), denied, `${value} at ${nowMs}`);
  t.same(
    [4, 5].map((nowMs) => denials.expired(nowMs).map(({ value }) => value)),
    [[], ["a"]],
  );
  deny("a", 9);
  t.same(
    [...denials.all()].map(({ value, expiresAtMs }) => [value, expiresAtMs]),
    [
      ["b", null],
      ["a", 9],
    ],
  );
});
