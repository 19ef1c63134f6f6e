import t from "tap";
import { replyOpenapi } from "../../../../proxy/handlers/openapi/reply-openapi.js";
import { FakeExchange } from "../../fake-exchange.js";

const document = { bytes: Buffer.from('{"openapi":"3.1.0"}'), etag: '"v1"' };
const load = async () => document;

function asked(ifNoneMatch?: string, method = "GET"): FakeExchange {
  const headers = ifNoneMatch === undefined ? [] : ["if-none-match", ifNoneMatch];
  return new FakeExchange({ method, path: "/openapi.json", headers });
}

t.test("the document comes with its tag, and a client that has it gets a 304", async (t) => {
  for (const [tags, status] of [
    [undefined, 200],
    ["", 200],
    ['"v0"', 200],
    ['"v1"', 304],
    ['W/"v1"', 304],
    ['"v0", "v1"', 304],
    ["*", 304],
  ] as const) {
    const exchange = asked(tags);
    t.equal(await replyOpenapi(load, exchange), status, `${tags}`);
    t.equal(exchange.status, status);
    t.equal(exchange.body.toString(), status === 200 ? '{"openapi":"3.1.0"}' : "");
    t.equal(exchange.headers[exchange.headers.indexOf("etag") + 1], '"v1"');
  }
});

t.test("responses share the bytes, and to HEAD none are written", async (t) => {
  const [first, second, head] = [asked(), asked(), asked(undefined, "HEAD")];
  for (const exchange of [first, second, head]) {
    t.equal(await replyOpenapi(load, exchange), 200);
    t.equal(exchange.sent("content-length"), String(document.bytes.length));
    t.equal(exchange.ended, "end");
  }
  for (const { pieces } of [first, second]) {
    t.equal(pieces.length, 1);
    t.equal(pieces[0], document.bytes, "no copy");
  }
  t.same(head.pieces, []);
});

t.test("an installation without the document says so", async (t) => {
  const exchange = asked();
  t.equal(await replyOpenapi(async () => null, exchange), 404);
  t.match(exchange.body.toString(), /this installation has no docs\/openapi.json/);
});
