import t from "tap";
import {
  authenticate,
  authenticateScrape,
  type Credentials,
} from "../../../proxy/auth/authenticate.js";
import {
  type Authentication,
  authenticatedCaller,
  wrongToken,
} from "../../../proxy/auth/caller.js";
import type { Area, ServedEndpoints } from "../../../proxy/http/match-route.js";
import { jwtBytesMax } from "../../../shared/bounds.js";
import { FakeExchange } from "../fake-exchange.js";

const key = "master-key-1";
const compared: (readonly [hash: string, secret: string])[] = [];
const closed: Credentials = {
  masterKey: key,
  jwt: null,
  userPathHeader: "x-sluice-user-path",
  open: false,
  isAdminOpen: false,
  metricsToken: null,
  isMetricsOpen: false,
  importedKeysMayExist: () => false,
  hashKey: (token) => `hash of ${token}`,
  isHashOf(hash, secret) {
    compared.push([hash, secret]);
    return hash === `hash of ${secret}`;
  },
};
const open: Credentials = { ...closed, masterKey: null, open: true };

async function ask(
  credentials: Credentials,
  headers: Readonly<Record<string, string>>,
  area: Area = "model",
  url = "/v1/chat/completions",
): Promise<Authentication> {
  const [path = "", query = ""] = url.split("?");
  return authenticate(credentials, area, {
    path,
    query,
    tls: null,
    header: (name) => headers[name],
    isRepeated: () => false,
  });
}

/**
 * The user path, or status and message of the refusal. For a caller that the daemon has to check,
 * as if it may name its path.
 */
function resultOf(authentication: Authentication): string {
  const failure = authentication.ok ? authentication.caller.pathFailure : authentication.failure;
  return failure === null
    ? (authentication as Extract<Authentication, { ok: true }>).caller.userPath
    : `${failure.status} ${failure.message}`;
}

t.test("a client certificate calls models, and any valid key goes before it", async (t) => {
  const table: readonly (readonly [authorization: string | undefined, area: Area, RegExp])[] = [
    [undefined, "model", /^\/cert$/],
    ["Bearer sk-of-some-library", "model", /^\/cert$/],
    [`Bearer ${key}`, "model", /^\/$/],
    [undefined, "admin", /^401 /],
    ["Bearer wrong", "admin", /^401 /],
  ];
  for (const [authorization, area, result] of table) {
    const authenticated = await authenticate(closed, area, {
      path: "/v1/chat/completions",
      query: "",
      tls: { userPath: "/cert" },
      header: (name) => (name === "authorization" ? authorization : undefined),
      isRepeated: () => false,
    });
    t.match(resultOf(authenticated), result);
  }
});

t.test("the master key opens models and admin, by either header", async (t) => {
  for (const area of ["model", "admin"] as const) {
    for (const headers of [
      { authorization: `Bearer ${key}` },
      { authorization: `bearer ${key}` },
      { authorization: `BEARER   ${key}  ` },
      { "x-api-key": key },
      { authorization: "", "x-api-key": key },
      { "api-key": key },
      { "x-goog-api-key": key },
      { "x-api-key": "", "x-goog-api-key": key },
    ])
      t.equal(
        resultOf(await ask(closed, headers, area)),
        "/",
        `${area} ${JSON.stringify(headers)}`,
      );
  }
});

t.test(
  "missing, malformed and wrong credentials have different answers, all wrong ones the same",
  async (t) => {
    const table: readonly (readonly [
      headers: Readonly<Record<string, string>>,
      expected: RegExp,
    ])[] = [
      [{}, /^401 missing credentials$/],
      [{ "x-api-key": "" }, /^401 missing credentials$/],
      [{ authorization: "" }, /^401 missing credentials$/],
      [{ authorization: " ", "x-api-key": "" }, /^401 missing credentials$/],
      [{ authorization: "", "x-api-key": "wrong" }, /^401 authentication failed$/],
      [{ authorization: "Bearer" }, /^401 malformed/],
      [{ authorization: "Bearer " }, /^401 malformed/],
      [{ authorization: "Bearer a b" }, /^401 malformed/],
      [{ authorization: `Basic ${key}` }, /^401 malformed/],
      [{ authorization: key }, /^401 malformed/],
      [{ authorization: `Basic ${key}`, "x-api-key": key }, /^401 malformed/],
      [{ authorization: "Bearer wrong" }, /^401 authentication failed$/],
      [{ "x-api-key": "wrong" }, /^401 authentication failed$/],
      [{ authorization: `Bearer ${key}x` }, /^401 authentication failed$/],
      [{ authorization: `Bearer ${key.toUpperCase()}` }, /^401 authentication failed$/],
      [{ authorization: "Bearer wrong", "x-api-key": key }, /^401 authentication failed$/],
    ];
    for (const [headers, expected] of table) {
      for (const area of ["model", "admin"] as const) {
        const authentication = await ask(closed, headers, area);
        t.match(resultOf(authentication), expected, `${area} ${JSON.stringify(headers)}`);
        if (!authentication.ok)
          t.match(authentication.failure, {
            type: "authentication_error",
            code: null,
            param: null,
            provider: null,
          });
      }
    }
  },
);

