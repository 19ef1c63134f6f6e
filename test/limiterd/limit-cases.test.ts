/**
 * The worked cases of `docs/examples/limit-cases.json`: rules by the daemon and by the oracle,
 * batches by the daemon, loops by the breaker in every dialect.
 */
import { readFileSync } from "node:fs";
import t, { type Test } from "tap";
import { noLongTexts } from "../../proxy/body/repeated-turns.js";
import { LoopBreaker } from "../../proxy/handlers/loop-breaker.js";
import { loopTimesOf, parseLoops } from "../../shared/domain/loop-rule.js";
import { parseRuleWrite, type RuleDefinition } from "../../shared/domain/rule.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { Admitted, Refused } from "../../shared/wire/message-from-daemon.js";
import { conversationDialects, conversationIn } from "../support/loop-conversations.js";
import {
  ask,
  executed,
  leaseOf,
  settleOf,
  startDaemon,
  type TestDaemon,
} from "./in-memory-daemon.js";
import { createOracle, type OracleRaise, type OracleUse } from "./oracle.js";

interface Used {
  readonly input_tokens?: number;
  readonly cached_input_tokens?: number;
  readonly output_tokens?: number;
  /** US dollars. */
  readonly cost?: number;
  readonly tool_calls?: Readonly<Record<string, number>>;
}

interface RequestStep {
  /** Seconds since the start. */
  readonly after: number;
  readonly path: string;
  readonly model: string;
  readonly tools?: readonly string[];
  readonly uses?: readonly string[];
  readonly used?: Used;
  /** `admitted`, or what refuses it, with the seconds to wait and the model to use instead. */
  readonly answer: string;
  readonly wait?: number;
  readonly use?: string;
  /** What doesn't refuse it although it is exhausted. */
  readonly exhausted?: readonly string[];
}

interface RaiseStep {
  readonly after: number;
  readonly raise: {
    readonly user_path: string;
    readonly max_requests?: number;
    readonly max_cost?: number;
    readonly for_seconds: number;
  };
}

interface Cases {
  readonly rules: readonly {
    readonly about: string;
    readonly rules: readonly object[];
    readonly start: string;
    readonly steps: readonly (RequestStep | RaiseStep)[];
  }[];
  readonly batches: readonly {
    readonly about: string;
    readonly rules: readonly object[];
    readonly steps: readonly {
      readonly path: string;
      readonly enqueue?: number;
      readonly end?: number;
      readonly answer?: "admitted" | "refused";
    }[];
  }[];
  readonly loops: readonly {
    readonly about: string;
    /** Names of tools; `user`: the model says something, and the user answers. */
    readonly turns: readonly string[];
    readonly answer: "admitted" | "warned" | "refused";
  }[];
}

const cases = JSON.parse(readFileSync("docs/examples/limit-cases.json", "utf8")) as Cases;

/** What a limiter does with the requests of a case. */
interface Limiter {
  raise(body: RaiseStep["raise"], nowMs: number): Promise<void>;
  request(
    step: RequestStep,
    target: Target,
    use: OracleUse,
    nowMs: number,
  ): Pick<RequestStep, "answer" | "wait" | "use" | "exhausted">;
}

function targetOf({ model, tools }: RequestStep): Target {
  const slash = model.indexOf("/");
  const named = { provider: model.slice(0, slash), model: model.slice(slash + 1) };
  return tools === undefined ? named : { ...named, tools };
}

function useOf({ used = {} }: RequestStep): OracleUse {
  const { input_tokens: inputTokens = 0, output_tokens: outputTokens = 0 } = used;
  return {
    tokens: inputTokens + outputTokens,
    recorded: {
      ...{ inputTokens, outputTokens, cacheWriteInputTokens: 0, reasoningTokens: 0 },
      cachedInputTokens: used.cached_input_tokens ?? 0,
      totalCost: Math.round((used.cost ?? 0) * 1e12),
      toolCalls: used.tool_calls ?? {},
    },
  };
}

function theOracle(rules: readonly RuleDefinition[]): Limiter {
  const raises: OracleRaise[] = [];
  const oracle = createOracle(rules, { raisesOf: () => raises });
  return {
    async raise({ user_path: subject, for_seconds: seconds, ...caps }, nowMs) {
      raises.push({
        subject,
        untilMs: nowMs + seconds * 1000,
        maxRequests: caps.max_requests ?? null,
        maxTokens: null,
        ...(caps.max_cost === undefined ? {} : { measureCaps: { cost: caps.max_cost } }),
      });
    },
    request({ path, uses = [] }, target, use, nowMs) {
      const { refused } = oracle.ask(path, [target], nowMs, { uses });
      if (refused !== undefined)
        return { answer: refused.dimension, wait: refused.wait, ...useField(refused) };
      const of = { path, ...target };
      const exhausted = oracle.exhausted(of, nowMs, uses).map(({ dimension }) => dimension);
      oracle.begin(of, nowMs);
      oracle.end(of, use, nowMs);
      return { answer: "admitted", exhausted };
    },
  };
}

