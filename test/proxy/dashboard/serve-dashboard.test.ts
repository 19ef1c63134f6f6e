/** The answers below /dashboard: what browsers may keep, what they are told, what isn't there. */
import t from "tap";
import { indexPage, pageHeaders } from "../../../proxy/dashboard/page-head.js";
import { serveDashboard } from "../../../proxy/dashboard/serve-dashboard.js";
import { chosenCoding, type KeptFile } from "../../../proxy/http/reply-file.js";
import { FakeExchange } from "../fake-exchange.js";

const fileOf = (text: string, contentType: string): KeptFile => ({
  contentType,
  etag: `"${text}"`,
  bytes: async (coding) => Buffer.from(`${coding}:${text}`),
});

const bundle = {
  files: new Map([["main-AB12.js", fileOf("script", "text/javascript; charset=utf-8")]]),
  page: fileOf("page", "text/html; charset=utf-8"),
  icon: fileOf("icon", "image/svg+xml"),
};

async function get(path: string, headers: readonly string[] = [], method = "GET") {
  const exchange = new FakeExchange({ method, path, headers });
  const status = await serveDashboard(async () => bundle, exchange);
  t.equal(status, exchange.status, `${method} ${path}: the status is what was sent`);
  return exchange;
}

t.test("an asset is kept for ever, the page is asked for again each time", async (t) => {
  const asset = await get("/dashboard/assets/main-AB12.js");
  t.equal(asset.body.toString(), "identity:script");
  t.match(asset.sent("cache-control"), /immutable/);
  t.equal(asset.sent("content-type"), "text/javascript; charset=utf-8");
  for (const path of [
    "/dashboard/",
    "/dashboard/limits",
    "/dashboard/limits/x",
    "/dashboard/a.b",
  ]) {
    const page = await get(path);
    t.equal(page.body.toString(), "identity:page", path);
    t.equal(page.sent("cache-control"), "no-cache", path);
  }
  t.equal((await get("/dashboard/icon.svg")).sent("content-type"), "image/svg+xml");
});

t.test("the gateway's address leads to the dashboard", async (t) => {
  for (const [path, status] of [
    ["/", 302],
    ["/dashboard", 308],
  ] as const) {
    const answer = await get(path);
    t.same([answer.status, answer.sent("location")], [status, "/dashboard/"], path);
  }
});

t.test("an asset that isn't there is a 404, and never the page in its place", async (t) => {
  for (const name of ["main-OLD.js", "", "../main-AB12.js", "main-AB12.js/", "__proto__"]) {
    const answer = await get(`/dashboard/assets/${name}`);
    t.equal(answer.status, 404, name);
  }
});

t.test("every answer says what the browser may do with it", async (t) => {
  for (const path of [
    "/dashboard",
    "/dashboard/",
    "/dashboard/assets/main-AB12.js",
    "/dashboard/assets/none.js",
  ]) {
    const answer = await get(path);
    for (let i = 0; i < pageHeaders.length; i += 2)
      t.equal(answer.sent(pageHeaders[i]!), pageHeaders[i + 1], `${path}: ${pageHeaders[i]}`);
  }
  const policy = pageHeaders[pageHeaders.indexOf("content-security-policy") + 1]!;
  t.notMatch(policy, /unsafe|\*|https?:|data:/);
  for (const part of ["default-src 'none'", "frame-ancestors 'none'", "trusted-types 'none'"])
    t.match(policy, part);
});

t.test("a version that the browser has isn't sent again", async (t) => {
  for (const has of ['"page"', 'W/"page"', '"old", "page"', "*"]) {
    const answer = await get("/dashboard/", ["If-None-Match", has]);
    t.equal(answer.status, 304, has);
    t.equal(answer.body.length, 0, has);
    t.equal(answer.sent("etag"), '"page"', has);
  }
  t.equal((await get("/dashboard/", ["If-None-Match", '"old"'])).status, 200);
});

t.test("a HEAD has the head of the GET and no body", async (t) => {
  const answer = await get("/dashboard/", [], "HEAD");
  t.equal(answer.status, 200);
  t.equal(answer.sent("content-length"), String("identity:page".length));
  t.equal(answer.body.length, 0);
});

t.test("it is compressed as the browser takes it", async (t) => {
  const table = [
    [undefined, "identity"],
    ["gzip, deflate, br, zstd", "br"],
    ["gzip;q=1.0, br;q=0", "gzip"],
    ["GZIP", "gzip"],
    ["br; q=0.0, gzip; q=0", "identity"],
    ["*", "br"],
    ["*;q=0", "identity"],
    ["gzip;q=1.0, br;q=0.5", "gzip"],
    ["gzip;q=0.5, br;q=0.5", "br"],
    ["gzip;q=0.001", "gzip"],
    ["gzip;q=0.5, identity", "identity"],
    ["identity;q=0.5, *;q=0.1", "identity"],
    ["br;q=0, *", "gzip"],
    ["identity;q=0, gzip", "gzip"],
    ["identity;q=0", "identity"],
    ["gzip; q = 0.2, br ;Q=0.1", "gzip"],
    ["br;q=2, gzip;q=x", "identity"],
    ["x-gzip", "gzip"],
    [", ,gzip,", "gzip"],
    ["zstd, deflate", "identity"],
  ] as const;
  for (const [accepts, coding] of table)
    t.equal(chosenCoding(accepts), coding, accepts ?? "nothing");
  const answer = await get("/dashboard/", ["Accept-Encoding", "gzip, br"]);
  t.equal(answer.sent("content-encoding"), "br");
  t.equal(answer.body.toString(), "br:page");
  t.equal(answer.sent("vary"), "accept-encoding");
});

t.test(
  "without its folder it says how it is made, and the short address leads to it",
  async (t) => {
    const exchange = new FakeExchange({ method: "GET", path: "/dashboard/" });
    t.equal(await serveDashboard(async () => null, exchange), 503);
    t.match(exchange.body.toString(), /npm run build/);
    const short = await get("/dashboard");
    t.equal(short.status, 308);
    t.equal(short.sent("location"), "/dashboard/");
  },
);

t.test("the page holds no script and no style of its own", async (t) => {
  const page = indexPage({ script: "main-A.js", style: "main-B.css", theme: "theme-C.js" });
  t.notMatch(page, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:/);
  for (const name of ["main-A.js", "main-B.css", "theme-C.js"])
    t.match(page, `/dashboard/assets/${name}`);
});
