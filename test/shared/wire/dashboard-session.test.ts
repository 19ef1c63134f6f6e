import t from "tap";
import {
  nameCharsMax,
  parseAdminOpening,
  parseSessionHash,
  parseSessionOpening,
} from "../../../shared/wire/dashboard-session.js";

const hash = "h".repeat(43);
const mark = "m".repeat(43);
const longest = "n".repeat(nameCharsMax);
const ofJwt = {
  session_hash: hash,
  mark,
  issuer: "https://issuer",
  user_path: "/a/b",
  names: ["jti", "sub"],
  expires_at_ms: 1_767_225_600_000,
};

t.test("a session is opened by a key's hash, a JWT or the master key", async (t) => {
  const keyHash = "k".repeat(43);
  t.strictSame(parseSessionOpening({ session_hash: hash, key_hash: keyHash }), {
    ok: true,
    value: { hash, credential: { kind: "key", keyHash } },
  });
  const credential = {
    kind: "jwt",
    mark,
    issuer: "https://issuer",
    userPath: "/a/b",
    names: ["jti", "sub"],
    expiresAtMs: 1_767_225_600_000,
  };
  t.strictSame(parseSessionOpening(ofJwt), { ok: true, value: { hash, credential } });
  const names = Array(4).fill(longest);
  t.strictSame(parseSessionOpening({ ...ofJwt, issuer: longest, names, expires_at_ms: 0 }), {
    ok: true,
    value: { hash, credential: { ...credential, issuer: longest, names, expiresAtMs: 0 } },
  });
  t.strictSame(parseAdminOpening({ session_hash: hash, mark }), {
    ok: true,
    value: { hash, credential: { kind: "admin", mark } },
  });
  t.strictSame(parseSessionHash({ session_hash: hash }), { ok: true, value: hash });
});

t.test("what opens none is named by its field", async (t) => {
  const wrong = {
    session_hash: [undefined, null, 7, "", "h".repeat(42), "h".repeat(44), `${"h".repeat(42)}+`],
    key_hash: [null, 7, "k"],
    mark: [undefined, null, 7, "m"],
    issuer: [undefined, "", 7, `${longest}n`],
    user_path: [undefined, "", "a", "/a/", ["/a"]],
    names: [undefined, "jti", [""], [7], ["a", "b", "c", "d", "e", "f", "g"], [`${longest}n`]],
    expires_at_ms: [undefined, -1, 1.5, "0", Number.MAX_SAFE_INTEGER],
  };
  for (const [param, values] of Object.entries(wrong))
    for (const value of values) {
      if (param === "key_hash" && value === undefined) continue;
      const what = `${param} ${JSON.stringify(value)}`.slice(0, 50);
      const failed = { ok: false, failure: { status: 400, param } };
      t.match(parseSessionOpening({ ...ofJwt, [param]: value }), failed, what);
      if (param === "session_hash" || param === "mark")
        t.match(parseAdminOpening({ ...ofJwt, [param]: value }), failed, what);
      if (param === "session_hash")
        t.match(parseSessionHash({ session_hash: value }), failed, what);
    }
  for (const parse of [parseSessionOpening, parseAdminOpening, parseSessionHash])
    for (const body of [null, undefined, [], hash])
      t.match(parse(body), { ok: false, failure: { param: "session_hash" } });
});
