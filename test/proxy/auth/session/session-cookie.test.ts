import fc from "fast-check";
import t from "tap";
import {
  crossSiteProblem,
  endedCookie,
  readSessionCookie,
  sessionCookie,
} from "../../../../proxy/auth/session/session-cookie.js";
import { FakeExchange } from "../../fake-exchange.js";

const token = `${"A".repeat(42)}b`;
const other = "C".repeat(43);
const plain = { token, isSecure: false };
const secure = { token, isSecure: true };

t.test("the session's cookie is found among others", async (t) => {
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

t.test("the cookie that is sent is the one that is read", async (t) => {
  t.equal(sessionCookie(plain), `sluice=${token}; Path=/; HttpOnly; SameSite=Strict`);
  t.equal(
    sessionCookie(secure),
    `__Host-sluice=${token}; Path=/; HttpOnly; SameSite=Strict; Secure`,
  );
  t.match(endedCookie(false), /^sluice=; .*; Max-Age=0$/);
  t.match(endedCookie(true), /^__Host-sluice=; .*; Secure; Max-Age=0$/);
  for (const cookie of [plain, secure])
    t.same(readSessionCookie(sessionCookie(cookie).split(";")[0], cookie.isSecure), cookie);
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

const host = "sluice.example:8080";
const own = "http://sluice.example:8080";
const json = "application/json";

type Headers = Readonly<Record<string, string>>;

function problem(method: string, headers: Headers): string | null {
  const flat = Object.entries({ host, ...headers }).flat();
  return crossSiteProblem(new FakeExchange({ method, headers: flat }))?.message ?? null;
}

const fetched = { "sec-fetch-site": "same-origin", origin: own };

t.test("the gateway's own page reads and writes", async (t) => {
  const table: readonly (readonly [string, Headers])[] = [
    ["GET", {}],
    ["GET", { "sec-fetch-site": "same-origin" }],
    ["GET", { "sec-fetch-site": "none" }],
    ["HEAD", { "sec-fetch-site": "same-origin" }],
    ["POST", { ...fetched, "content-type": json, "content-length": "9" }],
    ["PUT", { origin: own, "content-type": `${json}; charset=utf-8`, "content-length": "9" }],
    ["DELETE", { origin: `https://${host}`, "content-type": "APPLICATION/JSON" }],
    ["POST", { ...fetched, "content-length": "0" }],
    ["DELETE", fetched],
  ];
  for (const [method, headers] of table)
    t.equal(problem(method, headers), null, `${method} ${JSON.stringify(headers)}`);
});

t.test("whatever else a browser may send is refused", async (t) => {
  const body = { "content-type": json, "content-length": "9" };
  const table: readonly (readonly [string, Headers])[] = [
    // A page of another site, by fetch, in a frame, as an image, by EventSource.
    ["GET", { "sec-fetch-site": "cross-site" }],
    ["GET", { "sec-fetch-site": "cross-site", accept: "text/event-stream" }],
    ["GET", { "sec-fetch-site": "same-site" }],
    ["GET", { "sec-fetch-site": "" }],
    ["GET", { origin: "https://evil.example" }],
    ["GET", { origin: "null" }],
    // Another port or scheme of this host.
    ["POST", { ...body, origin: "http://sluice.example:3000" }],
    ["POST", { ...body, origin: "http://sluice.example" }],
    ["POST", { ...body, "sec-fetch-site": "same-site", origin: own }],
    ["POST", { ...body, "sec-fetch-site": "cross-site", origin: own }],
    ["POST", { ...body, "sec-fetch-site": "none" }],
    ["POST", { ...body, origin: "" }],
    ["POST", { ...body, origin: `${own}.evil.example` }],
    ["POST", { ...body, origin: `ftp://${host}` }],
    // A form has an Origin or nothing, and never JSON.
    ["POST", { ...fetched, "content-type": "text/plain", "content-length": "9" }],
    [
      "POST",
      { ...fetched, "content-type": "application/x-www-form-urlencoded", "content-length": "9" },
    ],
    ["POST", { ...fetched, "content-length": "9" }],
    ["POST", { ...fetched, "transfer-encoding": "chunked" }],
    ["POST", { ...fetched, "content-type": "application/jsonx", "content-length": "9" }],
    ["POST", { ...fetched, "content-type": "text/plain; application/json", "content-length": "9" }],
    ["POST", body],
    ["DELETE", {}],
    ["PUT", { ...body, origin: "http://" }],
  ];
  for (const [method, headers] of table)
    t.type(problem(method, headers), "string", `${method} ${JSON.stringify(headers)}`);
  const hostless = new FakeExchange({
    method: "POST",
    headers: ["origin", "http://undefined", "content-type", json],
  });
  t.match(crossSiteProblem(hostless), { status: 403, type: "permission_error" });
});
