import t from "tap";
import { webPageProblem } from "../../../proxy/auth/web-page.js";

const trusted = {
  hosts: new Set(["gateway.internal"]),
  origins: new Set(["https://app.example.com"]),
};
const problem = (headers: Readonly<Record<string, string>>): string | null => {
  const failure = webPageProblem({ header: (name) => headers[name] }, trusted);
  if (failure === null) return null;
  t.match(failure, { status: 403, type: "permission_error", code: null });
  return failure.message;
};

t.test("a host is an address, this machine, or listed; a rebound name isn't", async (t) => {
  for (const host of [
    "127.0.0.1:8080",
    "127.0.0.1",
    "localhost",
    "LOCALHOST:8080",
    "sluice.localhost:8080",
    "[::1]:8080",
    "[::ffff:127.0.0.1]",
    "10.1.2.3:8080",
    "gateway.internal",
    "Gateway.Internal:8080",
  ])
    t.equal(problem({ host }), null, host);
  t.equal(problem({}), null, "HTTP/1.0 without one");
  for (const host of [
    "evil.example",
    "evil.example:8080",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil.localhost.example",
    "1.2.3.4@evil.example",
    "gateway.internal.evil.example",
    "127.0.0.1, evil.example",
    "a b",
    "",
  ])
    t.match(problem({ host }), /server\.allowed_hosts/, host);
});

t.test("a page is refused unless it is the gateway's own, or listed", async (t) => {
  const host = "127.0.0.1:8080";
  const table: readonly (readonly [headers: Readonly<Record<string, string>>, ok: boolean])[] = [
    [{}, true],
    [{ origin: "http://127.0.0.1:8080" }, true],
    [{ origin: "https://127.0.0.1:8080", "sec-fetch-site": "same-origin" }, true],
    [{ origin: "https://app.example.com", "sec-fetch-site": "cross-site" }, true],
    [{ "sec-fetch-site": "none" }, true],
    [{ "sec-fetch-mode": "cors" }, true],
    [{ origin: "http://127.0.0.1:3000", "sec-fetch-site": "same-site" }, false],
    [{ origin: "http://localhost:8080" }, false],
    [{ origin: "https://evil.example" }, false],
    [{ origin: "https://app.example.com.evil.example" }, false],
    [{ origin: "null" }, false],
    [{ origin: "" }, false],
    [{ "sec-fetch-site": "cross-site" }, false],
    [{ "sec-fetch-site": "same-site" }, false],
    [{ "sec-fetch-site": "same-origin, cross-site" }, false],
    [{ "sec-fetch-site": "" }, false],
    [{ origin: "http://127.0.0.1:8080", "sec-fetch-site": "cross-site" }, false],
  ];
  for (const [headers, ok] of table)
    t.match(
      problem({ host, ...headers }),
      ok ? null : /server\.cors_origins/,
      JSON.stringify(headers),
    );
  t.match(
    problem({ host: "evil.example", origin: "https://app.example.com" }),
    /server\.allowed_hosts/,
    "a listed page, at a host that isn't",
  );
});
