import t from "tap";
import { providerObjectRequest } from "../../../../proxy/handlers/objects/provider-objects.js";
import type { StoredOperation } from "../../../../proxy/handlers/objects/send-object-request.js";
import { submitBatch } from "../../../../proxy/handlers/objects/submit-batch.js";
import { exactly } from "../../../support/patterns/exactly.js";
import {
  type FakeGateway,
  fakeGateway,
  operator,
  type RequestSample,
  type Served,
  served,
} from "../../fake-gateway.js";

const yaml = `
server: { max_body_bytes: 2000, max_upload_bytes: 3000 }
providers:
  chatty: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [x], operations: [chat_completions] }
  one: { type: openai, base_url: "http://127.0.0.1:1/v1", models: ["*"] }
  two: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [x] }
  deployed: { type: azure, base_url: "http://127.0.0.1:1/openai", api_version: "2024-10-21", operations: [files] }
`;
const form = ["content-type", "multipart/form-data; boundary=B"];
const batch = '{"input_file_id":"file-1","endpoint":"/v1/embeddings","completion_window":"24h"}';

function ask(fake: FakeGateway, request: RequestSample): Promise<Served> {
  const operation = (request.path.split("/")[2] ?? "") as StoredOperation;
  return served(fake, (context) => providerObjectRequest(context, operation), {
    caller: operator,
    ...request,
  });
}

const submit = (fake: FakeGateway, request: Omit<RequestSample, "path">): Promise<Served> =>
  served(fake, (context) => submitBatch(context, "batches"), { path: "/v1/batches", ...request });
const places = (fake: FakeGateway): string[] => fake.sent.map(({ what }) => what);

t.test(
  "a request without an id is sent to the first provider that offers it, one with an id to each until it is found",
  async (t) => {
    const table = [
      {
        request: { method: "GET", path: "/v1/files", query: "limit=2&after=file-1" },
        found: "one",
        sent: ["one GET /files?limit=2&after=file-1"],
      },
      {
        request: { path: "/v1/files", headers: form, body: "--B--" },
        found: "one",
        sent: ["one POST /files"],
      },
      {
        request: { method: "GET", path: "/v1/files/file-9/content" },
        found: "two",
        sent: ["one GET /files/file-9/content", "two GET /files/file-9/content"],
      },
      {
        request: { method: "GET", path: "/v1/files/file-9", query: "x=1" },
        found: "deployed",
        sent: [
          "one GET /files/file-9?x=1",
          "two GET /files/file-9?x=1",
          "deployed GET /files/file-9?x=1&api-version=2024-10-21",
        ],
      },
      {
        request: { method: "DELETE", path: "/v1/responses/resp_1" },
        found: "two",
        sent: ["one DELETE /responses/resp_1", "two DELETE /responses/resp_1"],
      },
      {
        request: { path: "/v1/batches/batch_1/cancel" },
        found: "two",
        sent: ["one POST /batches/batch_1/cancel", "two POST /batches/batch_1/cancel"],
      },
    ] as const;
    for (const { request, found, sent } of table) {
      const fake = fakeGateway(yaml);
      for (const name of ["one", "two", "deployed"])
        fake.answers.set(
          name,
          name === found
            ? { status: 200, body: `{"from":"${name}"}` }
            : { status: 404, body: '{"error":{"message":"none"}}' },
        );
      const { status, body, exchange, record } = await ask(fake, request);
      t.same([status, body], [200, { from: found }]);
      t.same(places(fake), sent);
      t.equal(exchange.sent("x-sluice-target"), `${found}/-`);
      t.match(record, { status: 200, outcome: "complete", target: { provider: found, model: "" } });
      t.same([fake.admitted, fake.settled], [[], []], "it is free");
    }
  },
);

t.test("a stored response may be requested as a stream, which passes unchanged", async (t) => {
  const fake = fakeGateway(yaml);
  const events =
    'event: response.completed\ndata: {"type":"response.completed","response":{"usage":{"total_tokens":9}}}\n\n';
  fake.answers.set("one", { status: 404, body: "{}" });
  fake.answers.set("two", { status: 200, body: events, type: "text/event-stream" });
  const { status, body, exchange } = await ask(fake, {
    method: "GET",
    path: "/v1/responses/resp_1",
    query: "stream=true",
  });
  t.same([status, body, exchange.ended], [200, events, "end"]);
  t.same(places(fake), [
    "one GET /responses/resp_1?stream=true",
    "two GET /responses/resp_1?stream=true",
  ]);
  t.same(fake.settled, []);
});

