import fc from "fast-check";
import t from "tap";
import {
  endedCookie,
  readSessionCookie,
  sessionCookie,
} from "../../../../proxy/auth/session/session-cookie.js";

const token = `${"A".repeat(42)}b`;
const other = "C".repeat(43);
const plain = { token, secure: false };
const secure = { token, secure: true };

t.test("the session's cookie is found, whatever stands around it", async (t) => {
  const table: readonly (readonly [string, typeof plain | null])[] = [
    [`sluice=${token}`, plain],
    [`__Host-sluice=${token}`, secure],
    [`a=b; sluice=${token}; c=d`, plain],
    [`a=b;sluice=${token} `, plain],
    [`;;; =; = ; sluice=${token};`, plain],
    [`sluice=${other}; __Host-sluice=${token}`, secure],
    [`__Host-sluice=${token}; sluice=${other}; sluice=${other}`, secure],
    ["", null],
    ["sluice", null],
    ["sluice=", null],
    [`sluice="${token}"`, null],
    [`sluice=${token}x`, null],
    [`sluice=${token.slice(1)}`, null],
    [`sluice=${token.slice(1)}=`, null],
    [`Sluice=${token}`, null],
    [`sluice2=${token}`, null],
    [`__host-sluice=${token}`, null],
    [`__Secure-sluice=${token}`, null],
    [`a=sluice=${token}`, null],
    [`sluice=${token}, sluice=${token}`, null],
    [`sluice%3D${token}`, null],
    // Two of one name: another host has set one of them.
    [`sluice=${token}; sluice=${other}`, null],
    [`sluice=${token}; sluice=${token}`, null],
    [`__Host-sluice=${token}; __Host-sluice=${other}`, null],
    // A broken one doesn't make room for the weaker name.
    [`__Host-sluice=; sluice=${token}`, null],
    [`sluice=${token}; ${"x=y; ".repeat(300)}`, null],
    [`${"x".repeat(1e6)}; sluice=${token}`, plain],
    [`__proto__=${token}; constructor=${token}`, null],
  ];
  for (const [header, expected] of table)
    t.same(readSessionCookie(header, false), expected, header.slice(0, 80));
  t.equal(readSessionCookie(undefined, false), null);
});

t.test("over TLS the name counts that no other host can set", async (t) => {
  t.equal(readSessionCookie(`sluice=${token}`, true), null);
  t.same(readSessionCookie(`__Host-sluice=${token}; sluice=${other}`, true), secure);
});

t.test("what browsers are told is what is read again", async (t) => {
  t.equal(sessionCookie(plain), `sluice=${token}; Path=/; HttpOnly; SameSite=Strict`);
  t.equal(
    sessionCookie(secure),
    `__Host-sluice=${token}; Path=/; HttpOnly; SameSite=Strict; Secure`,
  );
  t.match(endedCookie(false), /^sluice=; .*; Max-Age=0$/);
  t.match(endedCookie(true), /^__Host-sluice=; .*; Secure; Max-Age=0$/);
  for (const cookie of [plain, secure])
    t.same(readSessionCookie(sessionCookie(cookie).split(";")[0], cookie.secure), cookie);
});

t.test("no header breaks it, and nothing but one token of the right form comes of it", async () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: "binary" }),
        fc
          .array(fc.constantFrom("sluice", "__Host-", "=", ";", " ", token, other, ",", '"'))
          .map((pieces) => pieces.join("")),
      ),
      fc.boolean(),
      (header, secureOnly) => {
        const cookie = readSessionCookie(header, secureOnly);
        return cookie === null || /^[\w-]{43}$/.test(cookie.token);
      },
    ),
  );
});
