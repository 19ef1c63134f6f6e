import t from "tap";
import { authenticatedCaller, type Caller } from "../../../proxy/auth/caller.js";
import { askCache } from "../../../proxy/handlers/ask-cache.js";
import { ResponseCache } from "../../../proxy/handlers/cache/response-cache.js";
import type { ModelCall } from "../../../proxy/handlers/model-call.js";
import type { RequestContext } from "../../../proxy/request-context.js";
import { RequestRecord } from "../../../proxy/request-record.js";
import type { Route } from "../../../proxy/routing/resolve-model.js";
import type { ForwardResult } from "../../../proxy/upstream/forwarded.js";
import type { Operation } from "../../../shared/operation.js";
import { exactly } from "../../support/patterns/exactly.js";
import { fieldsOf } from "../body/fields-of.js";
import { FakeExchange } from "../fake-exchange.js";
import { fakeGateway } from "../fake-gateway.js";

const yaml = `
providers:
  one: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [x] }
`;
const target = { provider: "one", model: "x" };
const route = { kind: "target", targets: [target] } as unknown as Route;
const json = '{"choices":[]}';
const stream = 'data: {"choices":[]}\n\ndata: [DONE]\n\n';
const usage = {
  inputTokens: 3,
  outputTokens: 2,
  totalTokens: 5,
  cachedInputTokens: 1,
  cacheWriteInputTokens: 0,
} as NonNullable<ForwardResult["usage"]>;

interface Ask {
  readonly body?: string | null;
  readonly operation?: Operation;
  readonly control?: string;
  readonly caller?: Caller;
  readonly gone?: boolean;
}

/** A gateway with a cache, whose clock is set. */
function open({ share = false, usageEnabled = true } = {}) {
  const fake = fakeGateway(yaml);
  let nowMs = 0;
  let authorization: unknown = { kind: "authorized", userPath: "/of-key", keyId: "key_1" };
  const recorded: unknown[] = [];
  const asked: string[] = [];
  const cache = new ResponseCache({
    ttlMs: 60_000,
    entriesMax: 10,
    bytesMax: 100_000,
    entryBytesMax: 1000,
  });
  const gateway = {
    ...fake.gateway,
    config: { ...fake.gateway.config, usageEnabled },
    monoMs: () => nowMs,
    caching: {
      cache,
      shareAcrossPaths: share,
      digest: (head: string, body: Buffer) => `${head} ${body.toString()}`,
    },
    limiter: {
      notices: { keysExist: true },
      authorize(credential: string) {
        asked.push(credential);
        return Promise.resolve(authorization);
      },
      settleUnadmitted(what: unknown, then: () => void) {
        recorded.push(what);
        then();
      },
    },
  } as unknown as RequestContext["gateway"];
  async function ask({
    body = '{"model":"x"}',
    operation = "chat_completions",
    control,
    caller = authenticatedCaller("/team"),
    gone = false,
  }: Ask = {}) {
    const exchange = new FakeExchange({
      headers: control === undefined ? [] : ["cache-control", control],
    });
    if (gone) exchange.leave();
    const record = new RequestRecord(nowMs);
    if (caller.credential === "authenticated") record.setCaller(caller);
    const call = {
      operation,
      body: body === null ? null : Buffer.from(body),
      valuesOf: (name: string) => fieldsOf(body ?? "{}").valuesOf(name),
    } as ModelCall;
    const outcome = await askCache(
      { gateway, exchange, caller, record },
      { call, route, modelNames: ["openai/x", "x"] },
    );
    return { outcome, exchange, record };
  }
  /** A provider answers a miss, so that the answer may be kept. */
  async function answer(
    asked: Ask = {},
    changes: Partial<ForwardResult> = {},
    { type = "application/json", text = json, by = target as typeof target | null } = {},
  ): Promise<FakeExchange> {
    const { outcome, exchange } = await ask(asked);
    if (outcome.kind !== "miss") throw new Error(`it is ${outcome.kind}`);
    const status = changes.status ?? 200;
    const kept = outcome.keepAfter(
      {
        status,
        usage,
        executed: true,
        estimated: false,
        outcome: "complete",
        firstByteMonoMs: 1,
        note: null,
        failed: null,
        bug: null,
        ...changes,
        finish: () =>
          outcome.context.exchange.reply(status, ["content-type", type], text, "latin1"),
      },
      by,
    );
    kept.finish();
    return exchange;
  }
  return {
    ask,
    answer,
    recorded,
    asked,
    cache,
    at: (ms: number) => {
      nowMs = ms;
    },
    authorizes: (outcome: unknown) => {
      authorization = outcome;
    },
    isHit: async (asked: Ask = {}) => (await ask(asked)).outcome.kind === "answered",
  };
}

