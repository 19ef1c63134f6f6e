import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import {
  beginsWith,
  describeJson,
  forwardRequestHeaders,
  forwardResponseHeaders,
  headerOf,
  passResponseHeaders,
} from "../../../proxy/http/copy-headers.js";

/** All but these pass, as far as this file is concerned. */
const passed = /^(?!connection$|keep-alive$|x-secret$)/i;

/** Each name with a value that names it. */
function headers(names: readonly string[]): string[] {
  return names.flatMap((name) => [name, `value of ${name}`]);
}

function title(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (letters) => letters.toUpperCase());
}

const hopByHop = [
  "connection",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "proxy-authenticate",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
const ownToResponses = [
  "content-length",
  "set-cookie",
  "x-request-id",
  "x-ratelimit-limit-requests",
  "x-ratelimit-reset-tokens",
  "anthropic-ratelimit-tokens-remaining",
  "openai-organization",
  "openai-project",
  "anthropic-organization-id",
  "alt-svc",
  "strict-transport-security",
  "server",
  "date",
  "via",
  "x-sluice-target",
];
const keptInResponses = [
  "Content-Type",
  "retry-after",
  "retry-after-ms",
  "openai-processing-ms",
  "content-encoding",
  "dated",
  "servers",
  "x-ratelimit",
  "x-request-ids",
  "vias",
  "cf-ray",
  "x-should-retry",
  "alt-svc2",
  "tea",
  "cookie",
];

t.test("a request keeps what passes, as it was written and in its order", async (t) => {
  const sent = ["Accept", "1", "X-Secret", "2", "x-SECRET", "3", "accept", "4"];
  t.same(forwardRequestHeaders(sent, passed), ["Accept", "1", "accept", "4"]);
});

t.test("a response keeps what the client needs, as it was written and in its order", async (t) => {
  for (const spell of [(name: string) => name, title, (name: string) => name.toUpperCase()]) {
    const flat = headers(keptInResponses.map(spell));
    t.same(forwardResponseHeaders(flat), flat);
    t.same(forwardResponseHeaders(flat.map((text) => Buffer.from(text, "latin1"))), flat);
  }
});

t.test(
  "a response loses what belongs to the connection or is about the provider's own site",
  async (t) => {
    for (const name of [...hopByHop, ...ownToResponses]) {
      for (const spelled of [name, title(name), name.toUpperCase()]) {
        const flat = ["a", "1", spelled, "close", "b", "2"];
        t.same(forwardResponseHeaders(flat), ["a", "1", "b", "2"], spelled);
        t.same(
          forwardResponseHeaders(flat.map((text) => Buffer.from(text))),
          ["a", "1", "b", "2"],
          `${spelled} in bytes`,
        );
      }
    }
  },
);

t.test(
  "a passthrough response has the provider's limits, or ours where it reports none",
  async (t) => {
    const ours = ["x-ratelimit-limit-requests", "10"];
    t.same(
      passResponseHeaders(
        ["a", "1", "Set-Cookie", "c", "Connection", "x-hop", "X-Hop", "1", "X-Sluice-Target", "t"],
        ours,
      ),
      ["a", "1", ...ours],
    );
    t.same(passResponseHeaders(["X-RateLimit-Remaining-Tokens", "7", "a", "1"], ours), [
      "X-RateLimit-Remaining-Tokens",
      "7",
      "a",
      "1",
    ]);
    t.same(
      passResponseHeaders(
        ["anthropic-ratelimit-tokens-remaining", "7", "Anthropic-Organization-Id", "o"],
        ours,
      ),
      ["anthropic-ratelimit-tokens-remaining", "7", ...ours],
    );
    t.equal(headerOf([Buffer.from("Content-Length"), Buffer.from("7")], "content-length"), "7");
  },
);

t.test(
  "headers that a Connection header names are dropped with it, wherever they are",
  async (t) => {
    const flat = [
      "X-Hop",
      "1",
      "Keep",
      "2",
      "Connection",
      "keep-alive, x-hop , OTHER",
      "other",
      "3",
      "connection",
      "third",
      "Third",
      "4",
      "x-hop",
      "5",
    ];
    t.same(forwardRequestHeaders(flat, passed), ["Keep", "2"]);
    t.same(forwardResponseHeaders(flat), ["Keep", "2"]);
    t.same(forwardResponseHeaders(flat.map((text) => Buffer.from(text))), ["Keep", "2"]);
  },
);

t.test("a name of the same length as Connection names nothing", async (t) => {
  t.same(forwardRequestHeaders(["keep-alive", "a", "a", "1"], passed), ["a", "1"]);
  t.same(forwardResponseHeaders(["set-cookie", "a", "a", "1"]), ["a", "1"]);
});

t.test("repeated headers and the bytes of values pass unchanged", async (t) => {
  t.same(forwardRequestHeaders(["a", "1", "A", "2", "a", ""], passed), [
    "a",
    "1",
    "A",
    "2",
    "a",
    "",
  ]);
  t.same(forwardResponseHeaders([Buffer.from("a"), Buffer.from([0x63, 0xe9])]), ["a", "c\xe9"]);
});

t.test("names in bytes and in text are matched alike", async () => {
  const name = fc.oneof(
    fc
      .constantFrom(...hopByHop, ...ownToResponses, ...keptInResponses)
      .chain((known) =>
        fc
          .array(fc.boolean(), { minLength: known.length, maxLength: known.length })
          .map((upper) =>
            [...known]
              .map((letter, i) => (upper[i] === true ? letter.toUpperCase() : letter))
              .join(""),
          ),
      ),
    fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,26}$/),
  );
  fc.assert(
    fc.property(fc.array(name, { maxLength: 6 }), (names) => {
      const flat = headers(names);
      assert.deepEqual(
        forwardResponseHeaders(flat.map((text) => Buffer.from(text))),
        forwardResponseHeaders(flat),
      );
    }),
    { numRuns: 3000 },
  );
});

