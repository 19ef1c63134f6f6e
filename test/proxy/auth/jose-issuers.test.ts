/** Real signatures, by the package that issuers use too. */
import { createPublicKey, type JsonWebKeyInput } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createJwtIssuers, digestToken } from "../../../proxy/auth/jose-issuers.js";
import type { Judgement, JwtIssuer } from "../../../proxy/auth/jwt-verifier.js";
import { keySetBytesMax } from "../../../shared/bounds.js";
import type { JwtIssuerConfig } from "../../../shared/config/config.js";
import {
  publicKeyAlgorithms,
  secretAlgorithms,
} from "../../../shared/config/settings/jwt-settings.js";
import { createLog } from "../../../shared/log.js";
import { keySet, makeSigner, type Signer, signWithSecret } from "../../support/jwt-signer.js";

const nowMs = Date.now();
const now = Math.floor(nowMs / 1000);
const base = {
  issuer: "https://issuer.test",
  audience: ["sluice", "gateway"],
  userPath: "/u/{sub}",
  models: null,
  modelsClaim: null,
};
const claims = { iss: base.issuer, aud: "sluice", sub: "ann" };
const log = createLog("proxy", "silent");

async function issuerOf(
  config: Partial<JwtIssuerConfig> & Pick<JwtIssuerConfig, "keys">,
): Promise<JwtIssuer> {
  const [issuer] = await createJwtIssuers(
    [
      {
        ...base,
        algorithms: config.keys.kind === "secret" ? secretAlgorithms : publicKeyAlgorithms,
        ...config,
      },
    ],
    log,
  );
  return issuer!;
}