t.test("Google's clients may put the key into the query, no others", async (t) => {
  const google = "/v1beta/models:generateContent";
  const table: readonly (readonly [query: string, path: string, expected: RegExp])[] = [
    [`key=${key}`, google, /^\/$/],
    [`alt=sse&key=${key}`, google, /^\/$/],
    [`key=${encodeURIComponent(key)}&key=x`, google, /^\/$/],
    ["key=", google, /^401 missing/],
    ["key=wrong", google, /^401 authentication failed$/],
    [`mykey=${key}`, google, /^401 missing/],
    [`key=${key}`, "/v1beta/models", /^\/$/],
    [`key=${key}`, "/p/gemini/v1beta/files", /^\/$/],
    ...[
      "/v1/chat/completions",
      "/v1/messages",
      "/v1/models",
      "/v1/usage",
      "/v1/realtime",
      "/v1/files/v1beta/x",
      "/p/openai/v1/models",
      "/p/openai/v1/v1beta/x",
      "/V1BETA/models",
    ].map((path) => [`key=${key}`, path, /^401 missing/] as const),
  ];
  for (const [query, path, expected] of table)
    t.match(
      resultOf(await ask(closed, {}, "model", `${path}?${query}`)),
      expected,
      `${path} ${query}`,
    );
  t.match(resultOf(await ask(closed, {}, "admin", `${google}?key=${key}`)), /^401 missing/);
  const named = await ask(closed, { "api-key": "wrong" }, "model", `${google}?key=${key}`);
  t.match(resultOf(named), /^401 authentication failed$/, "a header is before it");
});

t.test("a token is compared by the constant-time comparison and by nothing else", async (t) => {
  compared.length = 0;
  await ask(closed, { authorization: "Bearer guess" });
  await ask(closed, { "x-api-key": "guess" });
  t.same(compared, [
    ["hash of guess", key],
    ["hash of guess", key],
  ]);
});

t.test("an open gateway needs no credentials, and ignores those that are sent", async (t) => {
  compared.length = 0;
  for (const headers of [
    {},
    { authorization: "Bearer anything" },
    { authorization: "nonsense" },
    { "x-api-key": "x" },
  ])
    t.equal(resultOf(await ask(open, headers)), "/", JSON.stringify(headers));
  t.same(compared, []);
});

t.test(
  "/admin is open with the gateway only on loopback; elsewhere it needs a master key",
  async (t) => {
    t.equal(resultOf(await ask({ ...open, isAdminOpen: true }, {}, "admin")), "/");
    const denied = await ask(open, { authorization: `Bearer ${key}` }, "admin");
    t.match(denied, {
      ok: false,
      failure: { status: 403, type: "permission_error", code: null, message: /master key/ },
    });
  },
);

t.test("the user path is the header's, normalized, and the root without one", async (t) => {
  const table: readonly (readonly [header: string, path: string])[] = [
    ["/team/app", "/team/app"],
    ["team", "/team"],
    [" /team//app/ ", "/team/app"],
    ["", "/"],
    ["/", "/"],
    ["/Team", "/Team"],
  ];
  for (const [header, path] of table) {
    t.equal(resultOf(await ask(open, { "x-sluice-user-path": header })), path, header);
    t.equal(
      resultOf(await ask(closed, { "x-sluice-user-path": header, authorization: `Bearer ${key}` })),
      path,
      header,
    );
  }
  t.equal(resultOf(await ask(open, {})), "/");
});

