import t from "tap";
import {
  authenticatedCaller,
  deniedCaller,
  type RefusedCaller,
} from "../../../proxy/auth/caller.js";
import {
  refuseCaller,
  refuseRoute,
  whyNotOffered,
} from "../../../proxy/handlers/refuse-request.js";
import { areaOf, matchRoute } from "../../../proxy/http/match-route.js";
import { limiterUnavailable } from "../../../proxy/limiter/daemon-calls.js";
import { RequestRecord } from "../../../proxy/request-record.js";
import { FakeExchange } from "../fake-exchange.js";

function answer(refused: RefusedCaller): {
  readonly exchange: FakeExchange;
  readonly note: unknown;
} {
  const exchange = new FakeExchange();
  const record = new RequestRecord(0);
  refuseCaller({ exchange, record }, "model", refused);
  return { exchange, note: record.note };
}

t.test(
  "every ended key gets the body of a wrong token; who has it learns when it expired, the log which it was",
  async (t) => {
    const caller = authenticatedCaller("/");
    const expiredAtMs = Date.UTC(2026, 0, 31, 12);
    const table = [
      [null, "Bearer", null],
      [{ keyId: "key_7", expiredAtMs: null }, "Bearer", "key_7 is deactivated"],
      [
        { keyId: "key_7", expiredAtMs },
        'Bearer error="invalid_token", error_description="expired at 2026-01-31T12:00:00Z"',
        "key_7 has expired",
      ],
    ] as const;
    const bodies = new Set<string>();
    for (const [ended, challenge, note] of table) {
      const refused = answer(deniedCaller(caller, ended));
      t.equal(refused.exchange.status, 401);
      t.equal(refused.exchange.sent("www-authenticate"), challenge);
      t.equal(refused.note, note);
      bodies.add(refused.exchange.body.toString());
    }
    t.equal(bodies.size, 1);
    t.match([...bodies][0], /"authentication failed"/);
  },
);

t.test("a caller that can't be checked now gets a Retry-After", async (t) => {
  const { exchange } = answer({ ok: false, failure: limiterUnavailable() });
  t.same([exchange.status, exchange.sent("retry-after")], [503, "1"]);
});

t.test("what is left out says why, and where it works instead", async (t) => {
  for (const path of [
    "/v1/vector_stores",
    "/v1/vector_stores/vs_1/files",
    "/v1/fine_tuning/jobs",
    "/v1/evals",
    "/v1/videos",
    "/v1/assistants",
    "/v1/threads/thread_1/runs",
    "/v1/skills",
    "/v1/agents/agent_1",
    "/v1/chatkit/sessions",
    "/v1/webhook_endpoints",
    "/v1/dreams",
    "/v1/audio/voices",
    "/v1/complete",
    "/v1/chat/completions/chatcmpl-1",
    "/v1beta/cachedContents",
    "/upload/v1beta/files",
  ]) {
    t.match(whyNotOffered(path), `/p/{provider}${path},`);
    t.equal(matchRoute("POST", path).kind, "unknown");
  }
  for (const path of [
    "/v1/realtime/client_secrets",
    "/v1/realtime/sessions",
    "/v1/realtime/translations/client_secrets",
    "/v1/realtime/calls",
  ]) {
    t.match(whyNotOffered(path), /WebSocket at \/v1\/realtime instead$/);
    t.notMatch(whyNotOffered(path), "/p/", "nothing would be counted there either");
    t.equal(matchRoute("POST", path).kind, "unknown");
  }
});

t.test("anything else is unknown", async (t) => {
  for (const path of [
    "/",
    "",
    "/v1",
    "/v1/nope",
    "/v1/realtime",
    "/v1/videosx",
    "/evals",
    "/p/x/v1/evals",
    "/v1/constructor",
    "/v1/chat/completionsx",
    "/upload/v1/files",
    "/v1/organization/projects",
    "/v1/realtime/callsx",
  ])
    t.equal(whyNotOffered(path), null, path);
});

t.test(
  "a wrong base URL and a misspelling are answered with the path that was meant",
  async (t) => {
    for (const [path, meant] of [
      ["/chat/completions", "/v1/chat/completions"],
      ["/v1/v1/messages", "/v1/messages"],
      ["/openai/v1/responses", "/v1/responses"],
      ["/anthropic/v1/messages/count_tokens", "/v1/messages/count_tokens"],
      ["/v1/chat/completion", "/v1/chat/completions"],
      ["/v1/embedings", "/v1/embeddings"],
      ["/v1/v1beta/models", "/v1beta/models"],
      ["/admin/budget", "/admin/budgets"],
      ["/v1/nope", null],
      ["/v1/chat/completions", null],
    ] as const) {
      const exchange = new FakeExchange({ method: "POST", path });
      const match = { kind: "unknown", area: areaOf(path) } as const;
      refuseRoute(exchange, new RequestRecord(0), match);
      const hint = meant === null ? "" : `; did you mean ${meant}?`;
      t.match(exchange.body.toString(), `"unknown API endpoint: POST ${path}${hint}"`);
    }
  },
);
