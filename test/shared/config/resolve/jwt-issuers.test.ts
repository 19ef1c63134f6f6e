import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import {
  publicKeyAlgorithms,
  secretAlgorithms,
} from "../../../../shared/config/settings/jwt-settings.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { root } from "../../../tidy/source-tree.js";
import { accepted, refused } from "../resolve-sample.js";

const secret = "0123456789abcdef0123456789abcdef";

t.test("the page's three lines for Kubernetes are a complete issuer", async (t) => {
  const page = readFileSync(join(root, "docs/authentication.md"), "utf8");
  const sample = /<!-- kubernetes -->\n```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  t.equal(sample.trim().split("\n").length, 4, "jwt: and three lines");
  t.same(accepted(sample).config.jwtIssuers, [
    {
      issuer: "https://kubernetes.default.svc.cluster.local",
      audience: ["sluice"],
      algorithms: publicKeyAlgorithms,
      userPath: "/k8s/{kubernetes.io/namespace}/{kubernetes.io/serviceaccount/name}",
      models: null,
      modelsClaim: null,
      keys: { kind: "file", path: "/etc/sluice/kubernetes-jwks.json" },
    },
  ]);
  for (const [, other = ""] of page.matchAll(/```yaml\n(jwt:[\s\S]*?)```/g))
    t.ok(accepted(other, { env: { JWT_SECRET: secret } }).config.jwtIssuers.length > 0);
});

t.test("issuers are put together with their defaults", async (t) => {
  const { jwtIssuers } = accepted(
    `
jwt:
  - { issuer: a, audience: [x, y], jwks_url: "https://a.test/keys?v=1", algorithms: "RS256, ES256", user_path: team }
  - { issuer: b, audience: x, secret: "\${SECRET}", user_path: "/u/{sub}" }
  - { issuer: c, audience: x, secret_file: "\${UNSET}/key", user_path: "/u/{sub}" }
  - { type: kubernetes, issuer: https://k8s.test, audience: x, jwks_file: keys.json, user_path: "/ns/{kubernetes.io/namespace}" }
`,
    { env: { SECRET: secret } },
  ).config;
  t.same(jwtIssuers, [
    {
      issuer: "a",
      audience: ["x", "y"],
      algorithms: ["RS256", "ES256"],
      userPath: "team",
      models: null,
      modelsClaim: null,
      keys: { kind: "url", url: "https://a.test/keys?v=1", proxy: null },
    },
    {
      issuer: "b",
      audience: ["x"],
      algorithms: secretAlgorithms,
      userPath: "/u/{sub}",
      models: null,
      modelsClaim: null,
      keys: { kind: "secret", secret },
    },
    {
      issuer: "c",
      audience: ["x"],
      algorithms: secretAlgorithms,
      userPath: "/u/{sub}",
      models: null,
      modelsClaim: null,
      keys: { kind: "secret-file", path: "/srv/${UNSET}/key" },
    },
    {
      issuer: "https://k8s.test",
      audience: ["x"],
      algorithms: publicKeyAlgorithms,
      userPath: "/ns/{kubernetes.io/namespace}",
      models: null,
      modelsClaim: null,
      keys: { kind: "file", path: "/srv/keys.json" },
    },
  ]);
});

t.test("all problems of issuers are reported together, and no secret is quoted", async (t) => {
  const good = `issuer: a, audience: x, jwks_file: f, user_path: p`;
  const table: readonly (readonly [fields: string, problems: readonly (string | RegExp)[]])[] = [
    [
      "{}",
      [
        "jwt[0].issuer is required",
        /^jwt\[0\]\.audience is required: without it/,
        "jwt[0].user_path is required",
        "jwt[0] must have exactly one of jwks_file, jwks_url, secret, secret_file",
      ],
    ],
    [
      `{ ${good}, secret: "${secret}" }`,
      [
        "jwt[0] must have exactly one of jwks_file, jwks_url, secret, secret_file, not jwks_file and secret",
      ],
    ],
    [
      `{ ${good}, algorithms: [RS256, HS256] }`,
      [/^jwt\[0\]\.algorithms can't hold HS256: those for jwks_file are RS256, /],
    ],
    [
      `{ issuer: a, audience: x, secret: "${secret}", algorithms: RS256, user_path: p }`,
      ["jwt[0].algorithms can't hold RS256: those for secret are HS256, HS384, HS512"],
    ],
    [
      `{ ${good}, algorithms: [none] }`,
      [/^jwt\[0\]\.algorithms must be a list that holds nothing but RS256, .*, not \["none"\]$/],
    ],
    [`{ ${good}, algorithms: [] }`, [/^jwt\[0\]\.algorithms must be a list/]],
    [
      `{ issuer: a, audience: x, secret: tooshort, user_path: p }`,
      ["jwt[0].secret must be a text of at least 32 characters"],
    ],
    [
      `{ issuer: a, audience: x, jwks_url: "ftp://a", user_path: p }`,
      [/^jwt\[0\]\.jwks_url must be an http or https URL/],
    ],
    [
      `{ issuer: a, audience: x, jwks_url: "https://me:pw@a", user_path: p }`,
      ["jwt[0].jwks_url must be an http or https URL without credentials or fragment"],
    ],
    [`{ ${good}, audiance: x }`, ["jwt[0].audiance is not a known key; did you mean audience?"]],
    [`{ ${good}, type: k8s }`, ['jwt[0].type must be generic or kubernetes, not "k8s"']],
    ["5", [/^jwt\[0\] must be a mapping of /]],
    // A wrong value hides nothing of what is wrong with the others, and isn't missed.
    [
      "{ issuer: 5, secret: tooshort }",
      [
        "jwt[0].issuer must be a text, not 5",
        "jwt[0].secret must be a text of at least 32 characters",
        /^jwt\[0\]\.audience is required/,
        "jwt[0].user_path is required",
      ],
    ],
    [
      `{ type: k8s, audience: [], jwks_file: f, jwks_url: "ftp://a", user_path: "team/{sub}" }`,
      [
        /^jwt\[0\]\.type must be/,
        /^jwt\[0\]\.audience must be a text or a list/,
        /^jwt\[0\]\.jwks_url must be/,
        /^jwt\[0\]\.user_path must begin with/,
        /must have exactly one of .*, not jwks_file and jwks_url$/,
      ],
    ],
  ];
  for (const [fields, problems] of table) t.match(refused(`jwt: [${fields}]`), problems, fields);
  for (const [fields] of table)
    t.notMatch(refused(`jwt: [${fields}]`).join("\n"), new RegExp(`${secret}|tooshort|pw`), fields);
  t.match(refused("jwt: { issuer: a }"), exactly([/^jwt must be a list, not /]));
  t.match(
    refused(`jwt: [{ ${good} }, { ${good} }]`),
    exactly(["jwt[1] has the same issuer and audience as jwt[0]: keep one of them"]),
  );
  t.match(
    refused(`jwt: [{ ${good}, type: 5 }, { ${good} }]`),
    exactly([
      /^jwt\[0\]\.type/,
      "jwt[1] has the same issuer and audience as jwt[0]: keep one of them",
    ]),
  );
  t.equal(
    accepted(`jwt: [{ ${good} }, { issuer: a, audience: y, jwks_file: f, user_path: p }]`).config
      .jwtIssuers.length,
    2,
  );
});

t.test("a template must be a path that differs by claims", async (t) => {
  const problemsOf = (userPath: string): readonly string[] =>
    refused(
      `jwt: [{ issuer: a, audience: x, jwks_file: f, user_path: ${JSON.stringify(userPath)} }]`,
    );
  const table: readonly (readonly [userPath: string, problem: RegExp])[] = [
    ["/team", /needs a claim in braces/],
    ["team/{sub}", /must begin with \//],
    ["/team/{}", /braces that don't enclose/],
    ["/team/{ }", /braces that don't enclose/],
    ["/team/{sub", /braces that don't enclose/],
    ["/team/sub}", /braces that don't enclose/],
    ["/team/{a{b}}", /braces that don't enclose/],
    ["/a:b/{sub}", /must not hold a colon/],
    ["/../{sub}", /must not hold the segment \.\./],
  ];
  for (const [userPath, problem] of table)
    t.match(problemsOf(userPath), exactly([problem]), userPath);
});