t.test("a path that doesn't normalize is refused by its header's name", async (t) => {
  for (const path of [
    "/..",
    "/a:b",
    "/a\u0007",
    `/${"x".repeat(2000)}`,
    `/${Array(40).fill("a").join("/")}`,
  ]) {
    const failure = {
      status: 400,
      type: "invalid_request_error",
      message: "invalid X-Sluice-User-Path header",
      code: null,
    };
    t.match(
      await ask(closed, { "x-sluice-user-path": path, "x-api-key": key }),
      { ok: false, failure },
      path.slice(0, 20),
    );
    t.match(
      await ask(open, { "x-sluice-user-path": path }),
      { ok: true, caller: { pathFailure: failure } },
      "only the daemon knows whether it is open",
    );
  }
});

t.test(
  "a repeated path header is refused: joined, the two would be a third path that no rule covers",
  async (t) => {
    const twice = async (joined: string, repeated: boolean): Promise<Authentication> =>
      authenticate(open, "model", {
        path: "/v1/chat/completions",
        query: "",
        tls: null,
        header: (name) => (name === "x-sluice-user-path" ? joined : undefined),
        isRepeated: (name) => repeated && name === "x-sluice-user-path",
      });
    t.equal(resultOf(await twice("/a, /b", true)), "400 invalid X-Sluice-User-Path header");
    t.equal(resultOf(await twice("/a, /a", true)), "400 invalid X-Sluice-User-Path header");
    t.match(
      await twice("/a,b", false),
      { ok: true, caller: { userPath: "/a,b" } },
      "a comma in one header is a character",
    );
  },
);

t.test(
  "the header may have another name, which is then the only one that is read and named",
  async (t) => {
    const renamed = { ...open, userPathHeader: "x-team-path" };
    t.equal(
      resultOf(await ask(renamed, { "x-team-path": "/a", "x-sluice-user-path": "/b" })),
      "/a",
    );
    t.equal(resultOf(await ask(renamed, { "x-sluice-user-path": "/b" })), "/");
    t.equal(
      resultOf(await ask(renamed, { "x-team-path": "/a:b" })),
      "400 invalid X-Team-Path header",
    );
  },
);

t.test(
  "a wrong key is reported before a wrong path: an unauthorized caller learns nothing more",
  async (t) => {
    t.equal(
      resultOf(await ask(closed, { "x-sluice-user-path": "/..", authorization: "Bearer wrong" })),
      "401 authentication failed",
    );
  },
);

t.test("admin has no user path, and no header can break it", async (t) => {
  t.equal(
    resultOf(
      await ask(closed, { "x-sluice-user-path": "/..", authorization: `Bearer ${key}` }, "admin"),
    ),
    "/",
  );
});

t.test("header bytes that are UTF-8 are read as that, others as Node gives them", async (t) => {
  const asNode = (text: string): string => Buffer.from(text, "utf8").toString("latin1");
  t.equal(
    resultOf(await ask(open, { "x-sluice-user-path": asNode("/größe/日本/🙂") })),
    "/größe/日本/🙂",
  );
  t.equal(
    resultOf(await ask(open, { "x-sluice-user-path": "/caf\u00e9" })),
    "/café",
    "a byte that is no UTF-8",
  );
});

const jwtLike = "e30.e30.sig";
const verified = (path: string) =>
  ({ ok: true, caller: authenticatedCaller(path), claims: {}, expiresAtMs: 1 }) as const;
const seen: string[] = [];
const byJwt: Credentials = {
  ...closed,
  jwt: {
    verify(token) {
      seen.push(token);
      return Promise.resolve(verified("/from/token"));
    },
  },
};

t.test("a JWT's path is the token's, whatever header is sent", async (t) => {
  for (const header of ["/other", "/..", "", "a:b"])
    t.equal(
      resultOf(
        await ask(byJwt, { authorization: `Bearer ${jwtLike}`, "x-sluice-user-path": header }),
      ),
      "/from/token",
      header,
    );
  t.equal(resultOf(await ask(byJwt, { "x-api-key": jwtLike })), "/from/token");
});

