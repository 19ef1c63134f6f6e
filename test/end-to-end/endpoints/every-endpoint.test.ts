/**
 * What every endpoint says to requests that are wrong, and to providers that fail: real processes,
 * plain HTTP.
 */
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import { type ModelApi, startModelApi } from "../../support/providers/model-api.js";
import { anthropicKey, openaiKey, reply } from "../../support/providers/model-api-call.js";
import { formEnd, formField, formFile } from "../../support/raw-upload.js";

const api: ModelApi = await startModelApi();
t.teardown(() => api.close());
const site = makeSite(
  t,
  `
server: { max_body_bytes: 100000, max_upload_bytes: 200000 }
providers:
  openai: { type: openai, base_url: "${api.baseUrl}", api_key: ${openaiKey}, models: [gpt-test], retries: 0 }
  claude: { type: anthropic, base_url: "${api.baseUrl}", api_key: ${anthropicKey}, models: [claude-test], retries: 0 }
  bare: { type: openai, base_url: "${api.baseUrl}", api_key: ${openaiKey}, models: [bare-test], operations: [files] }
rate_limits:
  user_paths: [{ path: /, limits: [{ period_seconds: ${agesSeconds}, max_requests: 100000, max_tokens: 100000000 }, { period: concurrent, max_requests: 20 }] }]
`,
);
await site.startDaemon();
const proxy = await site.startProxy();

const json = "application/json";
const form = "multipart/form-data; boundary=B";
const recording = `${formFile}ID3${formEnd}`;

interface Asked {
  readonly path: string;
  readonly type: string;
  readonly body: string;
  /** The field that must be there, beside the model. */
  readonly subject?: string;
  /** It names a model. */
  readonly named: boolean;
}

const endpoints: readonly Asked[] = [
  {
    path: "/v1/chat/completions",
    type: json,
    body: '{"model":"gpt-test","messages":[]}',
    subject: "messages",
    named: true,
  },
  { path: "/v1/responses", type: json, body: '{"model":"gpt-test","input":"hi"}', named: true },
  {
    path: "/v1/messages",
    type: json,
    body: '{"model":"claude-test","messages":[],"max_tokens":5}',
    subject: "messages",
    named: true,
  },
  {
    path: "/v1/messages/count_tokens",
    type: json,
    body: '{"model":"claude-test","messages":[]}',
    subject: "messages",
    named: true,
  },
  {
    path: "/v1/embeddings",
    type: json,
    body: '{"model":"gpt-test","input":"hi"}',
    subject: "input",
    named: true,
  },
  {
    path: "/v1/audio/speech",
    type: json,
    body: '{"model":"gpt-test","input":"hi","voice":"alloy"}',
    subject: "input",
    named: true,
  },
  {
    path: "/v1/images/generations",
    type: json,
    body: '{"model":"gpt-test","prompt":"hi"}',
    subject: "prompt",
    named: true,
  },
  {
    path: "/v1/audio/transcriptions",
    type: form,
    body: `${formField("model", "gpt-test")}${recording}`,
    named: true,
  },
  {
    path: "/v1/audio/translations",
    type: form,
    body: `${formField("model", "gpt-test")}${recording}`,
    named: true,
  },
  {
    path: "/v1/files",
    type: form,
    body: `${formField("purpose", "batch")}${recording}`,
    named: false,
  },
  {
    path: "/v1/batches",
    type: json,
    body: '{"input_file_id":"file-1","endpoint":"/v1/embeddings","completion_window":"24h"}',
    subject: "input_file_id",
    named: false,
  },
];

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Its error, if it is one. */
  readonly error:
    | {
        readonly type: string;
        readonly message: string;
        readonly code?: string | null;
        readonly param?: string | null;
      }
    | undefined;
}

