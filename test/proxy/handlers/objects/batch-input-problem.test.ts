import t from "tap";
import { submitBatch } from "../../../../proxy/handlers/objects/submit-batch.js";
import { exactly } from "../../../support/patterns/exactly.js";
import type { FakeExchange } from "../../fake-exchange.js";
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
  one: { type: openai, base_url: "http://127.0.0.1:1/v1", models: ["*"] }
`;
const azure = `
providers:
  one: { type: azure, base_url: "http://127.0.0.1:1/openai", api_version: "2024-10-21" }
`;
const anthropic = `
providers:
  one: { type: anthropic, base_url: "http://127.0.0.1:1", models: ["*"] }
`;
const batch = { input_file_id: "file-1", endpoint: "/v1/responses", completion_window: "24h" };
const content = "one GET /files/file-1/content";

const submit = (
  fake: FakeGateway,
  body: object = batch,
  sample: Partial<RequestSample> = {},
): Promise<Served> =>
  served(fake, (context) => submitBatch(context, "batches"), {
    path: "/v1/batches",
    body: JSON.stringify(body),
    ...sample,
  });
const places = (fake: FakeGateway): string[] => fake.sent.map(({ what }) => what);

t.test(
  "a batch whose input names another path's object isn't submitted, but counted",
  async (t) => {
    for (const [file, at] of [
      [yaml, content],
      [azure, `${content}?api-version=2024-10-21`],
    ] as const) {
      const fake = fakeGateway(file);
      fake.owners.set("file-1", [{ provider: "one", userPath: "/team" }]);
      fake.owners.set("resp_1", [{ provider: "one", userPath: "/other" }]);
      fake.answers.set(at, { status: 200, body: '{}\n{"body":{"previous_response_id":"resp_1"}}' });
      t.match(await submit(fake), {
        status: 404,
        body: {
          error: {
            type: "not_found_error",
            message:
              "line 2 of file-1: there is no resp_1 of this user path (previous_response_id)",
            param: "input_file_id",
          },
        },
      });
      t.same(places(fake), [at]);
      t.same(fake.settled, [{ tokens: 0, estimated: false, record: null }]);
      fake.owners.set("resp_1", [{ provider: "one", userPath: "/team" }]);
      t.equal((await submit(fake)).status, 200);
    }
  },
);

t.test("a batch goes to the provider that has its file, where that is known", async (t) => {
  const two = `${yaml}  two: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [x] }\n`;
  for (const [owner, sent] of [
    ["two", ["two GET /files/file-1/content", "two POST /batches"]],
    [null, ["one GET /files/file-1/content", "one POST /batches"]],
    ["gone", ["one GET /files/file-1/content", "one POST /batches"]],
  ] as const) {
    const fake = fakeGateway(two);
    if (owner !== null) fake.owners.set("file-1", [{ provider: owner, userPath: "/team" }]);
    t.equal((await submit(fake)).status, 200);
    t.same(places(fake), sent);
    t.equal((await submit(fake, batch, { caller: operator })).status, 200);
    t.equal(places(fake).at(-1), sent[1]);
  }
});

t.test("nothing is read for the operator, nor for who may submit no batch", async (t) => {
  const fake = fakeGateway(yaml);
  t.equal((await submit(fake, batch, { caller: operator })).status, 200);
  const limited = { ...operator, isOperator: false, allowLists: [["openai/*"]] };
  t.equal((await submit(fake, batch, { caller: limited })).status, 403);
  fake.verdict = { kind: "unavailable" };
  t.equal((await submit(fake)).status, 503);
  t.same(places(fake), ["one POST /batches"]);
});

t.test("a client that leaves meanwhile ends the reading, and nothing is submitted", async (t) => {
  const fake = fakeGateway(yaml);
  const sent: unknown[] = [];
  const { record } = await served(
    fake,
    (context) => {
      Object.assign(context.gateway.providers.get("one")!.upstream, {
        send(request: unknown) {
          sent.push(request);
          setImmediate(() => (context.exchange as FakeExchange).leave());
          return { isSent: true, pause() {}, resume() {}, abort() {} };
        },
      });
      return submitBatch(context, "batches");
    },
    { path: "/v1/batches", body: JSON.stringify(batch) },
  );
  t.match(record, { status: 499, outcome: "client_gone" });
  t.match(sent, exactly([{ method: "GET" }]));
  t.same(fake.settled, [{ tokens: 0, estimated: false, record: null }]);
});

t.test("an input that can't be read is refused, in the provider's words", async (t) => {
  const table = [
    [{ status: 404, body: '{"error":{"message":"No such File"}}' }, 404, "No such File"],
    [
      { status: 400, body: '{"error":{"message":"Not allowed to download files of purpose: x"}}' },
      400,
      "Not allowed to download files of purpose: x",
    ],
    [
      { status: 302, body: "" },
      502,
      "one answered 302 Found, which is no answer to a model request",
    ],
    [
      { kind: "unreachable", reason: "ECONNREFUSED" },
      502,
      "provider one can't be reached (ECONNREFUSED)",
    ],
  ] as const;
  for (const [answer, status, reason] of table) {
    const fake = fakeGateway(yaml);
    fake.answers.set(content, answer);
    t.match(await submit(fake), {
      status,
      body: {
        error: { message: `the input file file-1 can't be checked: ${reason}`, provider: "one" },
      },
    });
    t.same(places(fake), [content]);
  }
  const large = fakeGateway(yaml);
  large.answers.set(content, { status: 200, body: "{}\n".repeat(1001) });
  t.match(await submit(large), {
    status: 413,
    body: { error: { message: "file-1 is larger than 3000 bytes" } },
  });
});

