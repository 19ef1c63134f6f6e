import t from "tap";
import { readToken } from "../../../../proxy/upstream/credentials/read-token.js";

const nowMs = Date.parse("2026-08-02T10:00:00Z");
const jwt = (claims: object): string =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.sig`;

t.test("a key is a text, or the token in the JSON that cloud tools print", async (t) => {
  const table: readonly (readonly [
    text: string,
    key: string | null,
    expiresInMs?: number | null,
  ])[] = [
    ["sk-1\n", "sk-1", null],
    ["", null],
    ["two words", null],
    ["zwei\u00e4", null],
    ['{"token":"t"}', "t", null],
    ['{"access_token":"t","expires_in":60}', "t", 60_000],
    ['{"accessToken":"t","expiresOn":"2026-08-02T10:01:00Z"}', "t", 60_000],
    ['{"token":"t","expires_at":1785664860}', "t", 60_000],
    ['{"token":"t","expires_at":"soon"}', "t", null],
    ['{"token":""}', null],
    ['{"token":7}', null],
    ["{broken", "{broken", null],
    [jwt({ exp: nowMs / 1000 + 90 }), jwt({ exp: nowMs / 1000 + 90 }), 90_000],
    [jwt({}), jwt({}), null],
    [`{"token":"${jwt({ exp: nowMs / 1000 + 90 })}"}`, jwt({ exp: nowMs / 1000 + 90 }), 90_000],
    ["a.b.c", "a.b.c", null],
  ];
  for (const [text, key, expiresInMs] of table)
    t.same(readToken(text, nowMs), key === null ? null : { key, expiresInMs }, text);
});