const dimensions: Readonly<Record<string, string>> = { request: "requests", cost: "cost" };

function theDaemon(daemon: TestDaemon): Limiter {
  const peer = daemon.proxy("p");
  let id = 0;
  return {
    async raise(body) {
      await ask(daemon, "rate-limits.raise", body);
    },
    request({ path: userPath, uses }, target, { tokens, recorded }) {
      const asked = { userPath, credential: "authenticated", targets: [target] } as const;
      const more = uses === undefined ? {} : { uses };
      peer.send({ kind: "admit", id: ++id, ...asked, submission: false, read: 0, ...more });
      const answer = peer.received.at(-1) as Admitted | Refused;
      if (answer.kind === "refused") {
        const { dimension, waitSeconds: wait } = answer;
        return { answer: dimension, wait, ...useField(answer) };
      }
      const words = answer.exhausted?.matchAll(/the minute (\w+) limit/g) ?? [];
      const { totalCost, toolCalls, reasoningTokens: _, ...counts } = recorded!;
      const calls = Object.keys(toolCalls).length === 0 ? {} : { toolCalls };
      const record = executed({ requestId: `r${id}`, ...target, ...counts, ...calls });
      const cost = { inputCost: totalCost, outputCost: 0, totalCost };
      peer.send({
        ...settleOf(leaseOf(answer, userPath, target), id, tokens),
        record: { ...record, ...cost },
      });
      return { answer: "admitted", exhausted: [...words].map(([, kind]) => dimensions[kind!]!) };
    },
  };
}

function useField({ use }: { readonly use?: string | undefined }): { readonly use?: string } {
  return use === undefined ? {} : { use };
}

async function play(t: Test, limiter: Limiter, item: Cases["rules"][number], daemon: TestDaemon) {
  const startMs = Date.parse(item.start);
  for (const step of item.steps) {
    const nowMs = startMs + step.after * 1000;
    daemon.nowMs = nowMs;
    if ("raise" in step) {
      await limiter.raise(step.raise, nowMs);
      continue;
    }
    const { answer, wait, exhausted = [] } = step;
    t.same(
      limiter.request(step, targetOf(step), useOf(step), nowMs),
      answer === "admitted"
        ? { answer, exhausted }
        : { answer, wait: wait ?? Number.MAX_SAFE_INTEGER, ...useField(step) },
      JSON.stringify(step),
    );
  }
}

for (const item of cases.rules)
  t.test(item.about, async (t) => {
    const daemon = startDaemon([], { nowMs: Date.parse(item.start) });
    for (const body of item.rules) await ask(daemon, "rate-limits.put", body);
    await t.test("by the daemon", (t) => play(t, theDaemon(daemon), item, daemon));
    const definitions = item.rules.map((body) => {
      const parsed = parseRuleWrite(body, { perChildEntitled: true });
      if (!parsed.ok) throw new Error(parsed.failure.message);
      return parsed.value;
    });
    await t.test("by the oracle", (t) => play(t, theOracle(definitions), item, daemon));
  });

for (const { about, rules, steps } of cases.batches)
  t.test(about, async (t) => {
    const daemon = startDaemon([]);
    for (const body of rules) await ask(daemon, "rate-limits.put", body);
    for (const { path: user_path, enqueue, end, answer } of steps) {
      if (end !== undefined) {
        await ask(daemon, "batches.withdraw", { user_path, tokens: end });
        continue;
      }
      const asked = ask(daemon, "batches.enqueue", { user_path, tokens: enqueue });
      const found = asked.then(() => "admitted").catch(() => "refused");
      t.equal(await found, answer, `${enqueue} on ${user_path}`);
    }
  });

for (const { about, turns, answer, ...config } of cases.loops)
  t.test(about, async (t) => {
    const parsed = parseLoops(config, "loops");
    if (!parsed.ok) throw new Error(parsed.failure.message);
    const rule = parsed.value.loops!;
    for (const dialect of conversationDialects) {
      const breaker = new LoopBreaker(
        (head) => head,
        () => loopTimesOf([rule]),
      );
      const conversation = conversationIn(
        dialect,
        turns.map((tool) =>
          tool === "user" ? { said: "Done.", reply: "Go on." } : { tool, args: {}, result: "done" },
        ),
      );
      const turn = breaker.read(dialect.operation, conversation, noLongTexts)!;
      const judged = breaker.judge({ turn, key: null, sent: 0 }, rule);
      const found = judged === null ? "admitted" : judged.isRefused ? "refused" : "warned";
      t.equal(found, answer, dialect.operation);
    }
  });
