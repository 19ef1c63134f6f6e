/**
 * Sign-in by OpenID Connect (docs/roles.md), through real processes, at a real provider on
 * loopback (`oidc-provider`): what people's claims open, and what forgers get.
 */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import t from "tap";
import { until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";

const master = "master-key-of-the-test";
const secret = "secret-of-the-client-0123456789abcdef";
/** What the provider knows of each person; tests change it. */
const people = new Map<string, Record<string, unknown>>();

async function startProvider(): Promise<{ readonly issuer: string; close(): void }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "sluice",
        client_secret: secret,
        token_endpoint_auth_method: "client_secret_post",
        redirect_uris: [`${publicUrl}/dashboard/sign-in/callback`],
      },
    ],
    claims: { openid: ["sub", "groups"], email: ["email", "email_verified"] },
    pkce: { required: () => true },
    ttl: { IdToken: () => idTokenSeconds.now },
    findAccount: (_context: unknown, sub: string) => ({
      accountId: sub,
      claims: () => ({ sub, ...people.get(sub) }),
    }),
  });
  server.on("request", provider.callback());
  return { issuer, close: () => void server.close() };
}

const idTokenSeconds = { now: 3600 };
// The gateway's address is known to the provider before either runs: a proxy in front has it.
const publicUrl = "http://gateway.test";
const provider = await startProvider();
t.teardown(() => provider.close());
const site = makeSite(
  t,
  `
server: { master_key: ${master}, public_url: "${publicUrl}" }
admin:
  oidc:
    issuer: ${provider.issuer}
    client_id: sluice
    client_secret: "\${SECRET}"
    roles:
      - { claim: groups, value: admins, role: admin }
      - { claim: groups, value: leads, role: operator, path: /team }
      - { claim: email, value: ann@example.com, role: viewer, path: /ann }
rate_limits:
  user_paths:
    - { path: /team/a, limits: [{ period: day, max_requests: 5 }] }
    - { path: /team2, limits: [{ period: day, max_requests: 6 }] }
`,
  { SECRET: secret },
);
await site.startDaemon();
const started = await site.startProxy();
const url = started.ready;

/** A browser's cookies for one host. */
class Jar {
  readonly #cookies = new Map<string, string>();

  get header(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  take(response: Response): void {
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";", 1);
      const at = pair.indexOf("=");
      if (/max-age=0|1970/i.test(line)) this.#cookies.delete(pair.slice(0, at));
      else this.#cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
  }

  get(name: string): string | undefined {
    return this.#cookies.get(name);
  }
}

async function visit(jar: Jar, address: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(address, {
    redirect: "manual",
    ...init,
    headers: { cookie: jar.header, ...(init.headers as Record<string, string>) },
  });
  jar.take(response);
  return response;
}

/** Opens the provider's page as a person, and returns where it sends the browser at the end. */
async function signInAtProvider(address: string, person: string): Promise<string> {
  const jar = new Jar();
  let at = address;
  for (let steps = 0; steps < 12; steps++) {
    const response = await visit(jar, at);
    const location = response.headers.get("location");
    if (location !== null) {
      at = new URL(location, at).href;
      if (at.startsWith(publicUrl)) return at;
      continue;
    }
    const page = await response.text();
    const form = /action="([^"]+)"/.exec(page)?.[1];
    assert.ok(form !== undefined, page);
    const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1] ?? "";
    const fields = { prompt, ...(prompt === "login" ? { login: person, password: "x" } : {}) };
    const sent = await visit(jar, new URL(form, at).href, {
      method: "POST",
      body: new URLSearchParams(fields),
    });
    at = new URL(sent.headers.get("location") ?? "", at).href;
    if (at.startsWith(publicUrl)) return at;
  }
  throw new Error("the provider has too many pages");
}

const atGateway = (address: string): string => address.replace(publicUrl, url);

async function begin(jar: Jar): Promise<string> {
  const response = await visit(jar, `${url}/dashboard/sign-in`);
  assert.equal(response.status, 303);
  return response.headers.get("location")!;
}

interface SignedIn {
  readonly jar: Jar;
  readonly location: string;
  readonly callback: string;
}

async function signIn(person: string): Promise<SignedIn> {
  const jar = new Jar();
  const callback = await signInAtProvider(await begin(jar), person);
  const response = await visit(jar, atGateway(callback));
  assert.equal(response.status, 303);
  return { jar, location: response.headers.get("location")!, callback };
}

