import t from "tap";
import { RecordingExchange } from "../../../../proxy/handlers/cache/recording-exchange.js";
import { ResponseCache } from "../../../../proxy/handlers/cache/response-cache.js";
import { FakeExchange } from "../../fake-exchange.js";

const json = ["content-type", "application/json"];

function begin(bounds: Partial<ResponseCache["bounds"]> = {}): {
  readonly client: FakeExchange;
  readonly cache: ResponseCache;
  readonly recording: RecordingExchange;
} {
  const client = new FakeExchange();
  const cache = new ResponseCache({
    ttlMs: 1000,
    entriesMax: 10,
    bytesMax: 4096,
    entryBytesMax: 1024,
    ...bounds,
  });
  return { client, cache, recording: new RecordingExchange(client, cache) };
}

t.test("everything passes immediately, with the header of a miss, and is recorded", async (t) => {
  const { client, recording } = begin();
  recording.begin(200, ["content-type", "text/event-stream"]);
  client.reads = false;
  t.equal(recording.write(Buffer.from("one ")), false, "back-pressure passes through");
  recording.write(Buffer.from("twö"));
  recording.end();
  t.same(
    [client.body.toString(), client.sent("x-cache"), client.calls],
    ["one twö", "MISS", ["begin", "write", "write", "end"]],
  );
  const recorded = recording.take();
  t.same(
    [recorded?.contentType, recorded?.body.toString(), recorded?.body.buffer.byteLength],
    ["text/event-stream", "one twö", 8],
  );
});

t.test("a plain answer is recorded too, in either encoding", async (t) => {
  for (const encoding of ["utf8", "latin1"] as const) {
    const { client, recording } = begin();
    recording.reply(200, json, "é", encoding);
    t.same(recording.take()?.body, client.body);
    t.equal(client.sent("x-cache"), "MISS");
  }
});

t.test("an answer that isn't a plain success passes and isn't recorded", async (t) => {
  for (const [status, headers] of [
    [500, json],
    [201, json],
    [200, [...json, "Content-Encoding", "gzip"]],
  ] as const) {
    const { client, recording } = begin();
    recording.reply(status, headers, "{}", "utf8");
    t.same([client.status, recording.take()], [status, null]);
  }
  const client = new FakeExchange();
  const recording = new RecordingExchange(client, null);
  recording.reply(200, json, "{}", "utf8");
  t.same([client.sent("x-cache"), recording.take()], ["MISS", null], "and what isn't to be kept");
});

t.test(
  "an answer that grows too large passes and isn't recorded, and its room is released, however it ends",
  async (t) => {
    const { client, cache, recording } = begin({ bytesMax: 1500 });
    recording.begin(200, json);
    recording.write(Buffer.alloc(1000));
    t.notOk(cache.reserve(501));
    recording.write(Buffer.alloc(25));
    t.ok(cache.reserve(1500));
    cache.release(1500);
    recording.write(Buffer.alloc(1));
    t.same([client.body.length, recording.take()], [1026, null]);
    const second = new RecordingExchange(new FakeExchange(), cache);
    const third = new RecordingExchange(new FakeExchange(), cache);
    for (const each of [second, third]) {
      each.begin(200, json);
      each.write(Buffer.alloc(800));
    }
    t.equal(third.take(), null, "the other one has the room");
    t.equal(second.take()?.body.length, 800);
    t.ok(cache.reserve(1500));
  },
);

t.test("in all else it behaves as its exchange", async (t) => {
  const { client, recording } = begin();
  t.same(
    [
      recording.id,
      recording.method,
      recording.path,
      recording.query,
      recording.rawHeaders,
      recording.gone,
      recording.hasBegun,
    ],
    [client.id, client.method, client.path, client.query, client.rawHeaders, false, false],
  );
  let left = false;
  recording.onGone(() => (left = true));
  client.leave();
  t.same(
    [left, recording.gone, recording.isRepeated("x"), recording.header("x")],
    [true, true, false, undefined],
  );
  recording.cut();
  t.equal(client.ended, "cut");
});