t.test(
  "only what looks like a JWT gets to the verifier, and the master key never does",
  async (t) => {
    seen.length = 0;
    t.equal(resultOf(await ask(byJwt, { authorization: `Bearer ${key}` })), "/");
    for (const token of [
      "wrong",
      "a.b",
      "a.b.c.d",
      "a.b.c.d.e",
      "..",
      "a b.c.d",
      `e30.e30.${"x".repeat(jwtBytesMax)}`,
      "e30.e30.sig=",
    ])
      t.match(
        resultOf(await ask(byJwt, { "x-api-key": token })),
        /^401 authentication failed$/,
        token.slice(0, 20),
      );
    t.same(seen, []);
    t.equal(
      resultOf(await ask(byJwt, { "x-api-key": "e30.e30." })),
      "/from/token",
      "an unsigned one is the verifier's to refuse",
    );
    t.equal(
      resultOf(await ask(closed, { "x-api-key": jwtLike })),
      "401 authentication failed",
      "and without issuers there is no verifier",
    );
  },
);

t.test(
  "with JWT issuers and no master key every request needs a token, and none opens /admin",
  async (t) => {
    const noMaster: Credentials = { ...byJwt, masterKey: null, isAdminOpen: false };
    for (const area of ["model", "admin"] as const) {
      t.equal(resultOf(await ask(noMaster, {}, area)), "401 missing credentials");
      t.equal(
        resultOf(await ask(noMaster, { "x-api-key": key }, area)),
        "401 authentication failed",
      );
    }
    t.equal(resultOf(await ask(noMaster, { "x-api-key": jwtLike })), "/from/token");
    t.match(await ask(noMaster, { "x-api-key": jwtLike }, "admin"), {
      ok: false,
      failure: { status: 403, type: "permission_error", code: null },
    });
  },
);

t.test("a JWT never opens /admin; a wrong one gets its 401 there too", async (t) => {
  t.match(await ask(byJwt, { "x-api-key": jwtLike }, "admin"), {
    ok: false,
    failure: { status: 403, type: "permission_error", message: /JWT/ },
  });
  const later: Credentials = {
    ...closed,
    jwt: {
      verify: (token) =>
        Promise.resolve(
          token === jwtLike ? verified("/t") : { ok: false as const, failure: wrongToken },
        ),
    },
  };
  t.equal(resultOf(await ask(later, { "x-api-key": jwtLike })), "/t");
  t.match(resultOf(await ask(later, { "x-api-key": jwtLike }, "admin")), /^403 /);
  t.equal(
    resultOf(await ask(later, { "x-api-key": "e30.e30.wrong" }, "admin")),
    "401 authentication failed",
  );
});

const managed = `sk-sluice-${"k".repeat(43)}`;

t.test("a managed key is the daemon's to judge, by its hash, in every mode and area", async (t) => {
  for (const credentials of [
    closed,
    byJwt,
    open,
    { ...open, adminOpen: true },
    { ...open, open: false },
  ]) {
    for (const area of ["model", "admin"] as const) {
      seen.length = 0;
      t.match(
        await ask(
          credentials,
          { authorization: `Bearer ${managed}`, "x-sluice-user-path": "/named" },
          area,
        ),
        {
          ok: true,
          caller: {
            credential: `hash of ${managed}`,
            userPath: area === "admin" ? "/" : "/named",
            keyId: "",
            denial: { status: 401, message: "authentication failed" },
          },
        },
      );
      t.same(seen, [], "no verifier of JWTs sees it");
    }
  }
  t.match(
    await ask(closed, { "x-api-key": managed, "x-sluice-user-path": "a:b" }),
    { ok: true, caller: { pathFailure: { status: 400 } } },
    "a key may be bound to a path: then no header matters",
  );
  t.equal(
    resultOf(await ask({ ...closed, masterKey: managed }, { "x-api-key": managed })),
    "/",
    "a master key of that shape is the master key",
  );
  for (const near of [managed.slice(0, -1), `${managed}k`, managed.toUpperCase()])
    t.equal(resultOf(await ask(closed, { "x-api-key": near })), "401 authentication failed", near);
});

t.test(
  "without credentials an open gateway lets the daemon decide, and beyond loopback refuses",
  async (t) => {
    t.match(await ask(open, {}), {
      ok: true,
      caller: { credential: "none", denial: { status: 401, message: "missing credentials" } },
    });
    t.match(await ask(open, { authorization: "nonsense" }), {
      ok: true,
      caller: { credential: "none", denial: { status: 401, message: /^malformed/ } },
    });
    t.match(await ask(open, { "x-api-key": "x" }), {
      ok: true,
      caller: { credential: "none", denial: { status: 401, message: "authentication failed" } },
    });
    t.match(await ask({ ...open, isAdminOpen: true }, {}, "admin"), {
      ok: true,
      caller: { credential: "none", denial: { status: 403, message: /master key/ } },
    });
    t.equal(resultOf(await ask({ ...open, open: false }, {})), "401 missing credentials");
    t.match(await ask(closed, { "x-api-key": key }), {
      ok: true,
      caller: { credential: "authenticated" },
    });
  },
);

