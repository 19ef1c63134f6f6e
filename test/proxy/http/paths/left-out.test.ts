import t from "tap";
import { matchRoute } from "../../../../proxy/http/match-route.js";
import { leftOut } from "../../../../proxy/http/paths/left-out.js";

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
    "/v1/complete",
    "/v1/chat/completions/chatcmpl-1",
    "/v1beta/cachedContents",
    "/upload/v1beta/files",
  ]) {
    t.match(leftOut(path), `/p/{provider}${path},`);
    t.equal(matchRoute("POST", path).kind, "unknown");
  }
  for (const path of [
    "/v1/realtime/client_secrets",
    "/v1/realtime/sessions",
    "/v1/realtime/calls",
  ]) {
    t.match(leftOut(path), /WebSocket at \/v1\/realtime instead$/);
    t.notMatch(leftOut(path), "/p/", "nothing would be counted there either");
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
    t.equal(leftOut(path), null, path);
});
