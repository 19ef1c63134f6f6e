import t from "tap";
import {
  errorEvent,
  inLane,
  ServerEvents,
} from "../../../../proxy/dialects/responses-socket/server-events.js";

const events = (streamId: string | null = null, previousId = "", hold = () => true): ServerEvents =>
  new ServerEvents({ streamId, previousId, hold });
const event = (value: object, name: string | null = null) => ({
  event: name,
  data: JSON.stringify(value),
});
const item = (fields: object) => event({ type: "response.output_item.done", item: fields });
const completed = (fields: object = {}) =>
  event({ type: "response.completed", response: { id: "r", ...fields } });

t.test("events get their lane, whatever precedes their JSON", async (t) => {
  t.equal(inLane(' \n{"a":1}', "x"), '{"stream_id":"x","a":1}');
  t.equal(inLane('{"a":1}', null), '{"a":1}');
  const lane = events("x");
  t.equal(
    lane.push({ event: "response.output_text.delta", data: ' {"delta":"hi"}' }),
    '{"stream_id":"x","delta":"hi"}',
  );
  t.equal(lane.push({ event: null, data: "[DONE]" }), null);
});

t.test("the last event is held back, and nothing follows it", async (t) => {
  const answer = events(null, "earlier");
  t.match(answer.push(event({ type: "response.created", response: { id: "r" } })), "earlier");
  t.equal(answer.push(completed()), null);
  t.equal(answer.push(event({ type: "response.created" })), null);
  t.match(JSON.parse(answer.end()), {
    type: "response.completed",
    response: { id: "r", previous_response_id: "earlier" },
  });
});

t.test("items are kept as the next input needs them", async (t) => {
  const answer = events();
  answer.push(item({ type: "message", id: "m", status: "completed", content: [] }));
  answer.push(item({ type: "reasoning", id: "r1", summary: [] }));
  answer.push(item({ type: "reasoning", id: "r2", encrypted_content: "e" }));
  answer.push(item({ type: "reasoning", id: "r3", content: [{ text: "t" }] }));
  answer.push(item({ type: "web_search_call", id: "w" }));
  answer.push(completed());
  t.same(answer.finished, {
    id: "r",
    items:
      '{"type":"message","content":[]},{"type":"reasoning","encrypted_content":"e"},{"type":"reasoning","content":[{"text":"t"}]},{"type":"web_search_call","id":"w"}',
  });
});

t.test("nothing is kept of what is stored, has failed, or has no memory", async (t) => {
  const stored = events();
  stored.push(completed({ store: true }));
  t.equal(stored.finished, null);
  const failed = events();
  failed.push(event({ type: "response.failed", response: { id: "r" } }));
  t.equal(failed.finished, null);
  const full = events(null, "", () => false);
  full.push(item({ type: "message" }));
  full.push(completed());
  t.equal(full.finished, null);
  const nameless = events();
  nameless.push(completed({ id: 7 }));
  t.equal(nameless.finished, null);
});

t.test("errors have their status, their exact numbers, and the headers of limits", async (t) => {
  const last = (push: (answer: ServerEvents) => void): unknown => {
    const answer = events();
    push(answer);
    return JSON.parse(answer.end());
  };
  t.match(
    last((answer) =>
      answer.whole(
        429,
        ["Retry-After", "7", "X-RateLimit-Limit", "1", "content-type", "application/json"],
        '{"error":{"type":"rate_limit_error","message":"m"}}',
      ),
    ),
    { status: 429, headers: { "retry-after": "7", "x-ratelimit-limit": "1" } },
  );
  t.match(
    last((answer) => answer.whole(200, [], "no JSON")),
    {
      status: 502,
      error: { type: "provider_error" },
    },
  );
  t.match(
    last(() => {}),
    { status: 502, error: { message: /ended before/ } },
  );
  for (const [error, status] of [
    [{ type: "error", error: { type: "not_found_error" } }, 404],
    [{ type: "error", code: "context_length_exceeded", message: "m" }, 400],
    [{ type: "error", error: { type: "rate_limit_error" }, status: 529 }, 529],
    [{ type: "error", message: "m" }, 500],
  ] as const)
    t.match(
      last((answer) => answer.push(event(error))),
      { type: "error", status },
    );
  const exact = events();
  const data = '{"type":"error","error":{"args":{"id":12345678901234567890}}}';
  exact.push({ event: "error", data });
  t.match(exact.end(), '"args":{"id":12345678901234567890}');
  t.match(errorEvent({ param: "previous_response_id" }, { status: 400 }), "response_not_found");
});

t.test("a whole response is its last event", async (t) => {
  const answer = events();
  answer.whole(200, [], '{"id":"r","status":"incomplete","output":[{"type":"message","id":"m"}]}');
  t.match(JSON.parse(answer.end()), { type: "response.incomplete", response: { id: "r" } });
  t.same(answer.finished, { id: "r", items: '{"type":"message"}' });
});
