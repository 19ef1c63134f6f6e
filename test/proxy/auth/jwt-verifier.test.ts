import t from "tap";
import type { Authentication } from "../../../proxy/auth/caller.js";
import {
  createJwtVerifier,
  type Judgement,
  type JwtIssuer,
  type JwtVerifier,
} from "../../../proxy/auth/jwt-verifier.js";
import { verifiedTokenMs, verifiedTokensMax } from "../../../shared/bounds.js";
import { exactly } from "../../support/patterns/exactly.js";

const tokenOf = (claims: object, mark = "x"): string =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${mark}`;

interface Case {
  readonly verifier: JwtVerifier;
  readonly denied: Set<unknown>;
  readonly judged: string[];
  nowMs: number;
}

function start(
  judgement: (token: string) => Judgement,
  issuers = ["a"],
  { models = null, modelsClaim = null }: Partial<Pick<JwtIssuer, "models" | "modelsClaim">> = {},
): Case {
  const judged: string[] = [];
  const denied = new Set<unknown>();
  const world = { nowMs: 1_000_000, judged, denied };
  const made = issuers.map(
    (issuer): JwtIssuer => ({
      issuer,
      userPath: "/u/{sub}",
      models,
      modelsClaim,
      judge(token) {
        judged.push(token);
        return Promise.resolve(judgement(token));
      },
    }),
  );
  return Object.assign(world, {
    verifier: createJwtVerifier(made, {
      nowMs: () => world.nowMs,
      isDenied: ({ sub }) => denied.has(sub),
      digest: (token) => `digest of ${token}`,
    }),
  });
}

const good = (exp: number): Judgement => ({ kind: "verified", claims: { sub: "ann", exp } });
const resultOf = (authentication: Authentication): string =>
  authentication.ok
    ? authentication.caller.userPath
    : `${authentication.failure.status} ${authentication.failure.message}`;

t.test("a verified token is a caller on its path, and is remembered for a minute", async (t) => {
  const world = start(() => good(9_999_999));
  const token = tokenOf({ iss: "a" });
  t.equal(resultOf(await world.verifier.verify(token)), "/u/ann");
  world.nowMs += verifiedTokenMs - 1;
  t.equal(resultOf(await world.verifier.verify(token)), "/u/ann");
  t.equal(world.judged.length, 1, "not judged again");
  world.nowMs += 1;
  t.equal(resultOf(await world.verifier.verify(token)), "/u/ann");
  t.equal(world.judged.length, 2);
});

t.test("a token is never remembered beyond its expiry", async (t) => {
  const world = start(() => good(1_010));
  const token = tokenOf({ iss: "a" });
  await world.verifier.verify(token);
  world.nowMs = 1_009_999;
  await world.verifier.verify(token);
  t.equal(world.judged.length, 1);
  world.nowMs = 1_010_000;
  await world.verifier.verify(token);
  t.equal(world.judged.length, 2);
});

t.test(
  "wrong tokens all get the same answer and aren't remembered; the log learns why",
  async (t) => {
    const wrong = start(() => ({ kind: "wrong", reason: "signature verification failed" }));
    for (const token of [tokenOf({ iss: "a" }), tokenOf({ iss: "a" })])
      t.equal(resultOf(await wrong.verifier.verify(token)), "401 authentication failed");
    t.equal(wrong.judged.length, 2);
    for (const token of [tokenOf({ iss: "b" }), tokenOf({}), "e30.e30.x", "a.b.c"])
      t.equal(resultOf(await wrong.verifier.verify(token)), "401 authentication failed");
    t.equal(wrong.judged.length, 2, "an unknown issuer isn't judged");
    const over = start(() => ({ kind: "wrong", reason: "exp", expiredAtMs: 5 }));
    t.match(await over.verifier.verify(tokenOf({ iss: "a" })), { ok: false, expiredAtMs: 5 });
    t.match(await wrong.verifier.verify(tokenOf({ iss: "a" })), {
      note: "JWT refused: signature verification failed",
    });
    t.match(await wrong.verifier.verify(tokenOf({ iss: "b" })), {
      note: "JWT refused: no configured issuer",
    });
    const noPath = start(() => ({ kind: "verified", claims: { exp: 9_999_999 } }));
    t.match(await noPath.verifier.verify(tokenOf({ iss: "a" })), {
      ok: false,
      failure: { status: 401, message: "authentication failed" },
      note: "JWT refused: its claims give no user path for /u/{sub}",
    });
  },
);

t.test(
  "an issuer with two audiences is tried for both; a missing key set is a 503 only if no other verifies",
  async (t) => {
    const both = start(
      (token) =>
        token.endsWith("x") && both.judged.length === 1
          ? { kind: "wrong", reason: "aud" }
          : good(9_999_999),
      ["a", "a"],
    );
    t.equal(resultOf(await both.verifier.verify(tokenOf({ iss: "a" }))), "/u/ann");
    t.equal(both.judged.length, 2);
    const away = start(() => ({ kind: "unavailable", reason: "no keys" }), ["a"]);
    t.match(await away.verifier.verify(tokenOf({ iss: "a" })), {
      ok: false,
      failure: { status: 503, type: "internal_error" },
      note: "no keys",
    });
    const half = start(
      () =>
        half.judged.length === 1 ? { kind: "unavailable", reason: "no keys" } : good(9_999_999),
      ["a", "a"],
    );
    t.equal(resultOf(await half.verifier.verify(tokenOf({ iss: "a" }))), "/u/ann");
  },
);

t.test("the memory of tokens is bounded: the least recently used one is dropped", async (t) => {
  const world = start(() => good(9_999_999));
  const token = (i: number): string => tokenOf({ iss: "a" }, `t${i}`);
  const isJudgedAgain = async (i: number): Promise<boolean> => {
    const before = world.judged.length;
    await world.verifier.verify(token(i));
    return world.judged.length > before;
  };
  for (let i = 0; i < verifiedTokensMax; i++) await world.verifier.verify(token(i));
  t.notOk(await isJudgedAgain(0), "used again, so it isn't the oldest");
  await world.verifier.verify(token(verifiedTokensMax));
  t.notOk(await isJudgedAgain(0));
  t.ok(await isJudgedAgain(1), "the second was");
});

t.test(
  "a denied token is refused from the next request on, remembered or not, until it is allowed",
  async (t) => {
    const world = start(() => good(9_999_999));
    const token = tokenOf({ iss: "a" });
    t.equal(resultOf(await world.verifier.verify(token)), "/u/ann");
    world.denied.add("ann");
    t.match(await world.verifier.verify(token), {
      ok: false,
      failure: { status: 401, message: "authentication failed" },
      note: "JWT refused: it is denied",
    });
    t.equal(
      resultOf(await world.verifier.verify(tokenOf({ iss: "a", x: 1 }))),
      "401 authentication failed",
    );
    world.denied.delete("ann");
    t.equal(resultOf(await world.verifier.verify(token)), "/u/ann");
    t.equal(world.judged.length, 2, "it stays remembered meanwhile");
  },
);

t.test("a token is for the models of its claim, as far as its issuer's allow them", async (t) => {
  const table: readonly (readonly [unknown, readonly string[] | null, unknown])[] = [
    [["gpt-4o", "Claude-*"], null, [["gpt-4o", "claude-*"]]],
    ["gpt-4o,claude-* llama", null, [["gpt-4o", "claude-*", "llama"]]],
    [["gpt-4o"], ["openai/*"], [["openai/*"], ["gpt-4o"]]],
    [[], null, [[]]],
    ["", null, [[]]],
    [undefined, null, "claim"],
    [undefined, ["openai/*"], "claim"],
    [null, null, "claim"],
    [7, null, "claim"],
    [{ a: 1 }, null, "claim"],
    [["a", 7], null, "claim"],
    [["a*b"], null, "claim"],
    [["x".repeat(300)], null, "claim"],
    [Array.from({ length: 65 }, (_, i) => `m${i}`), null, "claim"],
  ];
  for (const [claim, models, expected] of table) {
    const judgement: Judgement = {
      kind: "verified",
      claims: { sub: "ann", exp: 9_999_999, ...(claim === undefined ? {} : { mods: claim }) },
    };
    const world = start(() => judgement, ["a"], { models, modelsClaim: "mods" });
    const result = await world.verifier.verify(tokenOf({ iss: "a" }));
    if (expected === "claim")
      t.match(
        result,
        {
          ok: false,
          failure: { status: 401 },
          note: "JWT refused: its claim mods is no list of models",
        },
        JSON.stringify(claim),
      );
    else t.match(result, { ok: true, caller: { allowLists: expected } }, JSON.stringify(claim));
  }
  const ofIssuer = start(() => good(9_999_999), ["a"], { models: ["gpt-4o"] });
  t.match(
    await ofIssuer.verifier.verify(tokenOf({ iss: "a" })),
    exactly({
      caller: { allowLists: [["gpt-4o"]] },
    }),
  );
});
