import t from "tap";
import {
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

t.test(
  "claims that are missing are asked for, and a person is named by what is verified",
  async (t) => {
    t.equal(lacksClaims(roles, { groups: [], email: "a" }), true);
    t.equal(lacksClaims(roles, { groups: [], email: "a", realm_access: { roles: [] } }), false);
    t.equal(nameOfPerson({ sub: "7", email: "a@b", email_verified: true }), "a@b");
    t.equal(nameOfPerson({ sub: "7", email: "a@b", preferred_username: "ann" }), "ann");
    t.equal(nameOfPerson({ sub: "7" }), "7");
  },
);