t.test(
  "when no provider has the object, the last 404 is the answer; a provider that fails doesn't end the search, and its failure is the answer when nothing is found",
  async (t) => {
    const none = fakeGateway(yaml);
    for (const name of ["one", "two"])
      none.answers.set(name, { status: 404, body: `{"error":{"message":"not at ${name}"}}` });
    t.match(await ask(none, { method: "GET", path: "/v1/batches/b" }), {
      status: 404,
      body: { error: { message: "not at two", provider: "two" } },
    });
    for (const answer of [
      { status: 500, body: "{}" },
      { status: 401, body: "{}" },
      { kind: "unreachable", reason: "ECONNREFUSED" },
    ] as const) {
      const fails = fakeGateway(yaml);
      for (const [failing, other] of [
        ["one", "two"],
        ["two", "one"],
      ] as const) {
        fails.answers.set(failing, answer);
        fails.answers.set(other, { status: 404, body: '{"error":{"message":"none"}}' });
        const { status, body } = await ask(fails, { method: "GET", path: "/v1/batches/b" });
        t.equal(status, "kind" in answer || answer.status === 401 ? 502 : answer.status);
        t.match(body, { error: { provider: failing } }, "it may be there");
        fails.answers.set(other, { status: 200, body: "{}" });
        t.match(await ask(fails, { method: "GET", path: "/v1/batches/b" }), {
          status: 200,
          exchange: { ended: "reply" },
          record: { target: { provider: other } },
        });
      }
    }
  },
);

t.test(
  "a provider that the caller names, in upper or lower case, is the only one tried; the header isn't forwarded",
  async (t) => {
    const fake = fakeGateway(yaml);
    fake.answers.set("two", { status: 404, body: "{}" });
    const named = (name: string) => ({
      method: "GET",
      path: "/v1/files/file-1",
      headers: ["X-Sluice-Provider", name],
    });
    t.equal((await ask(fake, named(" TWO "))).status, 404);
    t.same(places(fake), ["two GET /files/file-1"]);
    t.same(fake.sent[0]!.headers, []);
    t.match(await ask(fake, named("chatty")), {
      status: 400,
      body: { error: { message: "X-Sluice-Provider: provider chatty does not offer files" } },
    });
    t.match(await ask(fake, named("six")), {
      status: 400,
      body: { error: { message: 'X-Sluice-Provider: no provider "six" is configured' } },
    });
    const none = fakeGateway(
      'providers: { chatty: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [x], operations: [chat_completions] } }',
    );
    t.match(await ask(none, { method: "GET", path: "/v1/files" }), {
      status: 400,
      body: { error: { message: "no configured provider offers files" } },
    });
  },
);

t.test(
  "an upload is passed on while it is read, with its length if the client declares it",
  async (t) => {
    const pieces = [Buffer.from("--B\r\n"), Buffer.from("é".repeat(20)), Buffer.from("\r\n--B--")];
    const fake = fakeGateway(yaml);
    t.equal(
      (
        await ask(fake, {
          path: "/v1/files",
          headers: [...form, "Content-Length", "51"],
          body: pieces,
        })
      ).status,
      200,
    );
    t.match(
      fake.sent,
      exactly([{ what: "one POST /files", body: Buffer.concat(pieces).toString(), headers: form }]),
    );
  },
);

t.test(
  "an upload that is no form, or too large, is refused: by its declared length before anything is sent, otherwise while it is sent",
  async (t) => {
    const fake = fakeGateway(yaml);
    t.match(
      await ask(fake, {
        path: "/v1/files",
        headers: ["content-type", "application/json"],
        body: "{}",
      }),
      {
        status: 400,
        body: { error: { param: "body", message: /^the body must be a multipart form/ } },
      },
    );
    const large = [Buffer.alloc(2000), Buffer.alloc(2000)];
    const tooLarge = {
      status: 413,
      body: { error: { code: "request_too_large", message: "the body is larger than 3000 bytes" } },
    };
    t.match(
      await ask(fake, {
        path: "/v1/files",
        headers: [...form, "content-length", "4000"],
        body: large,
      }),
      tooLarge,
    );
    t.same(fake.sent, []);
    t.match(await ask(fake, { path: "/v1/files", headers: form, body: large }), tooLarge);
  },
);

