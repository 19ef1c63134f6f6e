/**
 * `npm run heavy -- bench:limits`: what each kind of limit costs an admission and its settle in the
 * daemon, in one process: the daemon's steps on frames and a store in memory, without sockets.
 * Daemons with and without the kind take turns in short bursts, so that a busy machine slows both
 * down alike; the ratio of their CPU time is taken in each round.
 */
import { Command } from "commander";
import { handleFrame } from "../../limiterd/handlers/handle-message.js";
import type { BudgetDefinition } from "../../shared/domain/budget.js";
import type { RuleDefinition } from "../../shared/domain/rule.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { ToolCalls } from "../../shared/usage/tool-calls.js";
import type { Admitted } from "../../shared/wire/message-from-daemon.js";
import { writeToDaemon } from "../../shared/wire/message-to-daemon.js";
import {
  ask,
  executed,
  leaseOf,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
} from "../limiterd/in-memory-daemon.js";
import { atLeastOne } from "./report/describe-run.js";
import { formatTable } from "./report/table.js";

const options = new Command("bench:limits")
  .description("Measures what each kind of limit costs a request in the daemon.")
  .option("--rounds <n>", "rounds of each kind", atLeastOne, 60)
  .option("--requests <n>", "requests of a burst", atLeastOne, 1000)
  .option("--kind <name>", "only the kinds with this in their name", "")
  .parse()
  .opts<{ rounds: number; requests: number; kind: string }>();

const many = 2 ** 40;
const target: Target = { provider: "openai", model: "gpt-4o" };
const plain: RuleDefinition = {
  ...{ scope: "user_path", subject: "/team", periodSeconds: 60, perChild: false },
  ...{ maxRequests: many, maxTokens: many },
};
/** What a request meets in any case. */
const others: readonly RuleDefinition[] = [
  { ...plain, subject: "/", periodSeconds: 0, maxTokens: null },
  { ...plain, scope: "provider", subject: "openai" },
];
const budget: BudgetDefinition = {
  ...{ scope: "user_path", subject: "/team", periodSeconds: 86_400, amountUsd: 1e6 },
  perChild: false,
};

interface Kind {
  /** The rule on the request's path in place of a plain one. */
  readonly rule?: Partial<RuleDefinition>;
  readonly budget?: Partial<BudgetDefinition>;
  readonly target?: Partial<Target>;
  readonly raises?: boolean;
  /** What each answer reports. */
  readonly toolCalls?: ToolCalls;
}

const office = "mon,tue,wed,thu,fri,sat 00:00-24:00 Europe/Berlin";
const kinds: Readonly<Record<string, Kind>> = {
  "nothing: the same twice": {},
  "for some models": { rule: { models: "gpt-* openai/*" } },
  "all models but one": { rule: { models: "* !gpt-4o-mini" } },
  "weights of tokens": { rule: { tokenWeights: { cached: 0.1, reasoning: 2 } } },
  "a cap on input tokens": {
    rule: { maxTokens: null, measureCaps: { input_tokens: many } },
  },
  "a cap on cost": { rule: { maxTokens: null, measureCaps: { cost: 9000 } } },
  "a cap on cost beside tokens": { rule: { measureCaps: { cost: 9000 } } },
  hours: { rule: { when: office } },
  "a raise in force": { raises: true },
  "on_exhausted: use": { rule: { onExhausted: { use: "cheap" } } },
  "tool calls": {
    rule: { maxTokens: null, models: "tool:web_search", measureCaps: { tool_calls: many } },
    target: { tools: ["web_search"] },
    toolCalls: { web_search: 2 },
  },
  "a budget in a time zone": { budget: { timeZone: "Europe/Berlin", rollover: 0.5 } },
  "a rolling budget": { budget: { rolling: true } },
  "a budget for some models": { budget: { models: "gpt-*" } },
};

interface Running {
  readonly daemon: TestDaemon;
  readonly peer: TestPeer;
  readonly target: Target;
  readonly toolCalls: ToolCalls | undefined;
  id: number;
}

