import t from "tap";
import { scanObject, valuesOf } from "../../../proxy/body/scan-json.js";
import { sessionOf } from "../../../proxy/routing/session.js";
import { sessionCharsMax } from "../../../shared/wire/execution.js";

const uuid = "5f0e1b2c-7d40-4d43-9a6e-0c5b0f7b1a11";

function session(headers: Readonly<Record<string, string>>, body: unknown = null): string {
  const bytes = Buffer.from(JSON.stringify(body));
  const fields =
    body === null
      ? null
      : {
          valuesOf: (name: string) => valuesOf(bytes, scanObject(bytes.toString("latin1")), name),
        };
  return sessionOf({ header: (name) => headers[name] }, fields);
}

// Claude Code 2.1.332, Codex 0.171.0, opencode 1.18.33 and pi; the older forms are of earlier
// releases.
t.test("each agent's session is known by what it sends", async (t) => {
  const claude = JSON.stringify({ device_id: "d", account_uuid: "a", session_id: uuid });
  const cases: readonly (readonly [Readonly<Record<string, string>>, object])[] = [
    [{ "x-claude-code-session-id": uuid }, {}],
    [{}, { metadata: { user_id: claude } }],
    [{}, { metadata: { user_id: `user_0a1b_account_${uuid.slice(1)}_session_${uuid}` } }],
    [{ "session-id": uuid, "thread-id": "t" }, { prompt_cache_key: "k" }],
    [{ session_id: uuid, conversation_id: "c" }, {}],
    [{ "x-session-affinity": uuid, "x-session-id": uuid }, {}],
    [{ "x-opencode-session": uuid }, {}],
    [{ "thread-id": uuid }, {}],
    [{ conversation_id: uuid }, {}],
    [{}, { metadata: { session_id: uuid, user_id: "user_1" } }],
    [{}, { metadata: { sessionId: uuid } }],
    [{}, { session_id: uuid, prompt_cache_key: "k" }],
    [{}, { prompt_cache_key: uuid, conversation: "c" }],
    [{}, { conversation: { id: uuid } }],
    [{}, { conversation: uuid }],
  ];
  for (const [headers, body] of cases)
    t.equal(session(headers, body), uuid, JSON.stringify([headers, body]));
  t.equal(session({ "session-id": uuid }), uuid, "a request without a body");
});

t.test("a name that can't be recorded doesn't count", async (t) => {
  const longest = "x".repeat(sessionCharsMax);
  t.equal(session({ "session-id": longest }), longest);
  for (const wrong of [`${longest}x`, 'a"b', "a\\b", "grüße", "a\nb", "", "\u202e"]) {
    t.equal(session({ "session-id": wrong }), "", JSON.stringify(wrong));
    t.equal(
      session({ "session-id": wrong }, { prompt_cache_key: uuid }),
      uuid,
      "the next one does",
    );
    for (const body of [
      { prompt_cache_key: wrong },
      { metadata: { session_id: wrong } },
      { metadata: { user_id: JSON.stringify({ session_id: wrong }) } },
    ])
      t.equal(session({}, body), "", JSON.stringify(body));
  }
  for (const body of [
    {},
    { metadata: null },
    { metadata: "s" },
    { metadata: { user_id: "user_7" } },
    { metadata: { user_id: "{" } },
    { metadata: { user_id: "[1]" } },
    { metadata: { user_id: JSON.stringify({ session_id: 7 }) } },
    { metadata: { session_id: uuid, more: "x".repeat(5000) } },
    { prompt_cache_key: 7, conversation: [] },
    { messages: [{ session_id: uuid }] },
  ])
    t.equal(session({ "x-client-request-id": "r" }, body), "", JSON.stringify(body).slice(0, 80));
});

t.test("a key that someone pasted there isn't recorded", async (t) => {
  const key = `sk-sluice-${"a".repeat(43)}`;
  t.notMatch(session({ "session-id": key }), key);
});
