import t from "tap";
import {
  deniableNames,
  grantedRole,
  lacksClaims,
  nameOfPerson,
} from "../../../../proxy/auth/oidc/granted-role.js";
import type { ClaimedRole } from "../../../../shared/config/kinds/oidc-kinds.js";

const roles: readonly ClaimedRole[] = [
  { claim: "groups", value: "admins", role: "admin", path: "/" },
  { claim: "realm_access/roles", value: "leads", role: "operator", path: "/team" },
  { claim: "email", value: "ann@example.com", role: "viewer", path: "/ann" },
];

t.test("the first entry that a claim has decides, whether it is a text or a list", async (t) => {
  for (const [claims, expected] of [
    [{ groups: "admins" }, "admin"],
    [{ groups: ["x", "admins"] }, "admin"],
    [{ groups: ["admins"], realm_access: { roles: ["leads"] } }, "admin"],
    [{ realm_access: { roles: ["leads"] } }, "operator"],
    [{ "realm_access/roles": "leads" }, "operator"],
    [{ email: "ann@example.com", email_verified: true }, "viewer"],
    [{ email: "ann@example.com" }, undefined],
    [{ email: "ann@example.com", email_verified: "true" }, undefined],
    [{ groups: "admins,leads" }, undefined],
    [{ groups: ["Admins", "admins ", ["admins"]] }, undefined],
    [{ groups: { admins: true } }, undefined],
    [{ groups: null }, undefined],
    [{}, undefined],
  ] as const)
    t.equal(grantedRole(roles, claims)?.role, expected, JSON.stringify(claims));
});

t.test("claims that are missing are asked for, unless an earlier entry has decided", async (t) => {
  for (const [claims, lacks] of [
    [{ groups: [], email: "a" }, true],
    [{ groups: [], email: "a", realm_access: { roles: [] } }, false],
    [{ groups: ["admins"] }, false],
    [{ realm_access: { roles: ["leads"] } }, true],
    [{ groups: [], realm_access: { roles: ["leads"] } }, false],
    [{}, true],
  ] as const)
    t.equal(lacksClaims(roles, claims), lacks, JSON.stringify(claims));
});

t.test("a person is denied by the token's names, or by the verified address", async (t) => {
  const ann = { iss: "https://i", sub: "7", email: "a@b" };
  const named = (claims: object): unknown =>
    deniableNames({ ...ann, ...claims }).map((name) => JSON.parse(name));
  const bySub = [
    ["sub", "7", null],
    ["sub", "7", "https://i"],
  ];
  t.same(named({}), bySub, "an address that isn't verified is anyone's");
  t.same(named({ email_verified: true }), [
    ...bySub,
    ["sub", "a@b", null],
    ["sub", "a@b", "https://i"],
  ]);
});

t.test("a person is named by what nobody chooses, and as nobody else can be", async (t) => {
  for (const [claims, name] of [
    [{ sub: "7", email: "a@b", email_verified: true }, "OIDC a@b"],
    [{ sub: "7", email: "a@b", preferred_username: "ann" }, "OIDC 7"],
    [{ sub: "7", preferred_username: "master key" }, "OIDC 7"],
    [{ sub: "7", email: "", email_verified: true }, "OIDC 7"],
    [{ sub: "7", email: ["a@b"], email_verified: true }, "OIDC 7"],
    [{ sub: "key key_1" }, "OIDC key key_1"],
    [{ sub: "a\nb\tc\r\u2028\u202e\u001b" }, "OIDC a\\nb\\tc\\u000d\\u2028\\u202e\\u001b"],
  ] as const)
    t.equal(nameOfPerson(claims), name);
});
