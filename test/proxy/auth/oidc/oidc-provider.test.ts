/** ID tokens that a provider must not send, from a provider that sends what the test says. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import t from "tap";
import { createOidcProvider } from "../../../../proxy/auth/oidc/oidc-provider.js";
import { discoveryPauseMs } from "../../../../proxy/bounds.js";
import type { OidcConfig } from "../../../../shared/config/resolve/oidc.js";
import { namesOfToken } from "../../../../shared/domain/jwt-denial.js";

const keys = await generateKeyPair("RS256");
const others = await generateKeyPair("RS256");
const jwk = { ...(await exportJWK(keys.publicKey)), kid: "k", alg: "RS256", use: "sig" };
const answers = { idToken: "", isAway: false, discoveries: 0 };
const server = createServer((request, response) => {
  if (request.url === "/.well-known/openid-configuration") answers.discoveries++;
  response.statusCode = answers.isAway ? 503 : 200;
  response.setHeader("content-type", "application/json");
  const bodies: Readonly<Record<string, object>> = {
    "/.well-known/openid-configuration": {
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ["code"],
      id_token_signing_alg_values_supported: ["RS256"],
      authorization_response_iss_parameter_supported: true,
    },
    "/jwks": { keys: [jwk] },
    "/token": { access_token: "a", token_type: "bearer", id_token: answers.idToken },
  };
  response.end(JSON.stringify(bodies[request.url ?? ""] ?? {}));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
t.teardown(() => server.close());
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const config: OidcConfig = {
  issuer,
  clientId: "sluice",
  clientSecret: "s",
  clientSecretFile: null,
  redirectUrl: null,
  sessionMs: null,
  scopes: ["openid"],
  roles: [{ claim: "groups", value: "admins", role: "admin", path: "/" }],
};
const provider = createOidcProvider(config, Date.now);
const redirectUrl = "https://gateway.example/dashboard/sign-in/callback";
const secret = "s".repeat(43);
const { searchParams } = new URL(await provider.signInUrl(secret, redirectUrl));
const nonce = searchParams.get("nonce")!;
const callback = new URL(redirectUrl);
callback.search = `code=c&state=${searchParams.get("state")}&iss=${encodeURIComponent(issuer)}`;
const seconds = Math.floor(Date.now() / 1000);
const right = {
  iss: issuer,
  aud: "sluice",
  sub: "ann",
  groups: ["admins"],
  nonce,
  iat: seconds,
  exp: seconds + 300,
};

async function finish(claims: object, key = keys.privateKey): Promise<unknown> {
  answers.idToken = await new SignJWT({ ...claims })
    .setProtectedHeader({ alg: "RS256", kid: "k" })
    .sign(key);
  return provider.finish(secret, callback);
}

t.test("the right ID token signs in until it expires", async (t) => {
  t.same(await finish(right), {
    name: "OIDC ann",
    deniableNames: namesOfToken({ iss: right.iss, sub: "ann" }),
    administration: { role: "admin", path: "/" },
    expiresAtMs: right.exp * 1000,
  });
});

t.test("a session of a length of its own ends then, whenever the ID token does", async (t) => {
  const nowMs = Date.now();
  for (const sessionMs of [60_000, 7_200_000]) {
    const own = createOidcProvider({ ...config, sessionMs }, () => nowMs);
    await own.signInUrl(secret, redirectUrl);
    t.match(await own.finish(secret, callback), { expiresAtMs: nowMs + sessionMs });
  }
});

t.test("a token of another sign-in, issuer, client, key or time is refused", async (t) => {
  for (const [name, claims] of [
    ["another nonce", { ...right, nonce: "x".repeat(43) }],
    ["no nonce", { ...right, nonce: undefined }],
    ["another issuer", { ...right, iss: "https://evil.example" }],
    ["the issuer with a slash", { ...right, iss: `${issuer}/` }],
    ["another client", { ...right, aud: "other" }],
    ["expired", { ...right, iat: seconds - 900, exp: seconds - 600 }],
    ["no person", { ...right, sub: undefined }],
    ["no expiry", { ...right, exp: undefined }],
  ] as const)
    await t.rejects(finish(claims), name);
  const [head, body] = answers.idToken.split(".");
  const none = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url");
  for (const forged of [`${none}.${body}.`, `${head}.${body}.`, ""]) {
    answers.idToken = forged;
    await t.rejects(provider.finish(secret, callback), forged.slice(0, 9));
  }
  await t.rejects(provider.finish("t".repeat(43), callback), "another browser's secret");
  await t.rejects(finish(right, others.privateKey), "another key");
});

t.test("a provider that is away is asked once in a few seconds, and one at a time", async (t) => {
  const clock = { nowMs: 0 };
  const away = createOidcProvider(config, () => clock.nowMs);
  answers.isAway = true;
  answers.discoveries = 0;
  const begin = () => away.signInUrl(secret, redirectUrl);
  await Promise.all([t.rejects(begin()), t.rejects(begin())]);
  clock.nowMs = discoveryPauseMs - 1;
  await t.rejects(begin());
  t.equal(answers.discoveries, 1);
  answers.isAway = false;
  clock.nowMs = discoveryPauseMs;
  await Promise.all([begin(), begin()]);
  await begin();
  t.equal(answers.discoveries, 2);
});
