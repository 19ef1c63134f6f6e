/**
 * No address of a provider reaches a client that would follow it with its own key: the official SDK
 * fetches the results of a batch through Sluice, and what a provider says of uploads, pages and
 * redirects leads back to it. The provider's stand-in sees each request's key.
 */
import Anthropic from "@anthropic-ai/sdk";
import t from "tap";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";
import {
  type ReceivedRequest,
  replyJson,
  startPassthroughProvider,
} from "../../support/providers/passthrough-provider.js";

const provider = await startPassthroughProvider();
t.teardown(() => provider.close());
const { origin } = provider;
const site = makeSite(
  t,
  `
providers:
  claude: { type: anthropic, base_url: "${origin}/v1", api_key: sk-provider, models: [claude] }
  gemini: { type: gemini, base_url: "${origin}/v1beta", api_key: sk-provider, models: [gemini] }
`,
  { SLUICE_MASTER_KEY: masterKey },
);
await site.startDaemon();
const { ready: url } = await site.startProxy();

const batch = (id: string, host = origin) => ({
  id,
  type: "message_batch",
  processing_status: "ended",
  results_url: `${host}/v1/messages/batches/${id}/results`,
});
const page = { data: [batch("b1"), batch("b2")], has_more: false, first_id: "b1", last_id: "b2" };
const line = { custom_id: "a", result: { type: "canceled" } };

function answerBatches(received: ReceivedRequest, host = origin): void {
  const path = received.request.url!.split("?", 1)[0]!;
  if (path.endsWith("/results"))
    received.response
      .writeHead(200, { "content-type": "application/x-jsonl" })
      .end(`${JSON.stringify({ ...line, at: `${origin}/v1/x` })}\n`);
  else if (path.endsWith("/batches") && received.request.method === "GET")
    replyJson(received, page);
  else replyJson(received, batch("b1", host));
}

/** The keys that the provider was sent since the last call. */
function keysSent(): readonly unknown[] {
  return provider.received
    .splice(0)
    .flatMap(({ request: { headers } }) => [
      headers["x-api-key"] ?? headers["x-goog-api-key"] ?? headers.authorization,
    ]);
}

const onlyTheProviders = (keys: readonly unknown[]): boolean =>
  keys.length > 0 && keys.every((key) => key === "sk-provider");

for (const [what, baseURL, host] of [
  ["Sluice's own endpoint", url, origin],
  ["a relay's provider, whose addresses have another host", url, "https://api.anthropic.com"],
  ["passthrough", `${url}/p/claude`, origin],
] as const)
  t.test(`the official SDK fetches a batch's results through ${what}`, async (t) => {
    provider.answer = (received) => answerBatches(received, host);
    const sdk = new Anthropic({ baseURL, apiKey: masterKey, maxRetries: 0 });
    const { results_url } = await sdk.messages.batches.retrieve("b1");
    t.equal(results_url, `${baseURL}/v1/messages/batches/b1/results`);
    t.ok(onlyTheProviders(keysSent()));
    const lines = [];
    for await (const result of await sdk.messages.batches.results("b1")) lines.push(result);
    t.same(lines, [{ ...line, at: `${origin}/v1/x` }], "what is stored passes as it is");
    t.ok(onlyTheProviders(keysSent()), "no request came with the caller's key");
    const listed = await sdk.messages.batches.list();
    t.same(
      listed.data.map((one) => one.results_url),
      ["b1", "b2"].map((id) => `${baseURL}/v1/messages/batches/${id}/results`),
    );
    t.equal((await sdk.messages.batches.cancel("b1")).results_url, results_url);
    keysSent();
  });

const call = (path: string, more: RequestInit = {}): Promise<Response> =>
  fetch(`${url}${path}`, {
    redirect: "manual",
    ...more,
    headers: { "x-api-key": masterKey, ...(more.headers as object) },
  });

