import t from "tap";
import { sendToTarget } from "../../../../proxy/handlers/attempts/send-to-target.js";
import type { RequestContext } from "../../../../proxy/request-context.js";
import { RequestRecord } from "../../../../proxy/request-record.js";
import { TargetHealth } from "../../../../proxy/routing/target-health.js";
import { TargetLoad } from "../../../../proxy/routing/target-load.js";
import type { Forwarded } from "../../../../proxy/upstream/forwarded.js";
import { providerConfig } from "../../../support/provider-config.js";
import { FakeExchange } from "../../fake-exchange.js";
import { fakeMetrics } from "../../fake-metrics.js";

const target = { provider: "openai", model: "gpt" };

/** `ok`, a failure such as `503`, or one that isn't worth a retry, such as `404!`. */
function ended(how: string): Forwarded {
  const failed =
    how === "ok"
      ? null
      : {
          why: how,
          retryAfterMs: null,
          worthRetrying: !how.endsWith("!"),
          status: Number.parseInt(how, 10),
        };
  return {
    status: how === "ok" ? 200 : 1,
    usage: null,
    failed,
    finish: () => {},
  } as unknown as Forwarded;
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
}

async function run(
  ends: readonly string[],
  {
    retries = 2,
    isRepeatable = true,
    leavesBefore = 0,
    isOpen = false,
    hasReadyKey = false,
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
    configOf: () => ({ breakerFailures: isOpen ? 1 : 0, breakerOpenMs: 1000 }),
    onOpened() {},
    onClosed() {},
    onRefused() {},
  });
  const gateway = {
    providers: new Map([["openai", { config, upstream: { hasReadyKey: () => hasReadyKey } }]]),
    monoMs: () => 0,
    random: () => 1,
    targetHealth,
    targetLoad: new TargetLoad([], () => 0),
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
  let sent = 0;
  const result = await sendToTarget({ gateway, exchange, record } as unknown as RequestContext, {
    target,
    isRepeatable,
    operation: "chat_completions",
    stream: false,
    send: () => Promise.resolve(ended(ends[sent++]!)),
  });
  return { result, waits, cancelled, tries: record.tries, tried: record.tried };
}

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