const locked: Credentials = {
  masterKey: "mk",
  jwt: null,
  userPathHeader: "x-sluice-user-path",
  open: false,
  isAdminOpen: false,
  metricsToken: null,
  isMetricsOpen: false,
  importedKeysMayExist: () => false,
  hashKey: (key) => key,
  isHashOf: (hash, secret) => hash === secret,
};
t.test("a token of any form is a key while imported keys may exist", async (t) => {
  const credentials: Credentials = { ...closed, importedKeysMayExist: () => true };
  const jwt: Credentials = {
    ...credentials,
    jwt: { verify: () => Promise.resolve({ ok: false, failure: wrongToken }) } as never,
  };
  const token = "sk-1234567890abcdefghij";
  const asKey = { ok: true, caller: { credential: `hash of ${token}`, isOperator: false } };
  t.match(await ask(credentials, { authorization: `Bearer ${token}` }), asKey);
  t.match(await ask(credentials, { "x-api-key": token }), asKey);
  t.match(await ask({ ...open, importedKeysMayExist: () => true }, { "api-key": token }), asKey);
  t.match(await ask(jwt, { "x-goog-api-key": token }), asKey);
  t.match(await ask(credentials, { authorization: `Bearer ${key}` }), {
    caller: { credential: "authenticated" },
  });
  for (const [given, area, accepts] of [
    [token, "admin", credentials],
    ["x".repeat(513), "model", credentials],
    ["schl\u00fcssel-0123456789", "model", credentials],
    ["aaaa.bbbb.cccc", "model", credentials],
    ["aaaa.bbbb.cccc", "model", jwt],
    [token, "model", closed],
  ] as const)
    t.match(
      await ask(accepts, { "x-api-key": given }, area),
      { ok: false },
      `${given.slice(0, 30)} ${area}`,
    );
});

const withToken: Credentials = { ...locked, metricsToken: "mt" };
const openGateway: Credentials = { ...locked, masterKey: null, open: true, isMetricsOpen: true };
const openBeyond: Credentials = { ...openGateway, isMetricsOpen: false };

const bearer = (token: string): string[] => ["authorization", `Bearer ${token}`];

t.test("the master key and the token for scrapes open it, and nothing else", async (t) => {
  const table: readonly (readonly [Credentials, ServedEndpoints, readonly string[], string])[] = [
    [locked, "all", bearer("mk"), "authenticated"],
    [locked, "all", ["x-api-key", "mk"], "authenticated"],
    [locked, "all", bearer("mt"), "401"],
    [locked, "all", [], "401"],
    [locked, "admin", [], "401"],
    [withToken, "all", bearer("mt"), "authenticated"],
    [withToken, "models", bearer("mt"), "authenticated"],
    [withToken, "all", bearer("mk"), "authenticated"],
    [withToken, "all", bearer(managed), "401"],
    [withToken, "all", bearer("eyJhbGciOiJub25lIn0.e30."), "401"],
    [openGateway, "all", [], "none"],
    [openGateway, "models", [], "none"],
    [openGateway, "all", bearer("anything"), "none"],
    [openBeyond, "all", [], "403"],
    [openBeyond, "models", [], "403"],
    [openBeyond, "admin", [], "none"],
    // Who sets a token wants it to be shown.
    [{ ...openGateway, metricsToken: "mt" }, "all", [], "401"],
    [{ ...openGateway, metricsToken: "mt" }, "admin", [], "401"],
    [{ ...openGateway, metricsToken: "mt" }, "all", bearer("mt"), "authenticated"],
    // JWTs alone: they don't open it, and there is nothing else.
    [{ ...locked, masterKey: null }, "all", [], "403"],
  ];
  for (const [credentials, served, headers, expected] of table) {
    const asked = authenticateScrape(credentials, served, new FakeExchange({ headers }));
    const found = asked.ok ? asked.caller.credential : String(asked.failure.status);
    t.equal(found, expected, `${JSON.stringify(headers)} at ${served}`);
    if (asked.ok)
      t.equal(
        asked.caller.isOperator && headers.length > 0,
        expected === "none" && headers.length > 0,
      );
  }
});
