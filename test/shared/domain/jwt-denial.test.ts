import t from "tap";
import {
  jwtNameKey,
  namesOfToken,
  parseJwtDenial,
  parseJwtName,
} from "../../../shared/domain/jwt-denial.js";

const nowMs = Date.parse("2026-03-10T12:00:00Z");
const long = "x".repeat(256);

t.test("the body of a denial names one claim, its issuer if need be, and until when", async (t) => {
  for (const [body, value] of [
    [{ jti: "a" }, { claim: "jti", value: "a", issuer: null, expiresAtMs: null }],
    [
      { sub: " a ", issuer: "https://issuer" },
      { claim: "sub", value: " a ", issuer: "https://issuer", expiresAtMs: null },
    ],
    [
      { sub: long, expires_at: null },
      { claim: "sub", value: long, issuer: null, expiresAtMs: null },
    ],
    [
      { jti: "a", expires_at: "2026-03-10T12:00:01Z" },
      { claim: "jti", value: "a", issuer: null, expiresAtMs: nowMs + 1000 },
    ],
  ] as const)
    t.same(parseJwtDenial(body, nowMs), { ok: true, value });
});

t.test("a denial that says anything else is refused, with the field that is wrong", async (t) => {
  for (const [body, param, message] of [
    [null, "body", "the body must be a JSON object, not null"],
    [["jti"], "body", /must be a JSON object/],
    [{}, "jti", "exactly one of jti and sub is required"],
    [{ jti: "a", sub: "b" }, "jti", "exactly one of jti and sub is required"],
    [{ jti: null, sub: "a" }, "jti", "jti must have a value, or be left out, not null"],
    [{ jti: "" }, "jti", /must be a text that isn't empty/],
    [{ sub: 5 }, "sub", "sub must be a text that isn't empty, not 5"],
    [{ jti: `${long}x` }, "jti", "jti must be at most 256 bytes, not 257"],
    [{ jti: "a\u0000" }, "jti", /must not hold control characters/],
    [{ jti: "a", issuer: "" }, "issuer", /issuer must be a text that isn't empty/],
    [{ jti: "a", issuer: 7 }, "issuer", /issuer must be a text that isn't empty, not 7/],
    [{ jti: "a", iss: "b" }, "iss", "unknown field iss: expected jti, sub, issuer, expires_at"],
    [
      { jti: "a", expires_at: "2026-03-10T12:00:00Z" },
      "expires_at",
      /must be an RFC 3339 .* future/,
    ],
    [{ jti: "a", expires_at: "soon" }, "expires_at", /must be an RFC 3339/],
    [{ jti: "a", expires_at: 5 }, "expires_at", /must be an RFC 3339 .*, not 5/],
  ] as const)
    t.match(parseJwtDenial(body, nowMs), { ok: false, failure: { param, message } });
});

t.test("a name alone takes no moment", async (t) => {
  t.same(parseJwtName({ sub: "a", issuer: "i" }), {
    ok: true,
    value: { claim: "sub", value: "a", issuer: "i" },
  });
  t.match(parseJwtName({ jti: "a", expires_at: null }), {
    ok: false,
    failure: {
      param: "expires_at",
      message: "unknown field expires_at: expected jti, sub, issuer",
    },
  });
});

t.test("a token is looked up by each of its claims, of any issuer and of its own", async (t) => {
  const any = jwtNameKey({ claim: "jti", value: "a", issuer: null });
  const own = jwtNameKey({ claim: "jti", value: "a", issuer: "i" });
  const sub = jwtNameKey({ claim: "sub", value: "a", issuer: null });
  t.equal(new Set([any, own, sub]).size, 3);
  t.same(namesOfToken({ jti: "a", iss: "i" }), [any, own]);
  t.same(namesOfToken({ jti: "a", sub: "a", iss: 5 }), [any, sub]);
  t.same(namesOfToken({ jti: 5, exp: 1 }), []);
});