async function ask(jar: Jar, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(url + path, {
    ...init,
    headers: {
      cookie: jar.header,
      "sec-fetch-site": "same-origin",
      "content-type": "application/json",
    },
  });
}

t.test("a person signs in at the provider, and has the role of the first claim", async (t) => {
  for (const [person, claims, role, path, name] of [
    ["root", { groups: ["x", "admins", "leads"] }, "admin", "/", "OIDC root"],
    ["lead", { groups: ["leads"] }, "operator", "/team", "OIDC lead"],
    ["one", { groups: "leads" }, "operator", "/team", "OIDC one"],
    [
      "ann",
      { email: "ann@example.com", email_verified: true },
      "viewer",
      "/ann",
      "OIDC ann@example.com",
    ],
    ["master key", { groups: ["leads"] }, "operator", "/team", "OIDC master key"],
  ] as const) {
    people.set(person, claims);
    const { jar, location } = await signIn(person);
    t.equal(location, "../", person);
    t.equal(jar.get("sluice-sign-in"), undefined, "its cookie is gone");
    const status = (await (await ask(jar, "/dashboard/session")).json()) as object;
    t.match(status, { kind: "admin", role, path, name, oidc: true }, person);
  }
});

t.test("a role opens its subtree, and the audit log names the person", async (t) => {
  people.set("lead", { groups: ["leads"] });
  const { jar } = await signIn("lead");
  const limits = await (await ask(jar, "/admin/rate-limits")).text();
  t.match(limits, /\/team\/a/);
  t.notMatch(limits, /team2/);
  t.equal((await ask(jar, "/admin/traffic")).status, 403);
  const rule = { user_path: "/team/b", limit_key: { period: "day" }, max_requests: 3 };
  const put = (body: object): Promise<Response> =>
    ask(jar, "/admin/rate-limits", { method: "PUT", body: JSON.stringify(body) });
  t.equal((await put(rule)).status, 200);
  t.equal((await put({ ...rule, user_path: "/team2" })).status, 403);
  t.equal((await ask(jar, "/admin/auth-keys", { method: "POST", body: "{}" })).status, 403);
  const audit = await (
    await fetch(`${url}/admin/audit`, { headers: { authorization: `Bearer ${master}` } })
  ).text();
  t.match(audit, /"who":"OIDC lead".{1,200}"rate-limits.put"/);
  t.match(audit, /"who":"OIDC lead".{1,200}"sessions.open-admin"/);
});

t.test("who has no role gets no session", async (t) => {
  for (const claims of [
    {},
    { groups: [] },
    { groups: ["LEADS", "leads2"] },
    { groups: { leads: true } },
    { email: "ann@example.com" },
    { email: "ann@example.com", email_verified: false },
    { email: "ann@example.com", email_verified: "true" },
  ]) {
    people.set("nobody", claims);
    const { jar, location } = await signIn("nobody");
    t.equal(location, "../?sign-in=no-role", JSON.stringify(claims));
    t.equal(jar.get("sluice"), undefined);
    // Failed attempts of one address are bounded.
    people.set("root", { groups: ["admins"] });
  }
});

t.test(
  "a session ends with its ID token, and a removed group is gone at the next sign-in",
  async (t) => {
    people.set("brief", { groups: ["admins"] });
    // On a slow machine the token may be over before the first question.
    let jar = new Jar();
    const status = async (): Promise<number> => (await ask(jar, "/admin/status")).status;
    for (idTokenSeconds.now = 2; ; idTokenSeconds.now *= 2) {
      ({ jar } = await signIn("brief"));
      if ((await status()) === 200) break;
    }
    await until(status, (now) => now === 401, 200);
    idTokenSeconds.now = 3600;
    people.set("brief", { groups: [] });
    t.equal((await signIn("brief")).location, "../?sign-in=no-role");
  },
);

t.test("a sign-out ends the session", async (t) => {
  people.set("root", { groups: ["admins"] });
  const { jar } = await signIn("root");
  t.equal((await ask(jar, "/dashboard/session", { method: "DELETE" })).status, 204);
  t.equal((await ask(jar, "/admin/status")).status, 401);
});

