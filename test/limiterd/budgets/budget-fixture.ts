/** What the tests of budgets share: budgets, clients that spend, and the lists of the admin API. */
import fc from "fast-check";
import { budgetStatuses } from "../../../limiterd/lists/list-budgets.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import { refusalMessage } from "../../../shared/domain/refusal-message.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import type { Execution } from "../../../shared/wire/execution.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import type { Admit, Lease } from "../../../shared/wire/message-to-daemon.js";
import {
  askFor,
  leaseOf,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../in-memory-daemon.js";

export const usd = 1_000_000_000_000;
export const noon = Date.parse("2026-11-21T12:00:00Z");
export const second = 1000;
export const hour = 3_600_000;

export const budget = (
  subject: string,
  period: number,
  amountUsd: number,
  rest: Partial<BudgetDefinition> = {},
): BudgetDefinition => ({
  scope: "user_path",
  subject,
  periodSeconds: period,
  amountUsd,
  perChild: false,
  ...rest,
});

export function execution(cost: number | null, rest: Partial<Execution> = {}): Execution {
  return {
    requestId: "r",
    endpoint: "/v1/chat/completions",
    provider: target.provider,
    providerType: "openai",
    model: target.model,
    status: 200,
    inputTokens: 1,
    outputTokens: 1,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    inputCost: cost,
    outputCost: cost === null ? null : 0,
    totalCost: cost,
    cacheHit: false,
    rewriteTokensSaved: 0,
    rewriteCostSaved: null,
    latencyMs: 1,
    firstByteMs: 1,
    requestedModel: "",
    session: "",
    details: null,
    atMost: null,
    responseId: "",
    keyId: "",
    ...rest,
  };
}

export interface Client {
  readonly peer: TestPeer;
  seq: number;
  id: number;
}

export const client = (daemon: TestDaemon, name = "p"): Client => ({
  peer: daemon.proxy(name),
  seq: 0,
  id: 1,
});

export function settle(
  to: Client,
  lease: Lease,
  cost: number | null,
  { endedAgo = 0, ...rest }: { endedAgo?: number } & Partial<Execution> = {},
): void {
  to.peer.send({
    ...settleOf(lease, ++to.seq, 0, { ended: endedAgo }),
    record: execution(cost, rest),
  });
}

/** One request from its admission to its settle. */
export function spend(
  to: Client,
  path: string,
  cost: number | null,
  rest: { endedAgo?: number } & Partial<Execution> = {},
): void {
  const lease = askFor(to.peer, ++to.id, path);
  if (lease === null) throw new Error(`refused: ${JSON.stringify(to.peer.received.at(-1))}`);
  settle(to, lease, cost, rest);
}

export function ask(to: Client, path: string): string {
  to.peer.send({
    read: 0,
    kind: "admit",
    id: ++to.id,
    userPath: path,
    credential: "authenticated",
    targets: [target],
    submission: false,
  });
  const answer = to.peer.received.at(-1)!;
  if (answer.kind === "exceeded")
    return `${answer.subject} ${answer.periodSeconds}: ${answer.spentUsd} of ${answer.amountUsd}, ${answer.waitSeconds}`;
  return answer.kind;
}

/** A request of a session: its lease, or why it is refused and for how long. */
export function beginInSession(
  to: Client,
  path: string,
  session: string | undefined,
  more: Partial<Admit> = {},
): Lease | string {
  const admit = {
    ...{ read: 0, kind: "admit", id: ++to.id, userPath: path, credential: "authenticated" },
    ...{ targets: [target], submission: false, session },
    ...more,
  } as Admit;
  to.peer.send(admit);
  const answer = to.peer.received.at(-1)!;
  if (answer.kind === "exceeded") return `${refusalMessage(answer)}, ${answer.waitSeconds}`;
  return answer.kind === "admitted" ? leaseOf(answer, path, admit.targets[0]) : answer.kind;
}

/** A whole request of a session that costs so many dollars. */
export function spendInSession(to: Client, path: string, session: string, costUsd: number): void {
  const lease = beginInSession(to, path, session);
  if (typeof lease === "string") throw new Error(lease);
  settle(to, lease, costUsd * usd, { session });
}

/** Calls an admin operation and lets its commits end. */
export async function admin(
  daemon: TestDaemon,
  to: Client,
  op: AdminOp,
  body: unknown,
): Promise<unknown> {
  const id = ++to.id;
  to.peer.send({ kind: "admin", id, op, body });
  let answer: FromDaemon | undefined;
  for (let turns = 0; turns < 50 && answer === undefined; turns++) {
    await daemon.commit();
    answer = to.peer.received.find(
      (message) => (message.kind === "answer" || message.kind === "failed") && message.id === id,
    );
  }
  return answer?.kind === "answer"
    ? answer.body
    : answer?.kind === "failed"
      ? answer.failure
      : undefined;
}

export async function listed(
  daemon: TestDaemon,
  to: Client,
): Promise<readonly Record<string, unknown>[]> {
  return (
    (await admin(daemon, to, "budgets.list", { after: null })) as {
      budgets: Record<string, unknown>[];
    }
  ).budgets;
}

interface SpentItem {
  readonly subject?: unknown;
  readonly period_label?: unknown;
  readonly spent?: unknown;
}

export const spentOf = (items: readonly SpentItem[]): unknown[] =>
  items.map(({ subject, period_label: label, spent }) => [subject, label, spent]);

export const edgeStep = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("ask" as const), peer: fc.nat(15) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("settle" as const),
      which: fc.nat(),
      micros: fc.nat(300_000),
    }),
  },
);

/** What a daemon that starts on the disk as it is now would find, once it is at rest. */
export async function restarted({ store, nowMs }: TestDaemon): Promise<TestDaemon> {
  const daemon = startDaemon([], { nowMs, store: store.crash(), budgets: null });
  do await daemon.commit();
  while (daemon.state.budgets.sorted().some(({ isBackfilling }) => isBackfilling));
  return daemon;
}

/** How many accounts the store has. */
export const accountsIn = ({ store }: TestDaemon): number => [...store.entries("spends")].length;

/** Of the first budget that a path meets. */
export const spentBy = (daemon: TestDaemon, path: string): unknown =>
  budgetStatuses(daemon.state, { userPath: path }, [], daemon.nowMs)[0]?.["spent"];
