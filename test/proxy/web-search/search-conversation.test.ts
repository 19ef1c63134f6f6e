import t from "tap";
import { EventSplitter } from "../../../proxy/dialects/event-stream.js";
import { errorEvents } from "../../../proxy/http/exchanges/keep-alive-events.js";
import { messagesSearch } from "../../../proxy/web-search/messages-search.js";
import { responsesSearch } from "../../../proxy/web-search/responses-search.js";
import { citationsIn, domainsIn } from "../../../proxy/web-search/search-conversation.js";
import { cpuMsOf } from "../../support/cpu-time.js";
import { exactly } from "../../support/patterns/exactly.js";

t.test("domains as clients give them", async (t) => {
  t.same(domainsIn(["https://example.org//", "docs.example.org/a/", "", "///", 1]), [
    "example.org",
    "docs.example.org/a",
  ]);
  t.same(domainsIn("example.org"), []);
  const long = domainsIn(["/".repeat(1_000_000), "a".repeat(1_000_000)]);
  t.ok(long.every((domain) => domain.length <= 1000));
  t.equal(domainsIn(Array.from({ length: 100_000 }, (_, i) => `${i}.example.org`)).length, 2000);
});

t.test("the worst text for citations takes no more than a moment", async (t) => {
  const result = { url: "https://e.org/a", title: "A", text: "", age: null };
  const results = new Map([[result.url, result]]);
  for (const unit of ["[", "](https://e.org/a)", "https://e.org/a", "https://e.org/aa"]) {
    const text = unit.repeat(Math.floor(1_000_000 / unit.length));
    t.ok(cpuMsOf(() => citationsIn(text, results)) < 3000, unit);
  }
});

t.test("an answer that was cut, and events that aren't JSON, end no search", async (t) => {
  const search = messagesSearch({
    messages: [],
    tools: [{ type: "web_search_20250305", name: "web_search" }],
  })!;
  search.nextBody(false);
  const event = (value: object): string =>
    search.readEvent({ event: null, data: JSON.stringify(value) });
  const index = 0;
  event({
    type: "content_block_start",
    index,
    content_block: { type: "tool_use", id: "call_1", name: "web_search", input: {} },
  });
  const delta = { type: "input_json_delta", partial_json: '{"query": "new' };
  event({ type: "content_block_delta", index, delta });
  t.equal(search.readEvent({ event: null, data: "upstream error" }), "");
  event({ type: "content_block_stop", index });
  t.same(search.calls, [{ id: "call_1", query: null }]);
});

t.test("a refusal before any answer is a response with an id, its events in order", async (t) => {
  const search = responsesSearch({ input: "hi", tools: [{ type: "web_search" }] })!;
  search.nextBody(false);
  const splitter = new EventSplitter();
  const events = splitter.push(errorEvents("responses", 429, '{"error":{"message":"full"}}'));
  const shown = events.map((event) => search.readEvent(event)).join("") + search.lastEvents();
  const sent = new EventSplitter()
    .push(Buffer.from(shown))
    .map(({ data }) => JSON.parse(data) as { response?: { id: unknown } });
  t.match(
    sent,
    exactly([
      { type: "error", sequence_number: 0, message: "full" },
      { type: "response.failed", sequence_number: 1, response: { id: "resp_failed" } },
    ]),
  );
  const failing = responsesSearch({ input: "hi", tools: [{ type: "web_search" }] })!;
  failing.nextBody(false);
  failing.readEvent(events[0]!);
  t.match(
    failing.lastEvents(),
    /"status":"failed","error":\{"code":null,"message":"full"\}/,
    "a provider may send nothing but the error",
  );
});

t.test("many earlier searches take time in proportion to their number", async (t) => {
  const uses = Array.from({ length: 40_000 }, (_, i) => ({
    type: "server_tool_use",
    id: `srvtoolu_${i}`,
    input: {},
  }));
  const texts = uses.map(() => ({ type: "text", text: "a" }));
  const body = {
    messages: [{ role: "assistant", content: [...uses, ...texts] }],
    tools: [{ type: "web_search_20250305", name: "web_search" }],
  };
  t.ok(cpuMsOf(() => messagesSearch(body)) < 3000);
});