t.test(
  "a body that was read as JSON gets that content type, unless the client declares a JSON type of its own",
  async (t) => {
    const table = [
      {
        declared: ["Content-Type", "application/json; charset=utf-8"],
        sent: ["Content-Type", "application/json; charset=utf-8"],
      },
      {
        declared: ["content-type", "application/vnd.api+json"],
        sent: ["content-type", "application/vnd.api+json"],
      },
      {
        declared: ["content-type", "application/json+protobuf"],
        sent: ["content-type", "application/json"],
      },
      { declared: [], sent: ["content-type", "application/json"] },
      {
        declared: ["Content-Type", "application/x-www-form-urlencoded"],
        sent: ["content-type", "application/json"],
      },
      {
        declared: ["content-type", "text/plain", "Content-Type", "text/html"],
        sent: ["content-type", "application/json"],
      },
    ];
    for (const { declared, sent } of table) {
      const flat = ["accept", "*/*", ...declared];
      describeJson(flat, { header: (name) => (name === "content-type" ? declared[1] : undefined) });
      t.same(flat, ["accept", "*/*", ...sent], String(declared[1]));
    }
  },
);

t.test("a body that was decoded is no longer described as encoded", async (t) => {
  const flat = ["Content-Encoding", "gzip", "content-type", "application/json", "accept", "*/*"];
  describeJson(flat, { header: (name) => (name === "content-type" ? flat[3] : "gzip") });
  t.same(flat, ["accept", "*/*", "content-type", "application/json"]);
});

t.test("a name begins with another one in any case", async (t) => {
  const known = Buffer.from("x-request-id");
  for (const name of ["x-request-id", "X-Request-Id", "x-request-id-2"])
    t.equal(beginsWith(Buffer.from(name), known), true, name);
  for (const name of ["x-request", "y-request-id", "x_request_id", ""])
    t.equal(beginsWith(Buffer.from(name), known), false, name);
});