t.test(
  "a batch is admitted as a submission, sent unchanged, and settled without tokens",
  async (t) => {
    const fake = fakeGateway(yaml);
    fake.answers.set("one", {
      status: 200,
      body: '{"id":"batch_1","error":{"message":"its own"},"usage":{"total_tokens":9}}',
    });
    const { status, body, exchange, record } = await submit(fake, {
      headers: ["content-type", "text/plain"],
      body: batch,
    });
    t.same(
      [status, body],
      [200, { id: "batch_1", error: { message: "its own" }, usage: { total_tokens: 9 } }],
    );
    t.match(
      fake.sent.slice(1),
      exactly([
        { what: "one POST /batches", body: batch, headers: ["content-type", "application/json"] },
      ]),
    );
    t.same(fake.admitted, [{ targets: [{ provider: "one", model: "" }], submission: true }]);
    t.match(
      fake.settled,
      exactly([
        {
          tokens: 0,
          estimated: false,
          record: {
            endpoint: "/v1/batches",
            status: 200,
            provider: "one",
            model: "",
            inputTokens: 0,
            outputTokens: 0,
            totalCost: 0,
          },
        },
      ]),
    );
    t.match(record, { outcome: "complete", target: { provider: "one", model: "" } });
    t.equal(exchange.ended, "reply");
  },
);

t.test(
  "a batch that is refused, or fails, gets that answer; an invalid one isn't submitted for admission",
  async (t) => {
    const fake = fakeGateway(yaml);
    fake.verdict = {
      kind: "refused",
      id: 1,
      key: null,
      breach: {
        scope: "user_path",
        subject: "/team",
        periodSeconds: 60,
        dimension: "requests",
        cap: 1,
        waitSeconds: 7,
      },
    };
    const refused = await submit(fake, { body: batch });
    t.same([refused.status, refused.exchange.sent("retry-after"), fake.sent], [429, "7", []]);
    fake.verdict = null;
    fake.answers.set("one POST /batches", { status: 503, body: "{}" });
    t.equal((await submit(fake, { body: batch })).status, 503);
    t.equal(fake.settled.length, 1);
    const wrong = [
      ["", "the body must be a JSON object: it is not valid JSON", "body"],
      ["{", "the body must be a JSON object: it is not valid JSON", "body"],
      ["[]", "the body must be a JSON object, not an array", "body"],
      ["{}", "input_file_id is required", "input_file_id"],
      ['{"input_file_id":"f","endpoint":null}', "endpoint is required", "endpoint"],
      [
        '{"input_file_id":"f","endpoint":"e","completion_window":24}',
        "completion_window must be a string, not a number",
        "completion_window",
      ],
    ] as const;
    for (const [body, message, param] of wrong)
      t.match(await submit(fake, { body }), { status: 400, body: { error: { message, param } } });
    t.match(await submit(fake, { body: batch.padEnd(2001) }), {
      status: 413,
      body: { error: { message: "the body is larger than 2000 bytes" } },
    });
    t.equal(fake.admitted.length, 1);
  },
);

t.test(
  "nothing is admitted or sent for a client that left before its batch was read",
  async (t) => {
    const fake = fakeGateway(yaml);
    const { record } = await submit(fake, { leaves: true });
    t.match(record, { status: 499, outcome: "client_gone" });
    t.same([fake.sent, fake.admitted], [[], []]);
  },
);

const none = { status: 404, body: { error: { type: "not_found_error" } } };
const mine = (provider: string) => [{ provider, userPath: "/team" }];
const theirs = (provider: string) => [{ provider, userPath: "/other" }];
const asTenant = (fake: FakeGateway, request: RequestSample): Promise<Served> => {
  const operation = (request.path.split("/")[2] ?? "") as StoredOperation;
  return served(fake, (context) => providerObjectRequest(context, operation), request);
};

t.test(
  "a caller reaches what its own path has made, where that is, and nothing else",
  async (t) => {
    for (const [owners, sent] of [
      [[], []],
      [theirs("one"), []],
      [mine("one"), ["one"]],
      [mine("two"), ["two"]],
      [[...theirs("one"), ...mine("two")], ["two"]],
      [mine("gone"), []],
    ] as const)
      for (const [method, path] of [
        ["GET", "/v1/files/x"],
        ["HEAD", "/v1/files/x"],
        ["GET", "/v1/files/x/content"],
        ["DELETE", "/v1/files/x"],
        ["POST", "/v1/batches/x/cancel"],
        ["GET", "/v1/responses/x/input_items"],
        ["POST", "/v1/conversations/x/items"],
        ["GET", "/v1/containers/x/files/y/content"],
      ] as const) {
        const fake = fakeGateway(yaml);
        fake.owners.set("x", [...owners]);
        const answer = await asTenant(fake, { method, path });
        const asked = method === "HEAD" ? "GET" : method;
        t.same(
          places(fake),
          sent.map((name) => `${name} ${asked} ${path.slice("/v1".length)}`),
        );
        if (sent.length === 0) t.match(answer, none, `${method} ${path}`);
      }
  },
);

