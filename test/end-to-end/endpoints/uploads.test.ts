/**
 * Uploads that go wrong on their way, through real processes: too large, given up, answered before
 * their end, slow.
 */
import { readdirSync, readlinkSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import t from "tap";
import { admin, until } from "../../support/client.js";
import { liveHeapBytes } from "../../support/memory/live-heap.js";
import { exactly } from "../../support/patterns/exactly.js";
import { inspectorOf, makeSite } from "../../support/processes/processes.js";
import { startModelApi } from "../../support/providers/model-api.js";
import { digestOf, openaiKey, reply } from "../../support/providers/model-api-call.js";
import { beginUpload, formEnd, formField, formFile } from "../../support/raw-upload.js";

const api = await startModelApi();
t.teardown(() => api.close());
const bytesMax = 2_000_000;
const site = makeSite(
  t,
  `
server: { max_upload_bytes: ${bytesMax} }
providers:
  test: { type: openai, base_url: "${api.baseUrl}", api_key: ${openaiKey}, models: [gpt-test], retries: 0 }
  hasty: { type: openai, base_url: "${api.baseUrl}", api_key: ${openaiKey}, models: [hasty-test], retries: 0, first_byte_timeout_ms: 2000 }
  other: { type: openai, base_url: "${api.baseUrl}", api_key: ${openaiKey}, models: [another-test] }
virtual_models:
  either: { strategy: failover, targets: [{ model: test/gpt-test }, { model: other/another-test }] }
rate_limits:
  user_paths: [{ path: /, limits: [{ period: concurrent, max_requests: 20 }] }]
`,
);
await site.startDaemon();
const proxy = await site.startProxy(site.socket, { inspected: true });
const url = proxy.ready;
const piece = Buffer.alloc(50_000, 7);

/** No slot is held, and no file. */
async function atRest(): Promise<void> {
  await until(
    async () => (await admin(url, "GET /rate-limits")).body.rate_limits,
    (rules) => rules.every(({ in_flight }) => in_flight === 0),
  );
  const directory = `/proc/${proxy.child.pid}/fd`;
  await until(
    async () => readdirSync(directory),
    (open) => !open.some((fd) => linkOf(`${directory}/${fd}`).includes("sluice-upload")),
  );
}

/** Empty for one that was closed meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

const beginnings = {
  "a recording, the model first": {
    path: "/v1/audio/transcriptions",
    begin: `${formField("model", "gpt-test")}${formFile}`,
  },
  "a recording, the model last": { path: "/v1/audio/transcriptions", begin: formFile },
  "a file": { path: "/v1/files", begin: `${formField("purpose", "batch")}${formFile}` },
};

t.test(
  "one that is too large is refused, with or without a content-length, and its connection ends",
  async (t) => {
    const asked = Object.entries(beginnings).flatMap(([what, beginning]) =>
      [null, bytesMax + 100_000].map((length) => ({ what, length, ...beginning })),
    );
    await Promise.all(
      asked.map(async ({ what, length, path, begin }) => {
        const upload = beginUpload(url, path, length);
        await upload.send(begin);
        // It keeps sending for a while whatever the answer, as clients do that write all before
        // they read.
        for (
          let sent = begin.length;
          sent + piece.length < bytesMax + 100_000;
          sent += piece.length
        )
          if (!(await upload.send(piece))) break;
        const { status, closes, body } = await upload.answer();
        t.same(
          [status, closes],
          [413, true],
          `${what}, ${length === null ? "without a content-length" : "with a content-length"}`,
        );
        t.match(JSON.parse(body), {
          error: {
            code: "request_too_large",
            message: `the body is larger than ${bytesMax} bytes`,
          },
        });
        upload.leave();
      }),
    );
    await atRest();
  },
);

t.test(
  "a client that leaves in the middle of one ends the provider's request, and leaves nothing behind",
  async (t) => {
    for (const [what, { path, begin }] of Object.entries(beginnings)) {
      const calls = api.calls.length;
      const aborted = new Promise<void>((resolve) => {
        api.intercept = (request) =>
          void request
            .on("error", () => {})
            .on("close", () => request.complete || resolve())
            .resume();
      });
      const upload = beginUpload(url, path, bytesMax);
      await upload.send(begin);
      for (let i = 0; i < 12; i++) await upload.send(piece);
      if (what === "a recording, the model last") {
        // It waits for its model on disk: no provider has been called.
        await until(
          async () => readdirSync(`/proc/${proxy.child.pid}/fd`),
          (open) =>
            open.some((fd) =>
              linkOf(`/proc/${proxy.child.pid}/fd/${fd}`).includes("sluice-upload"),
            ),
        );
        t.type(api.intercept, "function");
        upload.leave();
      } else {
        await until(
          async () => api.intercept,
          (now) => now === null,
        );
        upload.leave();
        await aborted;
      }
      await atRest();
      t.equal(api.calls.length, calls, what);
      api.intercept = null;
    }
  },
);

t.test("a provider's early answer reaches a client that is still sending", async (t) => {
  const table = [
    {
      ...beginnings["a recording, the model first"],
      status: 422,
      body: { error: { message: "not this" } },
    },
    { ...beginnings["a file"], status: 200, body: { text: "enough" } },
  ];
  for (const { path, begin, status, body } of table) {
    api.intercept = (request, response) =>
      void request.once("data", () => reply(response, status, body));
    const upload = beginUpload(url, path, bytesMax);
    await upload.send(begin);
    for (let i = 0; i < 30; i++) if (!(await upload.send(piece))) break;
    const answer = await upload.answer();
    t.same([answer.status, answer.closes], [status, true], `${status} at ${path}`);
    t.match(JSON.parse(answer.body), body);
    upload.leave();
    await atRest();
  }
});

t.test(
  "a recording that is whole when its target fails goes to the next one; one that has passed doesn't",
  async (t) => {
    const transcribe = (form: Buffer) =>
      fetch(`${url}/v1/audio/transcriptions`, {
        method: "POST",
        headers: { "content-type": "multipart/form-data; boundary=B" },
        body: new Uint8Array(form),
      });
    const large = Buffer.alloc(600_000, 7);
    const fields = formField("model", "either");
    const table = [
      {
        what: "small",
        form: Buffer.from(`${fields}${formFile}ID3${formEnd}`),
        expected: Buffer.from("ID3"),
      },
      {
        what: "large, on disk until its model came",
        form: Buffer.concat([Buffer.from(formFile), large, Buffer.from(`\r\n${fields}--B--\r\n`)]),
        expected: large,
      },
      {
        what: "large, on its way",
        form: Buffer.concat([Buffer.from(`${fields}${formFile}`), large, Buffer.from(formEnd)]),
        expected: null,
      },
    ];
    for (const { what, form, expected } of table) {
      api.intercept = (request, response) =>
        void request
          .resume()
          .on("end", () => reply(response, 500, { error: { message: "out of order" } }));
      const response = await transcribe(form);
      if (expected === null)
        t.match(
          [response.status, await response.json()],
          exactly([500, { error: { message: "out of order", provider: "test" } }]),
          what,
        );
      else
        t.same(
          [
            response.headers.get("x-sluice-target"),
            ((await response.json()) as { text: string }).text,
          ],
          ["other/another-test", `another-test transcribed a.mp3: ${digestOf(expected)}`],
          what,
        );
    }
    await atRest();
  },
);

t.test(
  "one that takes longer than a provider may be silent is no silence; a provider that then says nothing is",
  async (t) => {
    const upload = beginUpload(url, "/v1/audio/transcriptions", null);
    await upload.send(`${formField("model", "hasty-test")}${formFile}`);
    for (let i = 0; i < 9; i++) {
      await upload.send(piece);
      await pause(300);
    }
    await upload.send(formEnd);
    await upload.end();
    const { status, body } = await upload.answer();
    t.same(
      [status, JSON.parse(body).text],
      [200, `hasty-test transcribed a.mp3: ${digestOf(Buffer.alloc(9 * piece.length, 7))}`],
    );
    upload.leave();
    api.intercept = (request) => void request.resume();
    const unheard = await fetch(`${url}/v1/audio/transcriptions`, {
      method: "POST",
      headers: { "content-type": "multipart/form-data; boundary=B" },
      body: `${formField("model", "hasty-test")}${formFile}ID3${formEnd}`,
    });
    t.equal(unheard.status, 504);
    await atRest();
  },
);

// Last, since uploads that their clients leave may reach the provider after that.
t.test(
  "what was sent of uploads isn't held in memory, even where the model comes last",
  async (t) => {
    for (const [what, { path, begin }] of Object.entries(beginnings)) {
      const inspector = inspectorOf(proxy);
      const before = await liveHeapBytes(inspector);
      const uploads = Array.from({ length: 16 }, () => beginUpload(url, path, bytesMax));
      await Promise.all(
        uploads.map(async (upload) => {
          await upload.send(begin);
          for (let sent = 0; sent < bytesMax - 2 * piece.length; sent += piece.length)
            await upload.send(piece);
        }),
      );
      // What is on its way between two sockets is soon less.
      const held = async () => (await liveHeapBytes(inspector)) - before;
      t.ok((await until(held, (bytes) => bytes < 10_000_000)) < 10_000_000, `${what}: of 30 MB`);
      for (const upload of uploads) upload.leave();
      await atRest();
    }
  },
);