t.test("an answer is a miss first, and then a hit with its age", async (t) => {
  const { ask, answer, recorded, at } = open();
  const missed = await answer();
  t.equal(missed.sent("x-cache"), "MISS");
  at(2_999);
  const { outcome, exchange, record } = await ask();
  t.equal(outcome.kind, "answered");
  t.match(
    { status: exchange.status, ended: exchange.ended, body: exchange.body.toString() },
    { status: 200, ended: "reply", body: json },
  );
  t.same(
    ["content-type", "x-cache", "age", "x-sluice-target", "x-request-id"].map((name) =>
      exchange.sent(name),
    ),
    ["application/json", "HIT", "2", "one/x", "req_test"],
  );
  t.match(record, { status: 200, outcome: "cache_hit", target });
  t.match(
    recorded,
    exactly([
      {
        userPath: "/team",
        startedMonoMs: 2_999,
        estimated: false,
        record: {
          cacheHit: true,
          totalCost: 0,
          inputTokens: 3,
          provider: "one",
          providerType: "openai",
        },
      },
    ]),
  );
});

t.test("a stream comes back as one, and usage that is off is not recorded", async (t) => {
  const { ask, answer, recorded } = open({ usageEnabled: false });
  await answer({}, {}, { type: "text/event-stream", text: stream });
  const { exchange } = await ask();
  t.same(exchange.calls, ["begin", "write", "end"]);
  t.equal(exchange.body.toString(), stream);
  t.same(recorded, []);
});

t.test("only complete answers of a provider are kept", async (t) => {
  const table: readonly (readonly [string, Partial<ForwardResult>, object, boolean])[] = [
    ["whole", {}, {}, true],
    ["an error", { status: 500 }, {}, false],
    ["cut", { outcome: "upstream_cut" }, {}, false],
    ["a client that left", { outcome: "client_gone" }, {}, false],
    ["without usage", { usage: null }, {}, false],
    ["without a target", {}, { by: null }, false],
    ["no JSON", {}, { text: '{"choices"' }, false],
    ["half a stream", {}, { type: "text/event-stream", text: stream.slice(0, 20) }, false],
    ["too large", {}, { text: JSON.stringify("x".repeat(1000)) }, false],
    ["an estimate", { estimated: true }, {}, true],
    ["cut at a hard cap", { cutBy: "the day token limit of /a" }, {}, false],
  ];
  for (const [what, changes, form, kept] of table) {
    const { answer, isHit, recorded } = open();
    await answer({}, changes, form);
    t.equal(await isHit(), kept, what);
    if (kept) t.match(recorded, exactly([{ estimated: changes.estimated ?? false }]));
  }
});

t.test("the client says whether it wants a kept answer, and whether its own is kept", async (t) => {
  const { ask, answer, isHit, at } = open();
  const exchange = await answer({ control: "no-store" });
  t.equal(exchange.sent("x-cache"), "MISS");
  t.notOk(await isHit(), "no-store keeps nothing");
  await answer({ control: "no-cache" });
  t.ok(await isHit(), "no-cache keeps");
  t.equal((await ask({ control: "no-cache" })).outcome.kind, "miss");
  t.equal((await ask({ control: "no-store" })).outcome.kind, "miss");
  at(5_000);
  t.ok(await isHit({ control: "max-age=6" }));
  t.notOk(await isHit({ control: "max-age=5" }));
  at(60_000);
  t.notOk(await isHit(), "it is too old");
});

t.test("what the cache has nothing to do with passes by it", async (t) => {
  const { ask } = open();
  for (const [body, operation] of [
    [null, "transcriptions"],
    ['{"model":"x"}', "images"],
    ['{"model":"x"}', "responses"],
    [`"${"x".repeat(1024 * 1024 * 8)}"`, "chat_completions"],
  ] as const)
    t.same((await ask({ body, operation })).outcome, { kind: "bypassed" });
});

t.test("a key is checked before the cache answers, and only once", async (t) => {
  const caller: Caller = { ...authenticatedCaller("/claimed"), credential: "hash" };
  const { ask, answer, asked, authorizes } = open();
  await answer({ caller });
  const hit = await ask({ caller });
  t.equal(hit.outcome.kind, "answered");
  t.match(hit.record, { userPath: "/of-key", keyId: "key_1" });
  t.same(asked, ["hash", "hash"]);
  const checked = await ask({ caller: { ...caller, userPath: "/of-key", keyId: "key_1" } });
  t.equal(checked.exchange.sent("x-cache"), "HIT");
  t.equal(asked.length, 2, "one that has been checked isn't checked again");
  for (const [outcome, status] of [
    [{ kind: "denied", ended: null }, 401],
    [{ kind: "unavailable" }, 503],
  ] as const) {
    authorizes(outcome);
    const { exchange, record } = await ask({ caller });
    t.equal(exchange.status, status);
    t.equal(record.userPath, null);
    t.equal(exchange.sent("x-cache"), undefined);
  }
});

t.test("a path has its own answers, unless paths share them", async (t) => {
  for (const share of [false, true]) {
    const { answer, isHit } = open({ share });
    await answer();
    t.equal(await isHit({ caller: authenticatedCaller("/other") }), share);
    t.ok(await isHit());
  }
});

t.test("a client that has gone gets nothing, and nothing is recorded", async (t) => {
  const { ask, answer, recorded } = open();
  await answer();
  const { outcome, exchange, record } = await ask({ gone: true });
  t.equal(outcome.kind, "answered");
  t.match(record, { status: 499, outcome: "client_gone" });
  t.same([exchange.calls, recorded], [[], []]);
});
