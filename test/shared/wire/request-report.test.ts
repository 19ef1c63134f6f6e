import t from "tap";
import { parseRequestReport } from "../../../shared/wire/request-report.js";

const request = {
  request_id: "r",
  kind: "failed",
  status: 500,
  outcome: "x",
  method: "POST",
  path: "/",
  duration_ms: 1,
};
const target = {
  provider: "p",
  model: "m",
  attempts: 1,
  failures: [0, 0, 0, 0, 0, 0, 0],
  first: [1, 2],
  whole: [],
  tokens: 0,
  token_ms: 0,
};
const body = {
  requests: [[0, request]],
  counts: [0, 0, 0, 0, 0, 0],
  tokens: 0,
  cost: 0,
  targets: [target],
  agents: [["s", "a", "/team"]],
};

t.test("a report is taken whole or not at all, and is bounded", async (t) => {
  t.ok(parseRequestReport(body).ok, "of an older proxy, without its own times");
  t.ok(parseRequestReport({ ...body, own_us: [33, 2] }).ok);
  const long = "x".repeat(501);
  const attempt = { target: "p/m", duration_ms: 1 };
  const withRequest = (fields: object) => ({ ...body, requests: [[0, { ...request, ...fields }]] });
  t.ok(parseRequestReport(withRequest({ attempts: [attempt], dropped: ["n"], stream: true })).ok);
  for (const [field, wrong] of [
    ["requests", { ...body, requests: Array(201).fill([0, request]) }],
    ["requests", { ...body, requests: [[-1, request]] }],
    ["requests", withRequest({ kind: "odd" })],
    ["requests", withRequest({ error_message: long })],
    ["requests", withRequest({ user_path: null })],
    ["requests", withRequest({ attempts: Array(21).fill(attempt) })],
    ["requests", withRequest({ attempts: [{ ...attempt, status: -1 }] })],
    ["requests", withRequest({ dropped: [7] })],
    ["counts", { ...body, counts: [0] }],
    ["tokens", { ...body, tokens: 0.5 }],
    ["cost", { ...body, cost: Number.NaN }],
    ["targets", { ...body, targets: Array(202).fill(target) }],
    ["targets", { ...body, targets: [{ ...target, first: [96, 1] }] }],
    ["targets", { ...body, targets: [{ ...target, first: [1] }] }],
    ["targets", { ...body, targets: [{ ...target, failures: [] }] }],
    ["own_us", { ...body, own_us: [96, 1] }],
    ["agents", { ...body, agents: [["s", "a"]] }],
    ["requests", null],
  ] as const)
    t.match(parseRequestReport(wrong), { ok: false, failure: { param: field } }, field);
});
