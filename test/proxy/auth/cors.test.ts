import t from "tap";
import { corsHeaders, preflightHeaders } from "../../../proxy/auth/cors.js";
import { matchRoute } from "../../../proxy/http/match-route.js";
import { exactly } from "../../support/patterns/exactly.js";
import { FakeExchange } from "../fake-exchange.js";

const page = "https://app.example.com";
const origins = new Set([page]);

t.test("a listed page may read the answer and its headers; caches tell pages apart", async (t) => {
  const of = (origin?: string): readonly string[] =>
    corsHeaders(origins, { header: (name) => (name === "origin" ? origin : undefined) });
  const listed = of(page);
  t.same(listed.slice(0, 4), ["vary", "Origin", "access-control-allow-origin", page]);
  t.equal(listed[4], "access-control-expose-headers");
  for (const name of ["x-request-id", "retry-after", "x-ratelimit-remaining-tokens"])
    t.ok(listed[5]!.split(", ").includes(name), name);
  for (const origin of [undefined, "null", "https://evil.example", page.toUpperCase()])
    t.same(of(origin), ["vary", "Origin"], String(origin));
});

t.test("a preflight of a listed page is answered for each path that exists", async (t) => {
  const of = (path: string, headers: readonly string[], method = "OPTIONS") =>
    preflightHeaders(
      origins,
      new FakeExchange({ method, path, headers }),
      matchRoute(method, path),
    );
  const asks = ["origin", page, "access-control-request-method", "POST"];
  const maxAge = ["access-control-max-age", "7200"];
  const vary = ["vary", "Access-Control-Request-Method, Access-Control-Request-Headers"];
  t.same(of("/v1/chat/completions", asks), [
    ...vary,
    "access-control-allow-methods",
    "POST",
    ...maxAge,
  ]);
  const names = "authorization,content-type,x-stainless-lang";
  t.same(of("/v1/files", [...asks, "access-control-request-headers", names]), [
    ...vary,
    "access-control-allow-methods",
    "GET, POST, HEAD",
    "access-control-allow-headers",
    names,
    ...maxAge,
  ]);
  t.match(
    of("/p/openai/v1/any", asks),
    exactly([
      ...vary,
      "access-control-allow-methods",
      /^GET, HEAD, POST, PUT, PATCH, DELETE/,
      ...maxAge,
    ]),
  );
  t.equal(of("/v1/nope", asks), null);
  t.equal(of("/v1/files", asks, "POST"), null);
  t.equal(of("/v1/files", ["origin", page]), null, "a plain OPTIONS");
  t.equal(of("/v1/files", ["origin", "https://evil.example", ...asks.slice(2)]), null);
});