async function ask(
  path: string,
  {
    method = "POST",
    type = json,
    body,
    headers = {},
  }: { method?: string; type?: string; body?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const response = await fetch(`${proxy.ready}${path}`, {
    method,
    headers: { "content-type": type, ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    error: text.startsWith("{") ? (JSON.parse(text) as Partial<Answer>).error : undefined,
  };
}

/** The requests that were counted, once no slot is held. */
async function counted(): Promise<number> {
  const rules = await until(
    async () => (await admin(proxy.ready, "GET /rate-limits")).body.rate_limits,
    (now) => now.every(({ in_flight }) => in_flight === 0),
  );
  return rules.find(({ period_seconds }) => period_seconds === agesSeconds)!.requests_used;
}

const isMessages = (path: string): boolean => path.startsWith("/v1/messages");

for (const { path, type, body, subject, named } of endpoints) {
  t.test(
    `${path}: what is wrong is refused by name, reaches no provider and counts nothing`,
    async (t) => {
      const before = api.calls.length;
      const requests = await counted();
      const refused = async (
        what: string,
        sent: { type?: string; body: string },
        ...[status, param, message]: readonly [number, string | null, RegExp]
      ): Promise<void> => {
        const { status: answered, error } = await ask(path, { type, ...sent });
        t.equal(answered, status, what);
        t.match(error?.message, message, what);
        // Anthropic's shape has no place for it.
        if (!isMessages(path)) t.equal(error?.param, param, what);
      };
      const put = await ask(path, { method: "PUT", body });
      t.same(
        [put.status, put.error?.type, put.headers.get("allow")?.includes("POST")],
        [405, "invalid_request_error", true],
        "another method",
      );
      if (path !== "/v1/files") await refused("nothing", { body: "" }, 400, "body", /^the body /);
      if (type === json) {
        await refused(
          "half of it",
          { body: body.slice(0, -9) },
          400,
          "body",
          /^the body must be a JSON object: /,
        );
        await refused("a list", { body: "[1]" }, 400, "body", /not an array$/);
        await refused(
          "not UTF-8",
          { body: Buffer.from('{"model":"\xff"}', "latin1") as unknown as string },
          400,
          "body",
          /UTF-8/,
        );
        await refused(
          "too large",
          { body: body.padEnd(100_001) },
          413,
          null,
          /^the body is larger than 100000 bytes$/,
        );
        if (subject !== undefined)
          await refused(
            "a number for its subject",
            { body: body.replace(new RegExp(`"${subject}":("[^"]*"|\\[\\])`), `"${subject}":3`) },
            400,
            subject,
            new RegExp(`^${subject} must be .*, not a number$`),
          );
        if (subject !== undefined)
          await refused(
            "no subject",
            { body: body.replace(`"${subject}"`, '"x"') },
            400,
            subject,
            new RegExp(`^${subject} is required$`),
          );
      } else {
        await refused(
          "no form",
          { type: json, body: "{}" },
          400,
          "body",
          /^the body must be a multipart form/,
        );
        await refused(
          "a form without a boundary",
          { type: "multipart/form-data", body },
          400,
          "body",
          /^the body must be a multipart form/,
        );
        await refused(
          "too large",
          { body: `${body}${"x".repeat(200_000)}` },
          413,
          null,
          /^the body is larger than 200000 bytes$/,
        );
        if (named)
          await refused(
            "half of it",
            { body: body.slice(0, -9) },
            400,
            "body",
            /ends within a part$/,
          );
      }
      if (named) {
        // Also for images, whose default model this provider doesn't list.
        await refused(
          "no model",
          { body: body.replace(/"model"/, '"x"') },
          400,
          "model",
          /^model is required$/,
        );
        await refused(
          "an unknown model",
          { body: body.replace(/(gpt|claude)-test/, "nope") },
          404,
          "model",
          /^the model "nope" does not exist/,
        );
        // Where a provider counts no tokens, they are estimated.
        if (!path.endsWith("/count_tokens"))
          await refused(
            "a provider that has nothing of the kind",
            { body: body.replace(/(gpt|claude)-test/, "bare-test") },
            400,
            "model",
            /^provider bare does not offer /,
          );
      }
      if (named && type === json)
        await refused(
          "a number for a model",
          { body: body.replace(/"model":"[^"]*"/, '"model":3') },
          400,
          "model",
          /^model must be a string, not a number$/,
        );
      const misspelt = await ask(path, { type, body, headers: { "X-Sluice-User-Paht": "/team" } });
      t.match(misspelt, { status: 400, error: { message: /mean X-Sluice-User-Path\?$/ } });
      t.equal(api.calls.length, before);
      t.equal(await counted(), requests);
    },
  );

  t.test(
    `${path}: its provider's errors keep their status, in the client's dialect, unless they refuse our key`,
    async (t) => {
      const types: Readonly<Record<number, string>> = {
        400: "invalid_request_error",
        401: isMessages(path) ? "api_error" : "provider_error",
        402: isMessages(path) ? "api_error" : "provider_error",
        403: isMessages(path) ? "api_error" : "provider_error",
        404: "not_found_error",
        422: "invalid_request_error",
        429: "rate_limit_error",
        500: isMessages(path) ? "api_error" : "provider_error",
        503: isMessages(path) ? "api_error" : "provider_error",
      };
      for (const [status, named] of Object.entries(types)) {
        api.intercept = (_, response) =>
          reply(
            response,
            Number(status),
            { error: { message: "so it is", type: "whatever", code: "c", param: "p" } },
            { "retry-after": "9" },
          );
        const answer = await ask(path, { type, body });
        if (path.endsWith("/count_tokens") && ["403", "404"].includes(status)) {
          // It has no such endpoint for us.
          t.match(
            [answer.status, answer.headers.get("x-sluice-estimated")],
            exactly([200, "true"]),
          );
          continue;
        }
        const refusesKey = ["401", "402", "403"].includes(status);
        const code = refusesKey ? "provider_credentials" : "c";
        t.match(answer, {
          status: refusesKey ? 502 : Number(status),
          error: {
            type: named,
            message: "so it is",
            ...(isMessages(path) ? {} : { code, param: "p", provider: "openai" }),
          },
        });
        t.equal(answer.headers.get("retry-after"), refusesKey ? null : "9");
        t.equal(answer.headers.get("x-should-retry"), refusesKey ? "false" : null);
      }
      // On a connection that was used before it is sent once more.
      api.intercept = (request) => {
        request.socket.destroy();
        api.intercept = (again) => again.socket.destroy();
      };
      t.match(await ask(path, { type, body }), {
        status: 502,
        error: { message: /^provider (openai|claude) can't be reached/ },
      });
      api.intercept = (_, response) =>
        void response.writeHead(302, { location: "http://elsewhere.example/" }).end();
      t.match(await ask(path, { type, body }), {
        status: 502,
        error: { message: /answered 302 Found/ },
      });
      t.equal((await ask(path, { type, body })).status, 200, "and it is asked again");
      t.type(await counted(), "number", "no slot is held");
    },
  );
}

t.test(
  "JSON that calls itself something else, as curl does, reaches the provider as JSON",
  async (t) => {
    for (const { path, type, body } of endpoints) {
      if (type !== json) continue;
      for (const sentType of ["application/x-www-form-urlencoded", "text/plain;charset=UTF-8"]) {
        t.equal((await ask(path, { type: sentType, body })).status, 200, path);
        t.equal(api.last().headers["content-type"], json, path);
      }
    }
  },
);

t.test("ids are ids: what isn't one is no endpoint, and leads nowhere else", async (t) => {
  const before = api.calls.length;
  for (const path of [
    "/v1/files/a%2Fb",
    "/v1/files/a%00",
    "/v1/files/%2e%2e%2fmodels",
    "/v1/batches/a/b",
    "/v1/responses/a/input_items/b",
    `/v1/files/${"x".repeat(300)}`,
  ]) {
    t.match(
      await ask(path, { method: "GET" }),
      { status: 404, error: { type: "not_found_error" } },
      path,
    );
  }
  t.match(await ask("/v1/models/%zz", { method: "GET" }), {
    status: 404,
    error: { code: "model_not_found" },
  });
  t.equal(api.calls.length, before);
});

t.test(
  "one that is asked for by its id is looked for at each provider that may have it",
  async (t) => {
    const before = api.calls.length;
    t.match(await ask("/v1/files/file-none", { method: "GET" }), {
      status: 404,
      error: { param: "id", provider: "bare" },
    });
    t.same(
      api.calls.slice(before).map(({ method, path }) => [method, path]),
      [
        ["GET", "/files/file-none"],
        ["GET", "/files/file-none"],
      ],
    );
  },
);

t.test("after all that the proxy lives", async (t) => {
  t.equal(proxy.child.exitCode, null);
  t.notMatch(proxy.output(), /"level":"(error|fatal)"/);
});