t.test(
  "what a request makes is its path's: the object, and what a batch or an upload becomes",
  async (t) => {
    const table: readonly (readonly [RequestSample, answer: object, made: readonly string[]])[] = [
      [{ path: "/v1/files", headers: form, body: "--B--" }, { id: "f" }, ["f"]],
      [
        { path: "/v1/conversations", body: '{"metadata":{"id":"x"}}' },
        { metadata: { id: "x" }, id: "c" },
        ["c"],
      ],
      [
        { path: "/v1/uploads/mine/complete", body: "{}" },
        { id: "mine", file: { id: "f" } },
        ["f", "mine"],
      ],
      [
        { method: "GET", path: "/v1/batches/mine" },
        { id: "mine", output_file_id: "o", error_file_id: "e" },
        ["e", "mine", "o"],
      ],
      [{ method: "GET", path: "/v1/files/mine" }, { id: "another" }, ["mine"]],
      [{ path: "/v1/conversations/mine/items", body: "{}" }, { id: "item" }, ["mine"]],
      [{ path: "/v1/files", headers: form, body: "--B--" }, { id: "no id" }, []],
    ];
    for (const [request, answer, made] of table) {
      const fake = fakeGateway(yaml);
      if (request.path.includes("mine")) fake.owners.set("mine", mine("one"));
      fake.answers.set("one", { status: 200, body: JSON.stringify(answer) });
      t.equal((await asTenant(fake, request)).status, 200);
      t.same([...fake.owners.keys()].sort(), made, request.path);
      for (const owners of fake.owners.values()) t.same(owners, mine("one"));
      fake.answers.set("one", { status: 400, body: '{"id":"failed"}' });
      await asTenant(fake, request);
      t.notOk(fake.owners.has("failed"));
    }
    const submitted = fakeGateway(yaml);
    submitted.answers.set("one", { status: 200, body: '{"id":"b"}' });
    await submit(submitted, { body: batch });
    t.same([...submitted.owners.keys()], ["b"]);
  },
);

t.test(
  "no request may name another path's object; the provider decides about objects without an owner",
  async (t) => {
    const fake = fakeGateway(yaml);
    Object.assign(fake.gateway.limiter, {
      authorize: () => Promise.reject(new Error("it is known")),
    });
    fake.owners.set("file-1", theirs("one"));
    t.match(await submit(fake, { body: batch }), none);
    const named = { path: "/v1/containers", body: '{"name":"x","file_ids":["file-0","file-1"]}' };
    t.match(await asTenant(fake, named), none);
    t.same([fake.sent, fake.admitted], [[], []], "nothing is counted");
    fake.owners.set("file-1", mine("one"));
    t.equal((await submit(fake, { body: batch })).status, 200);
    fake.owners.delete("file-1");
    t.equal((await submit(fake, { body: batch })).status, 200);
  },
);

t.test(
  "what is sent is what was read: a JSON object, declared as that, and no other body",
  async (t) => {
    const fake = fakeGateway(yaml);
    const request = {
      path: "/v1/conversations",
      headers: [...form.slice(0, 1), `${form[1]!}json`],
    };
    t.equal((await asTenant(fake, { ...request, body: '{"metadata":{}}' })).status, 200);
    t.same(fake.sent[0]!.headers, ["content-type", "application/json"]);
    for (const body of ["--B--", '{"file_id":"a","file_id":"b"}'])
      t.equal((await asTenant(fake, { ...request, body })).status, 400, body);
    t.equal(fake.sent.length, 1);
  },
);

t.test("a form that names a file for a container isn't taken but from the operator", async (t) => {
  const body = '--B\r\ncontent-disposition: form-data; name="file_id"\r\n\r\nfile-1\r\n--B--\r\n';
  const request = { path: "/v1/containers/c/files", headers: form, body };
  const fake = fakeGateway(yaml);
  fake.owners.set("c", mine("one"));
  t.match(await asTenant(fake, request), {
    status: 400,
    body: { error: { message: /file_id can't be taken from a form: send it as JSON/ } },
  });
  t.same(fake.sent, [], "it hasn't arrived");
  t.equal((await ask(fake, request)).status, 200);
  const file = { ...request, body: body.replace('"file_id"', '"file"; filename="a"') };
  t.equal((await asTenant(fake, file)).status, 200);
});

t.test("a byte order mark before JSON isn't sent on", async (t) => {
  const fake = fakeGateway(yaml);
  const body = '{"metadata":{}}';
  t.match(await ask(fake, { path: "/v1/conversations", body: `\ufeff${body}` }), { status: 200 });
  t.match(fake.sent, exactly([{ body }]));
});
