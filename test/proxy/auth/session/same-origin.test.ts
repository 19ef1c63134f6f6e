import t from "tap";
import { crossSiteProblem } from "../../../../proxy/auth/session/same-origin.js";
import { FakeExchange } from "../../fake-exchange.js";

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
