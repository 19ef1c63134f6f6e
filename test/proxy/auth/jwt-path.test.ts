import t from "tap";
import { claimedIssuer, looksLikeJwt, pathFromClaims } from "../../../proxy/auth/jwt-path.js";
import { kubernetesDefaults } from "../../../shared/config/resolve/jwt-issuers.js";

const kubernetes = {
  iss: "https://kubernetes.default.svc.cluster.local",
  sub: "system:serviceaccount:team-a:app",
  "kubernetes.io": { namespace: "team-a", serviceaccount: { name: "app", uid: "1" } },
};

t.test("a path is made of claims, each of them one segment", async (t) => {
  const table: readonly (readonly [
    userPath: string,
    claims: Record<string, unknown>,
    path: string | null,
  ])[] = [
    [kubernetesDefaults.userPath, kubernetes, "/k8s/team-a/app"],
    ["/k8s/{kubernetes.io/namespace}/{sub}", kubernetes, null],
    ["/k8s/{kubernetes.io/namespace}", kubernetes, "/k8s/team-a"],
    ["/{ kubernetes.io/serviceaccount/name }", kubernetes, "/app"],
    ["/k8s/{kubernetes.io/serviceaccount}", kubernetes, null],
    ["/k8s/{kubernetes.io/nope/name}", kubernetes, null],
    ["/u/{sub}", { sub: "ann" }, "/u/ann"],
    ["/u/{sub}", { sub: 42 }, "/u/42"],
    ["/u-{sub}/x", { sub: "ann" }, "/u-ann/x"],
    ["/u/{sub}", { sub: 1.5 }, null],
    ["/u/{sub}", { sub: true }, null],
    ["/u/{sub}", { sub: ["ann"] }, null],
    ["/u/{sub}", {}, null],
    ["/u/{sub}", { sub: "" }, null],
    ["/u/{sub}", { sub: "  " }, null],
    ["/u/{sub}", { sub: "a/b" }, null],
    ["/u/{sub}", { sub: ".." }, null],
    ["/u/{sub}", { sub: "." }, null],
    ["/u/{sub}", { sub: "a:b" }, null],
    ["/u/{sub}", { sub: "a\u0000" }, null],
    ["/u/{sub}", { sub: "$&" }, "/u/$&"],
    ["/u/{sub}", { sub: "x".repeat(2000) }, null],
    ["/u/{toString}", {}, null],
    ["/u/{__proto__}", {}, null],
    ["team", { team: "/team/app" }, "/team/app"],
    ["team", { team: "team//app/" }, "/team/app"],
    ["team", { team: "" }, null],
    ["team", { team: "../x" }, null],
    ["team", {}, null],
    ["https://example.com/team", { "https://example.com/team": "/a" }, "/a"],
    ["org/team", { "org/team": "flat", org: { team: "nested" } }, "/flat"],
    ["org/team", { org: { team: "nested" } }, "/nested"],
    ["org/team", { org: "text" }, null],
    ["a/b/c", { "a/b": { c: "inner" }, a: { b: { c: "deep" } } }, "/inner"],
  ];
  for (const [userPath, claims, path] of table)
    t.equal(
      pathFromClaims(userPath, claims),
      path,
      `${userPath} of ${JSON.stringify(claims).slice(0, 80)}`,
    );
});

t.test("three parts in base64url look like a JWT", async (t) => {
  for (const token of ["e30.e30.sig", "a.b.", "a-_.b.c"]) t.ok(looksLikeJwt(token), token);
  for (const token of [
    "",
    "a",
    "a.b",
    ".b.c",
    "a..c",
    "a.b.c.d",
    "a.b.c=",
    "a.b.c ",
    "sk-sluice-abc",
  ])
    t.notOk(looksLikeJwt(token), token);
});

t.test("the claimed issuer is read, and nonsense has none", async (t) => {
  const token = (payload: string): string =>
    `e30.${Buffer.from(payload).toString("base64url")}.sig`;
  t.equal(claimedIssuer(token('{"iss":"me"}')), "me");
  for (const payload of ["", "{", "[]", "null", '{"iss":1}', "{}", "\xff"])
    t.equal(claimedIssuer(token(payload)), null, payload);
});
