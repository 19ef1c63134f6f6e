import t from "tap";
import { isWanted, parseRecordQuery } from "../../../limiterd/lists/record-query.js";
import { executed } from "../in-memory-daemon.js";

const parsed = (body: unknown) => {
  const query = parseRecordQuery(body);
  if (!query.ok) throw new Error(query.failure.message);
  return query.value;
};

const all = {
  after: null,
  limit: 200,
  fromMs: null,
  beforeMs: null,
  userPath: "/",
  model: null,
  provider: null,
  requestId: null,
  session: null,
  keyId: null,
  statuses: null,
};

t.test("what is asked for of the records, and all of them without a filter", async (t) => {
  for (const body of [null, undefined, {}, { model: null, key: null, status: null }])
    t.same(parsed(body), all);
  for (const [body, differing] of [
    [
      { after: "7.1", limit: 5 },
      { after: { key: 7, index: 1 }, limit: 5 },
    ],
    [{ user_path: "/a" }, { userPath: "/a" }],
    [{ model: "GPT-4o" }, { model: "gpt-4o" }],
    [{ provider: "OpenAI" }, { provider: "openai" }],
    [{ request_id: "Req" }, { requestId: "Req" }],
    [{ model: "x".repeat(1000) }, { model: "x".repeat(1000) }],
    [{ key: "key_7" }, { keyId: "key_7" }],
    [{ key: "none" }, { keyId: "" }],
    [{ status: "429" }, { statuses: { from: 429, to: 429 } }],
    [{ status: "5XX" }, { statuses: { from: 500, to: 599 } }],
    [{ start_date: "1970-01-02" }, { fromMs: 86_400_000 }],
    [{ end_date: "1970-01-01" }, { beforeMs: 86_400_000 }],
  ] as const)
    t.same(parsed(body), { ...all, ...differing }, JSON.stringify(body));
  for (const [body, param] of [
    [[], "body"],
    [{ before: 1 }, "before"],
    [{ after: "x" }, "after"],
    [{ limit: 201 }, "limit"],
    [{ user_path: 7 }, "user_path"],
    [{ end_date: "today" }, "end_date"],
    [{ model: 7 }, "model"],
    [{ request_id: "" }, "request_id"],
    [{ key: 7 }, "key"],
    [{ key: "key_x" }, "key"],
    [{ status: 429 }, "status"],
    [{ status: "600" }, "status"],
    [{ status: "42" }, "status"],
    [{ status: "4xxx" }, "status"],
    [{ model: "x".repeat(1001) }, "model"],
    [{ provider: "" }, "provider"],
  ] as const)
    t.match(parseRecordQuery(body), { ok: false, failure: { param } }, JSON.stringify(body));
});

t.test("a record is wanted that no filter leaves out, at both ends of each", async (t) => {
  const record = {
    ...executed({
      status: 429,
      keyId: "key_7",
      requestedModel: "Smart",
      model: "GPT-4o",
      session: "s-1",
    }),
    atMs: 5,
    userPath: "/a",
    estimated: false,
  };
  for (const [changes, wanted] of [
    [{}, true],
    [{ statuses: { from: 429, to: 429 } }, true],
    [{ statuses: { from: 430, to: 499 } }, false],
    [{ statuses: { from: 400, to: 428 } }, false],
    [{ statuses: { from: 400, to: 499 } }, true],
    [{ keyId: "key_7" }, true],
    [{ keyId: "" }, false],
    [{ requestId: "req_1" }, true],
    [{ requestId: "REQ_1" }, false],
    [{ session: "s-1" }, true],
    [{ session: "S-1" }, false],
    [{ provider: "openai" }, true],
    [{ provider: "groq" }, false],
    [{ model: "gpt-4o" }, true],
    [{ model: "smart" }, true],
    [{ model: "openai/gpt-4o" }, true],
    [{ model: "openai/smart" }, false],
    [{ model: "gpt" }, false],
    [{ userPath: "/b" }, false],
    [{ model: "smart", userPath: "/b" }, false],
    [{ model: "gpt", userPath: "/a" }, false],
  ] as const)
    t.equal(isWanted(record, { ...all, ...changes }), wanted, JSON.stringify(changes));
});
