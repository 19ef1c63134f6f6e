import t from "tap";
import { replyOpenapi } from "../../../../proxy/handlers/openapi/reply-openapi.js";
import { FakeExchange } from "../../fake-exchange.js";

const load = async () => ({ text: '{"openapi":"3.1.0"}', etag: '"v1"' });

function asked(ifNoneMatch?: string): FakeExchange {
  const headers = ifNoneMatch === undefined ? [] : ["if-none-match", ifNoneMatch];
  return new FakeExchange({ method: "GET", path: "/openapi.json", headers });
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

t.test("an installation without the document says so", async (t) => {
  const exchange = asked();
  t.equal(await replyOpenapi(async () => null, exchange), 404);
  t.match(exchange.body.toString(), /this installation has no docs\/openapi.json/);
});