t.test("addresses in a passed answer's headers and JSON lead back to Sluice", async (t) => {
  const at = `${url}/p/gemini`;
  provider.answer = (received) =>
    replyJson(
      received,
      {
        nextLink: `${origin}/v1beta/files?pageToken=2&key=AIza`,
        file: {
          uri: `${origin}/v1beta/files/f1`,
          downloadUri: `${origin}/v1beta/files/f1:download?alt=media`,
        },
        video: { uri: `${origin}/v1beta/files/v1:download?alt=media` },
        picture: "https://cdn.example/1.png?sig=1",
        said: `see ${origin}/v1beta`,
      },
      {
        "X-Goog-Upload-URL": `${origin}/upload/v1beta/files?upload_id=7&upload_protocol=resumable`,
        "Operation-Location": "https://eastus.api.example/operations/9",
        "Content-Location": "https://elsewhere.example/9",
        Location: "/v1beta/files/f1",
        Link: `<${origin}/v1beta/files?page=2>; rel="next", <https://elsewhere.example/>; rel="help"`,
      },
    );
  const answer = await call("/p/gemini/v1beta/files");
  t.same(await answer.json(), {
    nextLink: `${at}/v1beta/files?pageToken=2`,
    file: {
      uri: `${origin}/v1beta/files/f1`,
      downloadUri: `${at}/v1beta/files/f1:download?alt=media`,
    },
    video: { uri: `${at}/v1beta/files/v1:download?alt=media` },
    picture: "https://cdn.example/1.png?sig=1",
    said: `see ${origin}/v1beta`,
  });
  const { headers } = answer;
  t.same(
    ["x-goog-upload-url", "operation-location", "content-location", "location", "link"].map(
      (name) => headers.get(name),
    ),
    [
      `${at}/upload/v1beta/files?upload_id=7&upload_protocol=resumable`,
      `${at}/operations/9`,
      null,
      `${at}/v1beta/files/f1`,
      `<${at}/v1beta/files?page=2>; rel="next"`,
    ],
  );
  provider.received.splice(0);
  await call(headers.get("x-goog-upload-url")!.slice(url.length), {
    method: "POST",
    body: "bytes",
    headers: { "x-goog-upload-command": "upload, finalize" },
  });
  t.match(provider.received[0]!.request, {
    url: "/upload/v1beta/files?upload_id=7&upload_protocol=resumable",
    headers: { "x-goog-api-key": "sk-provider", "x-goog-upload-command": "upload, finalize" },
  });
});

t.test("a redirect leads back to Sluice, or is refused", async (t) => {
  const redirect = (to: string): void => {
    provider.answer = ({ response }) => void response.writeHead(307, { location: to }).end();
  };
  redirect(`${origin}/v1/models?b=1`);
  const within = await call("/p/claude/v1/models");
  t.same([within.status, within.headers.get("location")], [307, `${url}/p/claude/v1/models?b=1`]);
  redirect("https://elsewhere.example/v1/models");
  const elsewhere = await call("/p/claude/v1/models");
  t.same([elsewhere.status, elsewhere.headers.get("location")], [502, null]);
  t.match(await elsewhere.json(), { error: { code: "provider_unavailable", provider: "claude" } });
  redirect(`${origin}/v1/x`);
  const model = await call("/v1/messages/batches/b1");
  t.same([model.status, model.headers.get("location")], [502, null], "and on /v1 always");
});

t.test("the host that a request names is Sluice's, unless it is none", async (t) => {
  provider.answer = (received) => answerBatches(received);
  const { request } = await import("node:http");
  const asked = (host: string, more: Record<string, string> = {}): Promise<unknown> =>
    new Promise((resolve, reject) => {
      request(`${url}/v1/messages/batches/b1`, {
        headers: { host, "x-api-key": masterKey, ...more },
      })
        .on("response", async (response) => {
          let text = "";
          for await (const piece of response) text += String(piece);
          resolve((JSON.parse(text) as { readonly results_url: unknown }).results_url);
        })
        .on("error", reject)
        .end();
    });
  const results = "/v1/messages/batches/b1/results";
  t.equal(await asked("gateway.example"), `http://gateway.example${results}`);
  t.equal(await asked("[::1]:80"), `http://[::1]:80${results}`);
  for (const host of ['a"b', "a/b", "a@b", "user:x@evil.example", "a b"])
    t.equal(await asked(host).catch(() => undefined), undefined, `${host} is no host: a 400`);
  t.equal(
    await asked("gateway.example", {
      "x-forwarded-proto": "https",
      "x-forwarded-host": "evil.example",
    }),
    `http://gateway.example${results}`,
    "no proxy is trusted",
  );
});
