/** Whether answers that aren't as described would be noticed in the end-to-end tests. */
import t from "tap";
import { type AnswerHead, checkBody, checkHead } from "../../../support/openapi/check-answer.js";

interface Answered {
  readonly method?: string;
  readonly url: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

function problems({ method = "GET", url, status = 200, headers, body }: Answered): string[] {
  const usual = { "content-type": "application/json", "x-request-id": "req_1" };
  const head: AnswerHead = { method, url, status, headers: new Headers(headers ?? usual) };
  const checked = checkHead(head);
  const ofBody =
    checked.body === null || body === undefined
      ? []
      : checkBody(head, checked.body, JSON.stringify(body));
  return [...checked.problems, ...ofBody];
}

const json = { "content-type": "application/json", "x-request-id": "req_1" };
const ready = { url: "/ready", body: { status: "ready" } };
const error = { type: "not_found_error", message: "no", code: null, param: null };
const flat = {
  code: null,
  message: "no",
  param: null,
  provider: null,
  status_code: 404,
  type: "not_found_error",
};

t.test("an answer that is as described has no problem", async (t) => {
  for (const answered of [
    ready,
    { ...ready, status: 503, body: { status: "not ready", reason: "limiter" } },
    { url: "/ready", method: "HEAD" },
    { url: "/v1/models?limit=1", body: { object: "list", data: [] } },
    { url: "/v1/nope", status: 404, body: { error } },
    { url: "/admin/nope", status: 404, body: flat },
    { url: "/ready", method: "PUT", status: 405, headers: { ...json, allow: "GET" } },
    { url: "//v1/chat/completions", method: "POST", status: 418, body: { error } },
    // What a provider adds to an answer of its own is its own.
    {
      url: "/openai/deployments/gpt/chat/completions?api-version=1",
      method: "POST",
      headers: { ...json, "x-other": "1" },
      body: { anything: 1 },
    },
    { url: "/v1beta/models/a/b:generateContent", method: "POST", body: { candidates: [] } },
    { url: "/p/openai/v1/any", method: "POST", status: 201, body: { any: 1 } },
  ])
    t.same(problems(answered), [], answered.url);
});

t.test("a mismatch is reported with its place", async (t) => {
  for (const [answered, problem] of [
    [{ ...ready, body: { status: "ready", more: 1 } }, /more/],
    [{ ...ready, body: {} }, /must have required property 'status'/],
    [{ ...ready, body: { status: "nearly" } }, /\/status must be equal to one of/],
    [{ ...ready, status: 201 }, /no such answer/],
    [{ ...ready, headers: { ...json, "x-other": "1" } }, /the header x-other isn't described/],
    [{ ...ready, headers: { "content-type": json["content-type"] } }, /x-request-id is missing/],
    [{ ...ready, headers: { ...json, "x-request-id": "a b" } }, /x-request-id: .*pattern/],
    [{ ...ready, headers: { ...json, "content-type": "text/html" } }, /text\/html isn't described/],
    [{ url: "/v1/nope", status: 200, body: {} }, /no such answer/],
    [{ url: "/v1/nope", status: 404, body: flat }, /must have required property 'error'/],
    [{ url: "/admin/nope", status: 404, body: { error } }, /must have required property/],
    [{ url: "/ready", method: "PUT", status: 405, body: { error } }, /no such answer/],
    [
      {
        url: "/v1/chat/completions",
        method: "POST",
        status: 429,
        body: { error: { message: "" } },
      },
      /\/error must have required property 'type'/,
    ],
    [
      {
        url: "/v1/chat/completions",
        method: "POST",
        status: 429,
        headers: { ...json, "retry-after": "soon" },
      },
      /retry-after: .* must be integer/,
    ],
  ] as const)
    t.match(problems(answered).join("\n"), problem, `${problem}`);
});
