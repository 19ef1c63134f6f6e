import t from "tap";
import {
  type Authentication,
  authenticatedCaller,
  type Caller,
  wrongToken,
} from "../../../proxy/auth/caller.js";
import type { Gateway } from "../../../proxy/gateway.js";
import { admitRequest, settleRequest } from "../../../proxy/handlers/admit-and-settle.js";
import { refuseBeforeAdmission } from "../../../proxy/handlers/refuse-request.js";
import type { Admission, AdmissionOutcome, SpentUsage } from "../../../proxy/limiter/admission.js";
import type { RequestContext } from "../../../proxy/request-context.js";
import { RequestRecord } from "../../../proxy/request-record.js";
import type { ForwardResult } from "../../../proxy/upstream/forwarded.js";
import { modelNotAllowed } from "../../../shared/access/allowed-models.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { failure, invalid } from "../../../shared/error-code.js";
import { exactly } from "../../support/patterns/exactly.js";
import { FakeExchange } from "../fake-exchange.js";
import { fakeGateway } from "../fake-gateway.js";

const yaml = `
providers:
  one: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [x] }
  two: { type: vllm, base_url: "http://127.0.0.1:1/v1", models: [x] }
`;
const one: Target = { provider: "one", model: "x" };
const two: Target = { provider: "two", model: "x" };
const withKey: Caller = { ...authenticatedCaller("/claimed"), credential: "hash" };

function begin(caller: Caller = withKey) {
  const fake = fakeGateway(yaml);
  const noted: unknown[] = [];
  const asked: unknown[] = [];
  Object.assign(fake.gateway.limiter, {
    noteRefusal: (...what: unknown[]) => void noted.push(what),
    authorize(credential: string) {
      asked.push(credential);
      return Promise.resolve(authorization);
    },
    notices: { keysExist: null },
  });
  let authorization: unknown = { kind: "authorized", userPath: "/of-key", keyId: "key_1" };
  const exchange = new FakeExchange();
  const record = new RequestRecord(0);
  const context = { gateway: fake.gateway, exchange, caller, record } as RequestContext;
  return {
    ...fake,
    fake,
    exchange,
    record,
    context,
    noted,
    asked,
    authorizes: (outcome: unknown) => {
      authorization = outcome;
    },
    body: () => JSON.parse(exchange.body.toString()) as unknown,
  };
}

const breach = {
  dimension: "requests",
  scope: "user_path",
  subject: "/of-key",
  periodSeconds: 60,
  limit: 3,
  used: 3,
  waitSeconds: 12,
} as const;
const modelNames = ["a/x", "x"];
const budgetBreach = {
  dimension: "budget",
  scope: "user_path",
  subject: "/of-key",
  periodSeconds: 86_400,
  spentUsd: 2,
  amountUsd: 1,
  waitSeconds: 34,
} as const;

t.test("an admitted request goes on, identified, and nothing has been answered", async (t) => {
  const { context, record, exchange, admitted } = begin();
  const outcome = await admitRequest(context, { targets: [one, two], model: "x", modelNames });
  t.match(outcome, { admission: { target: one } });
  t.match(record, { userPath: "/team", target: one });
  t.same(exchange.calls, []);
  t.match(admitted, exactly([{ targets: [one, two], submission: false }]));
});

t.test("a submission is counted at no target, and sent to the first", async (t) => {
  const { context, record, admitted } = begin();
  const outcome = await admitRequest(context, {
    targets: [two, one],
    model: "",
    modelNames: [],
    submission: true,
  });
  t.match(outcome, { admission: { target: null } });
  t.equal(record.target, two);
  t.match(admitted, exactly([{ submission: true }]));
});

