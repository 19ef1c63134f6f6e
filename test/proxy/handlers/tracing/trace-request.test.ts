import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { requestAttributes } from "../../../../proxy/handlers/tracing/trace-request.js";
import { RequestRecord } from "../../../../proxy/request-record.js";
import { root } from "../../../tidy/source-tree.js";

const exchange = { id: "req_1", method: "POST", path: "/v1/chat/completions" };

function recordOf(change: (record: RequestRecord) => void): RequestRecord {
  const record = new RequestRecord(0);
  record.route = "/v1/chat/completions";
  change(record);
  return record;
}

const always = {
  "http.request.method": "POST",
  "http.route": "/v1/chat/completions",
  "url.path": "/v1/chat/completions",
  "url.scheme": "http",
  "sluice.request_id": "req_1",
};

t.test("the attributes of a request", async (t) => {
  const table: readonly [string, (record: RequestRecord) => void, object][] = [
    [
      "answered",
      (record) => {
        record.end(200, "complete");
        record.identified({ userPath: "/team/alice", keyId: "key_7" });
        record.model = "smart";
        record.target = { provider: "one", model: "gpt" };
        record.tries = 2;
        record.cost = 1_500_000_000_000;
        record.waited(20);
        record.note = "a note";
      },
      {
        "http.response.status_code": 200,
        "sluice.outcome": "complete",
        "gen_ai.request.model": "smart",
        "sluice.target": "one/gpt",
        "sluice.tries": 2,
        "sluice.wait_seconds": 0.02,
        "sluice.key": "key_7",
        "sluice.cost_usd": 1.5,
      },
    ],
    [
      "refused by a rule",
      (record) => {
        record.end(429, "rate_limited");
        record.breach = {
          scope: "model",
          subject: "one/gpt",
          periodSeconds: 60,
          dimension: "requests",
        };
      },
      {
        "http.response.status_code": 429,
        "sluice.outcome": "rate_limited",
        "sluice.rule": "model one/gpt minute requests",
      },
    ],
    [
      "failed",
      (record) => record.end(503, "limiter_unavailable"),
      {
        "http.response.status_code": 503,
        "error.type": "503",
        "sluice.outcome": "limiter_unavailable",
      },
    ],
  ];
  const page = readFileSync(join(root, "docs/reference/tracing.md"), "utf8");
  for (const [name, change, expected] of table) {
    const attributes = requestAttributes(exchange, recordOf(change));
    t.same(attributes, { ...always, ...expected }, name);
    for (const each of Object.keys(attributes)) t.ok(page.includes(`\`${each}\``), each);
  }
});

t.test("a key in a path is cut out", async (t) => {
  const path = `/v1/files/sk-sluice-${"a".repeat(8)}${"b".repeat(35)}`;
  const attributes = requestAttributes(
    { ...exchange, path },
    recordOf((r) => r.end(404, "refused")),
  );
  t.notMatch(String(attributes["url.path"]), /b{5}/);
});
