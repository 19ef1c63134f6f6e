/** What the pages make of an answer: a body, or one of four problems in words. */
import t from "tap";
import { readAnswer } from "../../../proxy/dashboard/web/data/gateway-client.js";

const error = (fields: object): string => JSON.stringify({ code: null, param: null, ...fields });

t.test("a success is its body, also an empty one", async (t) => {
  t.same(readAnswer(200, '{"a":1}'), { ok: true, body: { a: 1 } });
  t.same(readAnswer(204, ""), { ok: true, body: null });
});

t.test("each failure is a problem of one kind, with the gateway's own words", async (t) => {
  const table = [
    [401, error({ message: "missing credentials" }), "signed-out", "missing credentials"],
    [503, error({ code: "limiter_unavailable", message: "away" }), "daemon-away", "away"],
    [503, error({ code: "feature_unavailable", message: "off" }), "refused", "off"],
    [403, error({ message: "no" }), "refused", "no"],
    [500, "<html>", "refused", "the gateway answered 500"],
    [502, "null", "refused", "the gateway answered 502"],
    [429, "[]", "refused", "the gateway answered 429"],
    [0, "", "unreachable", "the gateway doesn't answer"],
  ] as const;
  for (const [status, text, kind, message] of table) {
    const answer = readAnswer(status, text);
    t.match(answer, { ok: false, problem: { kind, message, status } }, `${status} ${text}`);
  }
});

t.test("the field that is wrong is named", async (t) => {
  const answer = readAnswer(400, error({ message: "must be more", param: "max_requests" }));
  t.match(answer, { ok: false, problem: { kind: "refused", field: "max_requests" } });
});

t.test("a page of another program in the gateway's place is no answer", async (t) => {
  t.match(readAnswer(200, "<!doctype html>"), { ok: false, problem: { kind: "refused" } });
});