t.test("whatever isn't an admission is answered, and named in the log", async (t) => {
  const refusal = { id: 7, headers: null, key: null } as const;
  const table: readonly (readonly [unknown, number, string, object])[] = [
    [{ kind: "unavailable" }, 503, "limiter_unavailable", { note: null, userPath: null }],
    [{ kind: "failed", failure: failure("overloaded", "full") }, 503, "overloaded", { note: null }],
    [
      { kind: "failed", failure: modelNotAllowed("key_7", ["y"], modelNames) },
      403,
      "refused",
      { note: /^key_7 may not use the model "a\/x"; it may use: y$/ },
    ],
    [{ kind: "denied", ended: null }, 401, "refused", { userPath: null }],
    [
      { kind: "refused", breach, ...refusal },
      429,
      "rate_limited",
      { userPath: "/claimed", keyId: "" },
    ],
    [
      { kind: "refused", breach, ...refusal, key: { userPath: "/of-key", keyId: "key_1" } },
      429,
      "rate_limited",
      { userPath: "/of-key", keyId: "key_1", note: /of-key/ },
    ],
    [
      { kind: "exceeded", breach: budgetBreach, ...refusal },
      429,
      "over_budget",
      { note: /of-key/ },
    ],
  ];
  for (const [outcome, status, what, logged] of table) {
    const { fake, context, exchange, record, noted, settled } = begin();
    fake.verdict = outcome as AdmissionOutcome;
    t.equal(await admitRequest(context, { targets: [one], model: "x", modelNames }), null);
    t.equal(exchange.status, status, what);
    t.match(record, { status, outcome: what, ...logged });
    t.equal(record.target, null);
    t.same(settled, [], "nothing is left to settle");
    t.same(noted, status === 429 ? [[7, "req_test", "x"]] : []);
    t.equal(
      exchange.sent("retry-after"),
      { 503: "1", 401: undefined, 429: what === "over_budget" ? "34" : "12" }[status],
    );
    t.equal(exchange.sent("www-authenticate"), status === 401 ? "Bearer" : undefined);
  }
});

t.test("the slot of a client that left while it waited is freed immediately", async (t) => {
  const { context, exchange, record, settled } = begin();
  exchange.leave();
  t.equal(await admitRequest(context, { targets: [one], model: "x", modelNames }), null);
  t.match(record, { status: 499, outcome: "client_gone" });
  t.same(settled, [{ tokens: 0, estimated: false, record: null }]);
  t.same(exchange.calls, []);
});

const made = (): Admission => ({ target: one }) as Admission;
const usage = {
  inputTokens: 3,
  outputTokens: 2,
  totalTokens: 5,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
};

function forwarded(changes: Partial<ForwardResult> = {}): ForwardResult {
  return {
    status: 200,
    usage: usage as ForwardResult["usage"],
    executed: true,
    estimated: false,
    outcome: "complete",
    firstByteMonoMs: 1,
    note: null,
    failed: null,
    bug: null,
    finish: () => {},
    ...changes,
  };
}

t.test("a request is settled with what it used, and then its response ends", async (t) => {
  const { fake, context, record } = begin();
  const admission = made();
  record.target = two;
  const order: string[] = [];
  const spent: SpentUsage[] = [];
  fake.gateway.limiter.settle = (given, what, then) => {
    t.equal(given, admission);
    spent.push(what);
    order.push("settled");
    then();
  };
  settleRequest(context, admission, forwarded({ finish: () => void order.push("finished") }));
  t.same(order, ["settled", "finished"]);
  t.match(
    spent,
    exactly([
      {
        tokens: 5,
        estimated: false,
        record: {
          provider: "two",
          providerType: "vllm",
          inputTokens: 3,
          outputTokens: 2,
          requestId: "req_test",
        },
      },
    ]),
  );
  t.match(record, { status: 200, outcome: "complete", usage });
});

t.test(
  "nothing is recorded of what no provider worked on, without a target, or with usage off",
  async (t) => {
    for (const [what, change, tokens] of [
      ["not executed", { executed: false, usage: null }, 0],
      ["no target", {}, 5],
      ["usage off", {}, 5],
      ["an error", { usage: null, status: 500 }, 0],
    ] as const) {
      const { fake, context, record, settled } = begin();
      record.target = what === "no target" ? null : one;
      if (what === "usage off")
        (fake.gateway as { config: unknown }).config = {
          ...fake.gateway.config,
          usageEnabled: false,
        };
      settleRequest(context, made(), forwarded({ ...change, estimated: true }));
      t.match(settled, exactly([{ tokens, estimated: true }]), what);
      t.equal(settled[0]!.record === null, what !== "an error", what);
      t.equal(record.cost, what === "an error" ? 0 : null, what);
    }
  },
);