function fileOf(t: Test, text: string): { readonly path: string; write(text: string): void } {
  const directory = mkdtempSync(join(tmpdir(), "sluice-jwt-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "jwks.json");
  writeFileSync(path, text);
  return { path, write: (other) => writeFileSync(path, other) };
}

const resultOf = (judgement: Judgement): string =>
  judgement.kind === "verified" ? `verified ${judgement.claims["sub"]}` : judgement.kind;
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

const es = await makeSigner("es");
const rs = await makeSigner("rs", "RS256");

t.test("signature, algorithm, issuer, audience, expiry and not-before are judged", async (t) => {
  const issuer = await issuerOf({ keys: { kind: "file", path: fileOf(t, keySet(es, rs)).path } });
  const otherSigner = await makeSigner("es");
  const [header = "", , signature = ""] = (await es.sign(claims)).split(".");
  const publicPem = createPublicKey({ key: es.jwk as JsonWebKeyInput["key"], format: "jwk" })
    .export({ type: "spki", format: "pem" })
    .toString();
  const cases: readonly (readonly [name: string, token: string, expected: string])[] = [
    ["good", await es.sign(claims), "verified ann"],
    ["another of the keys", await rs.sign(claims), "verified ann"],
    [
      "one audience of several",
      await es.sign({ ...claims, aud: ["x", "gateway"] }),
      "verified ann",
    ],
    ["expired within the tolerance", await es.sign({ ...claims, exp: now - 5 }), "verified ann"],
    [
      "not yet valid within the tolerance",
      await es.sign({ ...claims, nbf: now + 5 }),
      "verified ann",
    ],
    [
      "without a key id, one key of its kind",
      await es.sign(claims, { kid: undefined }),
      "verified ann",
    ],
    ["expired", await es.sign({ ...claims, exp: now - 60 }), "wrong"],
    ["without an expiry", await es.sign({ ...claims, exp: undefined }), "wrong"],
    ["an expiry that is no number", await es.sign({ ...claims, exp: "never" }), "wrong"],
    ["not yet valid", await es.sign({ ...claims, nbf: now + 60 }), "wrong"],
    ["another issuer", await es.sign({ ...claims, iss: "https://other.test" }), "wrong"],
    ["another audience", await es.sign({ ...claims, aud: "other" }), "wrong"],
    ["no audience", await es.sign({ ...claims, aud: undefined }), "wrong"],
    ["another's key with the same id", await otherSigner.sign(claims), "wrong"],
    ["an unknown key id", await es.sign(claims, { kid: "nope" }), "wrong"],
    [
      "other claims under the signature",
      `${header}.${encoded({ ...claims, sub: "root", exp: now + 3600 })}.${signature}`,
      "wrong",
    ],
    [
      "a tampered signature",
      `${header}.${encoded({ ...claims, exp: now + 3600 })}.${signature.slice(0, -4)}AAAA`,
      "wrong",
    ],
    [
      "alg none",
      `${encoded({ alg: "none" })}.${encoded({ ...claims, exp: now + 3600 })}.`,
      "wrong",
    ],
    [
      "alg None with a signature",
      `${encoded({ alg: "None" })}.${encoded({ ...claims, exp: now + 3600 })}.${signature}`,
      "wrong",
    ],
    ["the public key as an HMAC secret", await signWithSecret(publicPem, claims), "wrong"],
    [
      "a critical header that unreachable knows",
      `${encoded({ alg: "ES256", kid: "es", crit: ["x"], x: 1 })}.${encoded(claims)}.${signature}`,
      "wrong",
    ],
    ["no JSON", "e30.e30.e30", "wrong"],
  ];
  for (const [name, token, expected] of cases)
    t.equal(resultOf(await issuer.judge(token, nowMs)), expected, name);
  const expiredAt = async (token: string): Promise<unknown> =>
    ((await issuer.judge(token, nowMs)) as { expiredAtMs?: number }).expiredAtMs;
  const over = { ...claims, exp: now - 60 };
  t.equal(await expiredAt(await es.sign(over)), (now - 60) * 1000, "its holder may know");
  t.equal(await expiredAt(await otherSigner.sign(over)), undefined, "a forger learns nothing");
  t.equal(await expiredAt(await es.sign({ ...claims, exp: -1 })), undefined);
});

t.test("only the configured algorithms are accepted", async (t) => {
  const { path } = fileOf(t, keySet(es, rs));
  const issuer = await issuerOf({ algorithms: ["RS256"], keys: { kind: "file", path } });
  t.equal(resultOf(await issuer.judge(await rs.sign(claims), nowMs)), "verified ann");
  t.equal(resultOf(await issuer.judge(await es.sign(claims), nowMs)), "wrong");
});

t.test("a shared secret accepts its own signatures and no others", async (t) => {
  const secret = "0123456789abcdef0123456789abcdef";
  const issuer = await issuerOf({ keys: { kind: "secret", secret } });
  t.equal(
    resultOf(await issuer.judge(await signWithSecret(secret, claims), nowMs)),
    "verified ann",
  );
  t.equal(resultOf(await issuer.judge(await signWithSecret(`${secret}x`, claims), nowMs)), "wrong");
  t.equal(resultOf(await issuer.judge(await es.sign(claims), nowMs)), "wrong");
  t.equal(
    resultOf(
      await issuer.judge(
        `${encoded({ alg: "none" })}.${encoded({ ...claims, exp: now + 3600 })}.`,
        nowMs,
      ),
    ),
    "wrong",
  );
});

t.test("without a key id each of several keys is tried", async (t) => {
  const other = await makeSigner("es2");
  const issuer = await issuerOf({
    keys: { kind: "file", path: fileOf(t, keySet(es, other)).path },
  });
  for (const signer of [es, other])
    t.equal(
      resultOf(await issuer.judge(await signer.sign(claims, { kid: undefined }), nowMs)),
      "verified ann",
    );
  const otherSigner = await makeSigner("es3");
  t.equal(
    resultOf(await issuer.judge(await otherSigner.sign(claims, { kid: undefined }), nowMs)),
    "wrong",
  );
  t.equal(
    resultOf(
      await issuer.judge(await other.sign({ ...claims, exp: now - 60 }, { kid: undefined }), nowMs),
    ),
    "wrong",
    "and the other checks hold for it",
  );
});

t.test(
  "a file is read again for a key that isn't in it yet; one that isn't there is unavailable",
  async (t) => {
    const next = await makeSigner("next");
    const file = fileOf(t, keySet(es));
    const issuer = await issuerOf({ keys: { kind: "file", path: file.path } });
    t.equal(resultOf(await issuer.judge(await es.sign(claims), nowMs)), "verified ann");
    file.write(keySet(es, next));
    t.equal(resultOf(await issuer.judge(await next.sign(claims), nowMs)), "verified ann");
    // Some issuers give a new key the id of the old one.
    const same = await makeSigner("es");
    const reused = await issuerOf({ keys: { kind: "file", path: file.path } });
    t.equal(resultOf(await reused.judge(await es.sign(claims), nowMs)), "verified ann");
    file.write(keySet(same));
    t.equal(resultOf(await reused.judge(await same.sign(claims), nowMs)), "verified ann");
    t.equal(resultOf(await reused.judge(await es.sign(claims), nowMs)), "wrong");
    const missing = await issuerOf({
      keys: { kind: "file", path: join(tmpdir(), "sluice-no-such-file", "jwks.json") },
    });
    t.equal(resultOf(await missing.judge(await es.sign(claims), nowMs)), "unavailable");
    const broken = await issuerOf({ keys: { kind: "file", path: fileOf(t, '{"keys":5}').path } });
    t.equal(resultOf(await broken.judge(await es.sign(claims), nowMs)), "unavailable");
  },
);

interface KeyServer {
  readonly url: string;
  answer: (path: string) => {
    readonly status: number;
    readonly body: string;
    readonly location?: string;
  };
  requests: number;
}

async function startKeyServer(t: Test, signer: Signer): Promise<KeyServer> {
  const server = createServer((request, response) => {
    keyServer.requests++;
    const { status, body, location } = keyServer.answer(request.url ?? "");
    response
      .writeHead(status, {
        "content-type": "application/json",
        ...(location === undefined ? {} : { location }),
      })
      .end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  const keyServer: KeyServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`,
    answer: () => ({ status: 200, body: keySet(signer) }),
    requests: 0,
  };
  return keyServer;
}

t.test(
  "keys at an address rotate, with at most one load per cooldown; an outage keeps the old ones",
  async (t) => {
    const server = await startKeyServer(t, es);
    const issuer = await issuerOf({ keys: { kind: "url", url: server.url, proxy: null } });
    t.equal(resultOf(await issuer.judge(await es.sign(claims), nowMs)), "verified ann");
    t.equal(server.requests, 1);
    const next = await makeSigner("next");
    server.answer = () => ({ status: 200, body: keySet(next) });
    t.equal(
      resultOf(await issuer.judge(await next.sign(claims), nowMs)),
      "verified ann",
      "rotated in",
    );
    t.equal(resultOf(await issuer.judge(await es.sign(claims), nowMs)), "wrong", "rotated out");
    server.answer = () => ({ status: 500, body: "" });
    for (const kid of ["x", "y", "z"])
      t.equal(resultOf(await issuer.judge(await next.sign(claims, { kid }), nowMs)), "wrong");
    t.equal(server.requests, 2, "unknown keys don't make it ask again and again");
    t.equal(resultOf(await issuer.judge(await next.sign(claims), nowMs)), "verified ann");
  },
);

t.test("an address that doesn't return a key set leaves the issuer unavailable", async (t) => {
  const answers: readonly KeyServer["answer"][] = [
    () => ({ status: 404, body: "" }),
    () => ({ status: 200, body: "<html>" }),
    () => ({ status: 200, body: "{}" }),
    () => ({ status: 200, body: `{"keys":[],"pad":"${"x".repeat(1024 * 1024)}"}` }),
    (path) =>
      path === "/jwks"
        ? { status: 302, body: "", location: "/moved" }
        : { status: 200, body: keySet(es) },
  ];
  const token = await es.sign(claims);
  for (const [index, answer] of answers.entries()) {
    const server = await startKeyServer(t, es);
    server.answer = answer;
    const issuer = await issuerOf({ keys: { kind: "url", url: server.url, proxy: null } });
    t.equal(resultOf(await issuer.judge(token, nowMs)), "unavailable", `${index}`);
    t.equal(server.requests, 1);
  }
  const unreachable = await issuerOf({
    keys: { kind: "url", url: "http://127.0.0.1:1/jwks", proxy: null },
  });
  t.equal(resultOf(await unreachable.judge(token, nowMs)), "unavailable");
});

t.test("a key set is read up to its bound, and no byte further", async (t) => {
  const token = await es.sign(claims);
  const set = keySet(es);
  for (const [bytes, result] of [
    [keySetBytesMax, "verified ann"],
    [keySetBytesMax + 1, "unavailable"],
  ] as const) {
    const server = await startKeyServer(t, es);
    server.answer = () => ({ status: 200, body: set + " ".repeat(bytes - set.length) });
    const issuer = await issuerOf({ keys: { kind: "url", url: server.url, proxy: null } });
    t.equal(resultOf(await issuer.judge(token, nowMs)), result, `${bytes} bytes`);
  }
  let closed = (): void => {};
  const closing = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const endless = createServer((_, response) => {
    const piece = " ".repeat(65_536);
    const more = (): void => {
      while (!response.destroyed && response.write(piece));
    };
    // The test ends only when the connection is closed.
    response.on("drain", more).on("close", closed);
    response.write(set);
    more();
  });
  await new Promise<void>((resolve) => endless.listen(0, "127.0.0.1", resolve));
  t.teardown(() => new Promise<void>((resolve) => void endless.close(() => resolve())));
  const url = `http://127.0.0.1:${(endless.address() as AddressInfo).port}/jwks`;
  const issuer = await issuerOf({ keys: { kind: "url", url, proxy: null } });
  t.equal(resultOf(await issuer.judge(token, nowMs)), "unavailable", "one that never ends");
  await closing;
});

t.test("a token's digest is short and unique", async (t) => {
  t.not(digestToken("a"), digestToken("b"));
  t.equal(digestToken("x".repeat(5000)).length, 44);
});