t.test("all of an input is read, whatever part of it the caller asks for", async (t) => {
  const fake = fakeGateway(yaml);
  const asked = ["Range", "bytes=0-7", "If-Range", "x", "If-None-Match", "*", "Accept", "a/b"];
  const headers = [...asked, "Content-Range", "bytes 0-7/8", "User-Agent", "sdk"];
  t.equal((await submit(fake, batch, { headers })).status, 200);
  t.same(fake.sent[0], { what: content, headers: ["User-Agent", "sdk"], body: null });
  for (const status of [204, 206]) {
    const part = fakeGateway(yaml);
    part.answers.set(content, { status, body: "{}\n" });
    t.match(await submit(part), {
      status: 502,
      body: {
        error: {
          message: `the input file file-1 can't be checked: one answered ${status}, not 200`,
        },
      },
    });
    t.same(places(part), [content]);
  }
});

t.test("an input that is no file is the operator's alone", async (t) => {
  const { input_file_id: _, ...fromBlob } = { ...batch, input_blob: "https://store/in.jsonl" };
  const table = [
    [fromBlob, "input_blob needs the master key: it names storage of the operator's"],
    [
      { ...batch, Output_Folder: { url: "https://store/out" } },
      "Output_Folder needs the master key: it names storage of the operator's",
    ],
    [{ ...batch, input_file_id: "../models" }, "input_file_id must be the id of a file"],
    [{ ...batch, input_file_id: "" }, "input_file_id must be the id of a file"],
  ] as const;
  for (const [body, message] of table) {
    const fake = fakeGateway(azure);
    t.match(await submit(fake, body), { status: 400, body: { error: { message } } });
    t.same(places(fake), []);
  }
  t.equal((await submit(fakeGateway(azure), fromBlob, { caller: operator })).status, 200);
});

t.test("Anthropic's batches hold their requests: what these name is looked up", async (t) => {
  const fake = fakeGateway(anthropic);
  fake.owners.set("file_1", [{ provider: "one", userPath: "/other" }]);
  const source = { type: "file", file_id: "file_1" };
  const params = { messages: [{ role: "user", content: [{ type: "document", source }] }] };
  const body = JSON.stringify({ requests: [{ custom_id: "1", params: {} }, { params }] });
  const submitted = (): Promise<Served> =>
    served(fake, (context) => submitBatch(context, "message_batches"), {
      path: "/v1/messages/batches",
      body,
    });
  t.match(await submitted(), { status: 404 });
  t.same([places(fake), fake.admitted], [[], []]);
  fake.owners.delete("file_1");
  t.equal((await submitted()).status, 200);
});