t.test("a wrong credential is reported before any other problem", async (t) => {
  const unknown = invalid("no such thing");
  for (const [outcome, status, what] of [
    [{ kind: "authorized", userPath: "/of-key", keyId: "key_1" }, 400, "refused"],
    [{ kind: "denied", ended: null }, 401, "refused"],
    [{ kind: "unavailable" }, 503, "limiter_unavailable"],
  ] as const) {
    const { context, exchange, record, asked, authorizes, body } = begin();
    authorizes(outcome);
    await refuseBeforeAdmission(context, unknown, ["allow", "GET"]);
    t.same(asked, ["hash"]);
    t.equal(exchange.status, status);
    t.match(record, { status, outcome: what, userPath: status === 400 ? "/of-key" : null });
    t.equal(exchange.sent("allow"), status === 400 ? "GET" : undefined);
    t.match(body(), {
      error: { message: { 400: "no such thing", 401: wrongToken.message, 503: /./ }[status] },
    });
  }
  const { context, exchange, record, asked } = begin();
  await refuseBeforeAdmission(context, null);
  t.match(record, { status: 499, outcome: "client_gone" });
  t.same([exchange.calls, asked], [[], []]);
});

t.test("a caller with a list of models isn't admitted for another, and uses no turn", async (t) => {
  for (const [allowLists, names, status] of [
    [[["a/*"]], modelNames, 0],
    [[["x"], ["a/x"]], modelNames, 0],
    [[["x"], ["y"]], modelNames, 403],
    [[["a/*"]], [], 403],
    [[[]], modelNames, 403],
    [[["*"]], [], 403],
  ] as const) {
    const { context, exchange, admitted } = begin();
    const caller = { ...context.caller, allowLists };
    await admitRequest({ ...context, caller }, { targets: [one], model: "x", modelNames: names });
    t.equal(exchange.status, status, JSON.stringify([allowLists, names]));
    t.equal(admitted.length, status === 0 ? 1 : 0);
    if (status === 403)
      t.match(JSON.parse(exchange.body.toString()), {
        error: { type: "permission_error", code: "model_not_allowed", param: "model" },
      });
  }
});

/** A caller by JWT whose request waits; the daemon then gives this outcome. */
async function waitFor(outcome: object, isEnded: boolean) {
  const fake = fakeGateway(`${yaml}waiting: { max_seconds: 300 }\n`);
  const timers = new Set<() => void>();
  const refused = { ok: false, failure: wrongToken, note: "expired" } as const;
  const verdicts: Authentication[] = isEnded ? [refused] : [];
  const genuine = { ok: true, caller: authenticatedCaller("/team") } as const;
  let left = (): void => {};
  Object.assign(fake.gateway, {
    setTimer(_ms: number, run: () => void) {
      timers.add(run);
      return () => timers.delete(run);
    },
    credentials: {
      masterKey: null,
      jwt: { verify: () => Promise.resolve(verdicts.shift() ?? genuine) },
      userPathHeader: "x-sluice-user-path",
    },
  });
  Object.assign(fake.gateway.limiter, {
    async admit(...[, , details]: Parameters<Gateway["limiter"]["admit"]>) {
      const gone = new Promise<void>((resolve) => (left = resolve));
      details!.wait!.onQueued(left);
      if (!isEnded) return outcome;
      for (const run of timers) run();
      await gone;
      return outcome;
    },
    noteRefusal() {},
  });
  const token = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJtZSJ9.c2ln";
  const exchange = new FakeExchange({
    headers: ["authorization", `Bearer ${token}`, "prefer", "wait=300"],
  });
  const caller = authenticatedCaller("/team");
  const record = new RequestRecord(0);
  const context = { gateway: fake.gateway, exchange, caller, record } as RequestContext;
  const admitted = await admitRequest(context, { targets: [one], model: "x", modelNames });
  return { admitted, exchange, timers };
}

t.test("a token isn't verified any more once its request has lost the daemon", async (t) => {
  const { exchange, timers } = await waitFor({ kind: "unavailable" }, false);
  t.equal(exchange.status, 503);
  t.equal(timers.size, 0);
});

t.test("a refusal that ended the wait is answered, even if the token is valid again", async (t) => {
  const { admitted, exchange } = await waitFor({ kind: "left" }, true);
  t.equal(admitted, null);
  t.equal(exchange.status, 401);
});
