/**
 * Callers for some models alone, through real processes: by a managed key and by a JWT, in every
 * dialect and at every door that leads to a model.
 */
import { writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import t from "tap";
import { admin } from "../../support/client.js";
import { keySet, makeSigner } from "../../support/jwt-signer.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";

const masterKey = "master-key-of-the-test";
const byMaster = { authorization: `Bearer ${masterKey}` };
const settings = `
server: { master_key: ${masterKey}, passthrough: all }
cache: { enabled: true }
providers:
  test: { type: simulator, models: [small, large] }
  there: { type: openai, base_url: "http://127.0.0.1:1/v1", api_key: k, models: [far] }
  google: { type: gemini, base_url: "http://127.0.0.1:1", api_key: k, models: [gem] }
  claude: { type: anthropic, base_url: "http://127.0.0.1:1", api_key: k, models: [far] }
virtual_models:
  fast: { targets: [{ model: test/small }] }
aliases: { mine: test/large, "small-*": test/large }
jwt:
  - issuer: https://issuer.test
    audience: sluice
    jwks_file: keys.json
    user_path: /u/{sub}
    models: [test/*, fast, there/*]
    models_claim: models
`;

t.test("a restricted key or token reaches the models of its list, and nothing else", async (t) => {
  const site = makeSite(t, settings);
  const signer = await makeSigner("one");
  writeFileSync(join(site.directory, "keys.json"), keySet(signer));
  await site.startDaemon();
  const { ready: url } = await site.startProxy();
  const { status, body } = await admin(
    url,
    "POST /auth-keys",
    { user_path: "/team", models: ["small", "small-i*", "fast"] },
    byMaster,
  );
  t.match(
    { status, body },
    exactly({ status: 201, body: { models: ["small", "small-i*", "fast"] } }),
  );
  const key = String(body["value"]);
  const token = await signer.sign({
    iss: "https://issuer.test",
    aud: "sluice",
    sub: "ann",
    models: "small small-i* fast mine",
    exp: Math.floor(Date.now() / 1000) + 600,
  });

  for (const credential of [key, token]) {
    const call = async (path: string, sent?: object, headers: Record<string, string> = {}) => {
      const response = await fetch(`${url}${path}`, {
        method: sent === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${credential}`, ...headers },
        ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    const messages = [{ role: "user", content: "hi" }];
    const refused = { error: { type: "permission_error", code: "model_not_allowed" } };
    for (const model of ["small", "test/small", "TEST/Small", "fast"])
      for (const at of ["first", "from the cache"])
        t.match(
          await call("/v1/chat/completions", { model, messages }),
          { status: 200 },
          `${model} ${at}`,
        );
    // In the cache for a caller that may use it.
    const path = credential === key ? "/team" : "/u/ann";
    const large = { model: "test/large", messages };
    await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { ...byMaster, "x-sluice-user-path": path },
      body: JSON.stringify(large),
    }).then((response) => response.text());
    for (const model of ["test/large", "large", "there/far"])
      t.match(
        await call("/v1/chat/completions", { model, messages }),
        { status: 403, body: refused },
        model,
      );
    t.equal(
      (await call("/v1/chat/completions", { model: "mine", messages })).status,
      credential === key ? 403 : 200,
      "an alias is allowed by its own name, too",
    );
    t.equal(
      (await call("/v1/chat/completions", { model: "small-invented", messages })).status,
      403,
      "an alias for names that begin so isn't allowed by what the client puts after it",
    );
    for (const [path, others] of [
      ["/v1/chat/completions", { models: ["large"], route: "fallback" }],
      ["/v1/messages", { fallbacks: [{ model: "large" }] }],
      ["/v1/messages", { tools: [{ type: "advisor_20260301", name: "a", model: "large" }] }],
      ["/v1/messages/count_tokens", { fallbacks: [{ model: "large" }] }],
    ] as const) {
      const sent = { model: "small", messages, max_tokens: 5, ...others };
      t.match(
        await call(path, sent),
        { status: 403, body: { error: { message: /this request could use others/ } } },
        `${path} with ${Object.keys(others).join(", ")}`,
      );
      const anyone = { method: "POST", headers: byMaster, body: JSON.stringify(sent) };
      t.not((await fetch(`${url}${path}`, anyone)).status, 403, "others may");
    }
    t.match(await call("/v1/messages", { ...large, max_tokens: 5 }), {
      status: 403,
      body: { type: "error", error: { type: "permission_error", message: /may not use/ } },
    });
    t.match(await call("/v1/messages/count_tokens", large), { status: 403 });
    t.match(await call("/v1/messages/count_tokens", { ...large, model: "fast" }), { status: 200 });
    t.match(
      await call("/v1beta/models/gem:generateContent", {
        contents: [{ parts: [{ text: "hi" }] }],
      }),
      { status: 403, body: { error: { status: "PERMISSION_DENIED" } } },
    );
    t.match(await call("/p/there/v1/models"), { status: 403, body: refused }, "passthrough");
    t.match(
      await call("/v1/batches", {
        input_file_id: "file-1",
        endpoint: "/v1/chat/completions",
        completion_window: "24h",
      }),
      { status: 403 },
      "a batch",
    );
    t.match(await call("/v1/messages/batches", { requests: [] }), { status: 403 });
    const { body: list } = await call("/v1/models");
    t.same(
      (list["data"] as { id: string }[]).map(({ id }) => id),
      credential === key ? ["fast", "test/small"] : ["fast", "mine", "test/small"],
    );
    t.equal(await upgraded(url, credential), 403, "realtime");
  }
  t.match((await admin(url, "POST /explain", { key: "key_1", model: "large" }, byMaster)).body, {
    message: /key_1 may not use the model "test\/large"; it may use: small, small-i\*, fast/,
  });
  t.match(
    (await admin(url, "POST /explain", { key: "key_1", model: "fast" }, byMaster)).status,
    200,
  );
});

/** The status with which an upgrade for a model that isn't allowed is answered. */
function upgraded(url: string, credential: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${credential}`,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    };
    get(`${url}/v1/realtime?model=there/far`, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on("error", reject);
  });
}

t.test("a key and an issuer may be for all models but some", async (t) => {
  const site = makeSite(
    t,
    `
server: { master_key: ${masterKey} }
providers:
  test: { type: simulator, models: [small, large, largest] }
virtual_models:
  fast: { targets: [{ model: test/small }] }
aliases: { mine: test/large }
jwt:
  - issuer: https://issuer.test
    audience: sluice
    jwks_file: keys.json
    user_path: /u/{sub}
    models: ["*", "!large*"]
`,
  );
  const signer = await makeSigner("one");
  writeFileSync(join(site.directory, "keys.json"), keySet(signer));
  await site.startDaemon();
  const { ready: url } = await site.startProxy();
  const made = await admin(
    url,
    "POST /auth-keys",
    { user_path: "/team", models: ["*", "!test/large*"] },
    byMaster,
  );
  t.match(made, { status: 201, body: exactly({ models: ["*", "!test/large*"] }) });
  const only = { user_path: "/team", models: ["!large"] };
  t.match(await admin(url, "POST /auth-keys", only, byMaster), {
    status: 400,
    body: { param: "models", message: /add "\*" for all others$/ },
  });
  const token = await signer.sign({
    iss: "https://issuer.test",
    aud: "sluice",
    sub: "ann",
    exp: Math.floor(Date.now() / 1000) + 600,
  });
  for (const credential of [String(made.body["value"]), token]) {
    const headers = { authorization: `Bearer ${credential}` };
    for (const [path, extra] of [
      ["/v1/chat/completions", {}],
      ["/v1/messages", { max_tokens: 5 }],
    ] as const)
      for (const [model, status] of [
        ["small", 200],
        ["fast", 200],
        ["large", 403],
        ["TEST/Largest", 403],
        ["mine", 403],
      ] as const) {
        const messages = [{ role: "user", content: "hi" }];
        const body = JSON.stringify({ model, messages, ...extra });
        const response = await fetch(`${url}${path}`, { method: "POST", headers, body });
        const answer = (await response.json()) as { error?: { message?: string } };
        t.equal(response.status, status, `${model} at ${path}`);
        if (status === 403) t.match(answer.error?.message, /in its list leaves it out$/);
      }
    const listed = await fetch(`${url}/v1/models`, { headers });
    const { data } = (await listed.json()) as { data: readonly { id: string }[] };
    t.same(
      data.map(({ id }) => id),
      ["fast", "test/small"],
    );
  }
});

t.test("what a rule bans on a path isn't listed there, in any dialect", async (t) => {
  const site = makeSite(
    t,
    `
server: { master_key: ${masterKey} }
providers:
  test: { type: simulator, models: [small, large, largest] }
virtual_models:
  both: { targets: [{ model: test/small }, { model: test/large }] }
  big: { targets: [{ model: test/large }, { model: test/largest }] }
rate_limits:
  user_paths:
    - { path: /interns, limits: [{ period: day, max_requests: 0, models: ["large*"] }] }
    - { path: /all, limits: [{ period: day, max_requests: 0, models: ["*", "!test/small"] }] }
`,
  );
  await site.startDaemon();
  const { ready: url } = await site.startProxy();
  const all = ["big", "both", "test/large", "test/largest", "test/small"];
  for (const [path, ids] of [
    ["/interns/ann", ["both", "test/small"]],
    ["/all", ["both", "test/small"]],
    ["/team", all],
  ] as const) {
    const headers = { ...byMaster, "x-sluice-user-path": path };
    const read = async (at: string, more: Record<string, string> = {}): Promise<unknown> =>
      (await fetch(`${url}${at}`, { headers: { ...headers, ...more } })).json();
    const anthropic = { "anthropic-version": "2023-06-01" };
    for (const page of [await read("/v1/models"), await read("/v1/models", anthropic)]) {
      const { data } = page as { data: readonly { id: string }[] };
      t.same(data.map(({ id }) => id).sort(), ids, path);
    }
    const { models } = (await read("/v1beta/models")) as { models: readonly { name: string }[] };
    t.same(
      models.map(({ name }) => name.slice("models/".length)).sort(),
      ids,
      `${path}, for Google's clients`,
    );
  }
});