t.test("who is denied is out with the next request, and doesn't get in again", async (t) => {
  people.set("ann", { email: "ann@example.com", email_verified: true });
  people.set("lead", { groups: ["leads"] });
  const byMaster = (method: string, body: object): Promise<Response> =>
    fetch(`${url}/admin/denied-jwts`, {
      method,
      headers: { authorization: `Bearer ${master}` },
      body: JSON.stringify(body),
    });
  for (const [person, sub] of [
    ["ann", "ann@example.com"],
    ["lead", "lead"],
  ] as const) {
    const { jar } = await signIn(person);
    const { jar: other } = await signIn("one");
    t.equal((await ask(jar, "/admin/status")).status, 200);
    const denied = { sub, issuer: provider.issuer };
    t.equal((await byMaster("PUT", denied)).status, 200);
    t.equal((await ask(jar, "/admin/status")).status, 401, `${person} is out`);
    t.equal((await ask(other, "/admin/status")).status, 200, "others stay");
    t.equal((await signIn(person)).location, "../?sign-in=denied");
    t.equal((await byMaster("DELETE", denied)).status, 204);
    t.equal((await signIn(person)).location, "../", "allowed again");
  }
});

t.test("a forged, replayed or foreign callback opens nothing", async (t) => {
  people.set("root", { groups: ["admins"] });
  const finish = async (jar: Jar, callback: string): Promise<string> => {
    const response = await visit(jar, atGateway(callback));
    t.equal(response.status, 303);
    t.equal(jar.get("sluice"), undefined, "no session");
    return response.headers.get("location")!;
  };
  const own = new Jar();
  const callback = await signInAtProvider(await begin(own), "root");
  const stranger = new Jar();
  t.equal(await finish(stranger, callback), "../?sign-in=expired", "without the cookie");
  await begin(stranger);
  t.equal(await finish(stranger, callback), "../?sign-in=failed", "of another browser");

  const changed = (edit: (query: URLSearchParams) => void): string => {
    const address = new URL(callback);
    edit(address.searchParams);
    return address.href;
  };
  for (const [name, edit] of [
    ["another state", (query: URLSearchParams) => query.set("state", "x")],
    ["no state", (query: URLSearchParams) => query.delete("state")],
    ["two states", (query: URLSearchParams) => query.append("state", "x")],
    ["another issuer", (query: URLSearchParams) => query.set("iss", "https://evil.example")],
    ["another code", (query: URLSearchParams) => query.set("code", "x".repeat(43))],
    ["an error", (query: URLSearchParams) => query.set("error", "access_denied")],
  ] as const) {
    const jar = new Jar();
    const cookie = `sluice-sign-in=${own.get("sluice-sign-in")}`;
    const response = await fetch(atGateway(changed(edit)), {
      redirect: "manual",
      headers: { cookie },
    });
    jar.take(response);
    t.equal(response.headers.get("location"), "../?sign-in=failed", name);
    t.equal(jar.get("sluice"), undefined, name);
  }
});

t.test("a callback opens one session, and its code none the second time", async (t) => {
  people.set("root", { groups: ["admins"] });
  const jar = new Jar();
  const callback = await signInAtProvider(await begin(jar), "root");
  const headers = { cookie: jar.header };
  const once = await fetch(atGateway(callback), { redirect: "manual", headers });
  t.equal(once.headers.get("location"), "../");
  const twice = await fetch(atGateway(callback), { redirect: "manual", headers });
  t.equal(twice.headers.get("location"), "../?sign-in=failed");
  t.notMatch(twice.headers.getSetCookie().join(), /sluice=[\w-]{43}/);
});

t.test("nothing in a request says where the browser goes afterwards", async (t) => {
  const response = await fetch(`${url}/dashboard/sign-in?return_to=https://evil.example`, {
    redirect: "manual",
  });
  const location = new URL(response.headers.get("location")!);
  t.equal(location.origin, provider.issuer);
  t.match(Object.fromEntries(location.searchParams), {
    redirect_uri: `${publicUrl}/dashboard/sign-in/callback`,
    response_type: "code",
    code_challenge_method: "S256",
    state: /^[\w-]{43}$/,
    nonce: /^[\w-]{43}$/,
    code_challenge: /^[\w-]{43}$/,
  });
  t.match(response.headers.get("set-cookie"), /; HttpOnly; SameSite=Lax; Max-Age=600$/);
  t.notMatch(started.output(), new RegExp(secret));
});
