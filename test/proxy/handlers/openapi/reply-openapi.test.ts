import t from "tap";
import { replyOpenapi } from "../../../../proxy/handlers/openapi/reply-openapi.js";
import type { KeptFile } from "../../../../proxy/http/reply-file.js";
import { FakeExchange } from "../../fake-exchange.js";

const text = Buffer.from('{"openapi":"3.1.0"}');
const document: KeptFile = {
  contentType: "application/json",
  etag: 'W/"v1"',
  bytes: async (coding) => (coding === "identity" ? text : Buffer.from(coding)),
};
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
    t.equal(exchange.headers[exchange.headers.indexOf("etag") + 1], 'W/"v1"');
  }
});

t.test("responses share the bytes, and to HEAD none are written", async (t) => {
  const [first, second, head] = [asked(), asked(), asked(undefined, "HEAD")];
  for (const exchange of [first, second, head]) {
    t.equal(await replyOpenapi(load, exchange), 200);
    t.equal(exchange.sent("content-length"), String(text.length));
    t.equal(exchange.ended, "end");
  }
  for (const { pieces } of [first, second]) {
    t.equal(pieces.length, 1);
    t.equal(pieces[0], text, "no copy");
  }
  t.same(head.pieces, []);
});

t.test("it is compressed as the client takes it, and says on what that depends", async (t) => {
  const exchange = new FakeExchange({
    method: "GET",
    path: "/openapi.json",
    headers: ["accept-encoding", "gzip, br;q=0.1"],
  });
  t.equal(await replyOpenapi(load, exchange), 200);
  t.equal(exchange.sent("content-encoding"), "gzip");
  t.equal(exchange.body.toString(), "gzip");
  for (const answer of [exchange, asked(), asked('"v1"')]) {
    if (answer !== exchange) await replyOpenapi(load, answer);
    t.equal(answer.sent("vary"), "accept-encoding");
  }
});

t.test("an installation without the document says so", async (t) => {
  const exchange = asked();
  t.equal(await replyOpenapi(async () => null, exchange), 404);
  t.match(exchange.body.toString(), /this installation has no docs\/openapi.json/);
});
