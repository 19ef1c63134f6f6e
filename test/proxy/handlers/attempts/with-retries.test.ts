import t from "tap";
import type { RefusedParts } from "../../../../proxy/dialects/fit/own-reasoning.js";
import { withRetries } from "../../../../proxy/handlers/attempts/with-retries.js";
import type { RequestContext } from "../../../../proxy/request-context.js";
import { RequestRecord } from "../../../../proxy/request-record.js";
import { LearnedRefusals } from "../../../../proxy/routing/learned-refusals.js";
import { TargetHealth } from "../../../../proxy/routing/target-health.js";
import type { RefusedPart } from "../../../../proxy/upstream/errors/refused-part.js";
import type { ForwardResult } from "../../../../proxy/upstream/forwarded.js";
import { providerConfig } from "../../../support/provider-config.js";
import { FakeExchange } from "../../fake-exchange.js";
import { fakeMetrics } from "../../fake-metrics.js";

const target = { provider: "openai", model: "gpt" };

/**
 * `ok`, a failure such as `503`, one that isn't worth a retry, such as `404!`, or the part that the
 * target refuses.
 */
function ended(how: string | RefusedPart): ForwardResult {
  if (typeof how !== "string")
    return {
      status: 400,
      usage: null,
      failed: null,
      refused: how,
      outcome: "upstream_error",
      finish: () => {},
    } as unknown as ForwardResult;
  const failed =
    how === "ok"
      ? null
      : {
          why: how,
          retryAfterMs: null,
          isWorthRetrying: !how.endsWith("!"),
          status: Number.parseInt(how, 10),
        };
  return {
    status: how === "ok" ? 200 : 1,
    usage: null,
    failed,
    outcome: failed === null ? "complete" : "upstream_error",
    finish: () => {},
  } as unknown as ForwardResult;
}

interface Run {
  readonly retries?: number;
  readonly isRepeatable?: boolean;
  /** The client leaves while the wait before this retry runs. */
  readonly leavesBefore?: number;
  /** The target has failed so often that it is left alone. */
  readonly isOpen?: boolean;
  /** The provider has another key. */
  readonly hasReadyKey?: boolean;
  /** Parts that the request can do without. */
  readonly mayLose?: boolean;
  readonly refusals?: LearnedRefusals;
}

async function run(
  ends: readonly (string | RefusedPart)[],
  {
    retries = 2,
    isRepeatable = true,
    leavesBefore = 0,
    isOpen = false,
    hasReadyKey = false,
    mayLose = true,
    refusals = new LearnedRefusals(() => 0),
  }: Run = {},
) {
  const exchange = new FakeExchange();
  const record = new RequestRecord(0);
  const waits: number[] = [];
  let cancelled = 0;
  const config = providerConfig({ name: "openai", retries });
  const targetHealth = new TargetHealth({
    monoMs: () => 0,
    nowMs: () => 0,
    configOf: () => ({
      breakerFailures: isOpen ? 1 : 0,
      breakerOpenMs: 1000,
      upstreamLimits: { mode: "observe", trustsLimits: true, adaptive: null },
    }),
    onOpened() {},
    onClosed() {},
    onRefused() {},
  });
  const gateway = {
    providers: new Map([["openai", { config, upstream: { hasReadyKey: () => hasReadyKey } }]]),
    monoMs: () => 0,
    random: () => 1,
    targetHealth,
    refusals,
    targetLoad: null,
    metrics: fakeMetrics(),
    tracing: null,
    setTimer(ms: number, then: () => void) {
      waits.push(ms);
      if (waits.length === leavesBefore) queueMicrotask(() => exchange.leave());
      else queueMicrotask(then);
      return () => cancelled++;
    },
  };
  if (isOpen) targetHealth.note(target, 0, ended("503"));
  const without: RefusedParts[] = [];
  const result = await withRetries({ gateway, exchange, record } as unknown as RequestContext, {
    target,
    isRepeatable,
    operation: "chat_completions",
    stream: false,
    send(_trace, refused) {
      without.push(refused);
      return Promise.resolve(ended(ends[without.length - 1]!));
    },
    mayLose: () => mayLose,
  });
  return {
    result,
    waits,
    cancelled,
    without,
    tries: record.attemptCount,
    tried: record.earlierFailures,
  };
}

const field = (path: string, isLasting = true): RefusedPart => ({ kind: "field", path, isLasting });
const reasoning: RefusedPart = { kind: "reasoning" };

t.test("a request is sent once more without each part that the target refuses", async (t) => {
  const table: readonly (readonly [(string | RefusedPart)[], sent: number, options?: Run])[] = [
    [[field("seed"), "ok"], 2, { retries: 0 }],
    [[field("seed"), field("user"), reasoning, "ok"], 4],
    [[field("seed"), field("seed")], 2],
    [[reasoning, reasoning], 2],
    [[field("a"), field("b"), field("c"), field("d")], 4],
    [[field("seed"), "503", "ok"], 3],
    [[field("seed")], 1, { mayLose: false }],
    [[field("seed")], 1, { isRepeatable: false }],
  ];
  for (const [ends, sent, options] of table)
    t.equal((await run(ends, options)).tries, sent, JSON.stringify([ends, options]));
  const { without, tried } = await run([field("seed"), reasoning, "ok"]);
  t.same(without, [
    { reasoning: false, fields: [] },
    { reasoning: false, fields: ["seed"] },
    { reasoning: true, fields: ["seed"] },
  ]);
  t.same(
    tried?.map(({ why }) => why),
    ["400 seed", "400 reasoning of another account"],
  );
});

t.test("a field is remembered once its absence helped, and a single value never", async (t) => {
  const refusals = new LearnedRefusals(() => 0);
  await run([field("seed"), field("seed")], { refusals });
  await run([field("seed"), "503", "503", "503"], { refusals });
  await run([field("reasoning_effort", false), "ok"], { refusals });
  t.same(refusals.of(target, "chat_completions"), []);
  await run([field("seed"), "ok"], { refusals });
  t.same((await run(["ok"], { refusals })).without, [{ reasoning: false, fields: ["seed"] }]);
});

t.test("a target is asked again while that may help, and no more often than allowed", async (t) => {
  const table: readonly (readonly [ends: string[], sent: number, options?: Run])[] = [
    [["ok"], 1],
    [["503", "ok"], 2],
    [["503", "429", "ok"], 3],
    [["503", "429", "502"], 3],
    [["503", "404!"], 2],
    [["404!"], 1],
    [["503"], 1, { retries: 0 }],
    [["503"], 1, { isOpen: true }],
    [["429!", "ok"], 2, { hasReadyKey: true }],
    [["404!"], 1, { hasReadyKey: true }],
    [["503"], 1, { isRepeatable: false }],
  ];
  for (const [ends, sent, options] of table) {
    const { result, tries, tried, waits } = await run(ends, options);
    const name = `${ends.join(" ")} ${JSON.stringify(options ?? {})}`;
    t.equal(tries, sent, name);
    t.equal(result.failed?.why ?? "ok", ends.at(-1), name);
    t.same(tried, sent === 1 ? null : ends.slice(0, -1).map((why) => ({ target, why })), name);
    t.same(waits, [250, 500].slice(0, sent - 1), name);
  }
});

t.test("a client that leaves during a wait ends it", async (t) => {
  const { result, tries, tried, cancelled } = await run(["503", "503"], { leavesBefore: 2 });
  t.match(result, { status: 499, outcome: "client_gone" });
  t.equal(tries, 2);
  t.equal(tried?.length, 2);
  t.ok(cancelled > 0);
});