async function start(kind: Kind, on: "/team" | "/other" | null): Promise<Running> {
  const own = on === "/team" ? { ...plain, ...kind.rule } : plain;
  const elsewhere = on === "/other" ? [{ ...plain, ...kind.rule, subject: "/other" }] : [];
  const ofBudget = on === "/team" ? { ...budget, ...kind.budget } : budget;
  const otherBudget = on === "/other" ? [{ ...budget, ...kind.budget, subject: "/other" }] : [];
  const daemon = startDaemon([...others, own, ...elsewhere], {
    budgets: [ofBudget, ...otherBudget],
  });
  if (kind.raises === true && on !== null) {
    const key = { user_path: on, limit_key: { period: "minute" } };
    const raise = { max_requests: 2 * many, for_seconds: 2_000_000, reason: "measured" };
    await ask(daemon, "rate-limits.raise", { ...key, ...raise });
  }
  const carried = on === "/other" ? {} : kind.target;
  return {
    daemon,
    peer: daemon.proxy("p"),
    target: { ...target, ...carried },
    toolCalls: kind.toolCalls,
    id: 0,
  };
}

/** The CPU of a burst, in microseconds for each request. */
async function burst(running: Running, requests: number): Promise<number> {
  const { daemon, peer, target: to, toolCalls } = running;
  const { state } = peer;
  const before = process.cpuUsage();
  for (let i = 0; i < requests; i++) {
    const id = ++running.id;
    daemon.nowMs += 1;
    const asked = { userPath: "/team/app", credential: "authenticated", targets: [to] } as const;
    handleFrame(
      daemon.state,
      state,
      writeToDaemon({ kind: "admit", id, ...asked, submission: false, read: 0 }),
      daemon.nowMs,
    );
    const answer = peer.received.pop() as Admitted;
    if (answer.kind !== "admitted") throw new Error(JSON.stringify(answer));
    peer.received.length = 0;
    const settle = settleOf(leaseOf(answer, "/team/app", to), id, 30);
    const record = executed({ requestId: `r${id}`, toolCalls });
    handleFrame(daemon.state, state, writeToDaemon({ ...settle, record }), daemon.nowMs);
    if (id % 50 === 0) await daemon.commit();
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / requests;
}

interface Ratios {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** The middle ratio, and the quarters around it. */
function ratiosOf(values: readonly number[]): Ratios {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number): number => sorted[Math.floor((sorted.length - 1) * part)]!;
  return { median: at(0.5), low: at(0.25), high: at(0.75) };
}

async function measure(kind: Kind) {
  const sides = [await start(kind, null), await start(kind, "/other"), await start(kind, "/team")];
  const unused: number[] = [];
  const used: number[] = [];
  const costs: number[] = [];
  for (let round = -5; round < options.rounds; round++) {
    const taken = [0, 0, 0];
    // There and back again: what becomes slower within a round slows all of them down.
    for (const place of [0, 1, 2, 2, 1, 0])
      taken[place]! += await burst(sides[place]!, options.requests);
    if (round < 0) continue;
    unused.push(taken[1]! / taken[0]!);
    used.push(taken[2]! / taken[0]!);
    costs.push(taken[0]! / 2);
  }
  return { unused: ratiosOf(unused), used: ratiosOf(used), micros: ratiosOf(costs).median };
}

const shown = ({ median, low, high }: Ratios): string =>
  `${median.toFixed(3)} [${low.toFixed(3)} – ${high.toFixed(3)}]`;

const rows: string[][] = [];
for (const [name, kind] of Object.entries(kinds)) {
  if (!name.includes(options.kind)) continue;
  const { unused, used, micros } = await measure(kind);
  rows.push([name, shown(unused), shown(used), micros.toFixed(1)]);
}
process.stdout.write(
  `CPU of an admission and its settle ÷ the same with a plain rule; the quarters of ${options.rounds} rounds\n\n`,
);
const head = ["kind", "on another path", "on the path", "plain, µs"];
process.stdout.write(`${formatTable(head, rows).join("\n")}\n`);
