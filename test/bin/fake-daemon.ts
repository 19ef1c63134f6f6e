/**
 * A daemon as the command line sees it: the real socket and frames, a rule book without counters,
 * and faults on demand.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { frameBytesMaxToDaemon } from "../../shared/bounds.js";
import { type Checked, parseConfirmation } from "../../shared/checked.js";
import {
  budgetGrammar,
  parseBudgetKey,
  parseBudgetResetOne,
  parseBudgetWrite,
} from "../../shared/domain/budget.js";
import { parseBudgetRaise, parseRaiseEnd, parseRuleRaise } from "../../shared/domain/raise.js";
import { defaultAnchors, parseAnchors } from "../../shared/domain/reset-anchors.js";
import {
  compareRules,
  effectiveSubject,
  parseRuleKey,
  parseRuleResetOne,
  parseRuleWrite,
  periodLabel,
  type RuleDefinition,
  ruleGrammar,
  ruleId,
} from "../../shared/domain/rule.js";
import { failure, type invalid, plainFailure } from "../../shared/error-code.js";
import { listen } from "../../shared/socket/ipc.js";
import type { Peer } from "../../shared/socket/socket-peer.js";
import { wireVersion } from "../../shared/version.js";
import type { AdminOp } from "../../shared/wire/admin-op.js";
import { createFrameReader, encodeFrame } from "../../shared/wire/codec.js";
import type { FromDaemon } from "../../shared/wire/message-from-daemon.js";
import { writeFromDaemon } from "../../shared/wire/message-from-daemon.js";
import type { Admin, FromOtherRelease, ToDaemon } from "../../shared/wire/message-to-daemon.js";
import { parseToDaemon } from "../../shared/wire/message-to-daemon.js";

type UsagePage = (query: Readonly<Record<string, unknown>>) => object | null;

export interface FakeDaemonOptions {
  /** `older`: it speaks this wire version, and not the next one. */
  readonly onHello?: "welcome" | "older" | "refuse" | "hang-up" | "silence" | "garbage";
  /** `older`: it knows no operation. */
  readonly onAdmin?: "answer" | "silence" | "hang-up" | "older";
  readonly daemonVersion?: string;
  readonly perChildEntitled?: boolean;
  readonly itemsPerPage?: number;
  /** What `explain` is answered with. */
  readonly explanation?: object;
  /** What the list of budgets holds. */
  readonly budgets?: readonly object[];
  /** Of a back-test: its answers, one after the other. */
  readonly backTest?: readonly object[];
  readonly usageSummary?: object;
  /** What `usage.export` and `usage.follow` are answered with; null: silence. */
  readonly usagePage?: UsagePage;
  readonly followedPage?: UsagePage;
  /** What operations are answered with in place of that; `hang-up` ends the connection. */
  readonly answers?: Partial<Record<AdminOp, (body: unknown) => object | "hang-up">>;
}

export interface FakeDaemon {
  readonly socket: string;
  readonly directory: string;
  /** Every admin message that came, in order. */
  readonly calls: Admin[];
  readonly rules: Map<string, RuleDefinition>;
}

export const fakeServerTime = "2025-06-01T12:00:18.000Z";

/** The test that a daemon belongs to: it ends with it. */
export interface Owner {
  teardown(end: () => unknown): void;
}

/** Starts one in a directory of its own; both are gone after the test. */
export async function startFakeDaemon(
  t: Owner,
  options: FakeDaemonOptions = {},
): Promise<FakeDaemon> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-cli-"));
  const daemon: FakeDaemon = {
    socket: join(directory, "limiterd.sock"),
    directory,
    calls: [],
    rules: new Map(),
  };
  const readers = new Map<Peer, ReturnType<typeof createFrameReader>>();
  const listener = await listen({
    path: daemon.socket,
    allowsGroup: false,
    onConnect: (peer) => void readers.set(peer, createFrameReader(frameBytesMaxToDaemon)),
    onClose: (peer) => void readers.delete(peer),
    onBytes: (peer, bytes) =>
      void readers
        .get(peer)
        ?.feed(bytes, (frame) =>
          onMessage(
            daemon,
            options,
            peer,
            parseToDaemon(frame, { oldest: wireVersion, newest: wireVersion + 1 }),
          ),
        ),
  });
  t.teardown(() => {
    void listener.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return daemon;
}

function send(peer: Peer, message: FromDaemon): void {
  peer.send(encodeFrame(writeFromDaemon(message)));
}

function onMessage(
  daemon: FakeDaemon,
  options: FakeDaemonOptions,
  peer: Peer,
  message: ToDaemon | FromOtherRelease | null,
): void {
  if (message?.kind === "hello") {
    // As the daemon, which waits for the rest.
    if (message.more) return;
    const older = message.wireVersion <= wireVersion ? "welcome" : "refuse";
    switch (options.onHello === "older" ? older : (options.onHello ?? "welcome")) {
      case "welcome":
        return send(peer, {
          kind: "welcome",
          id: message.id,
          daemonVersion: options.daemonVersion ?? "0.1.0",
          settledSeq: 0,
          limited: false,
          inertRules: 0,
          inertBudgets: 0,
          keysExist: false,
          deniedJwts: 0,
        });
      case "refuse":
        return send(peer, {
          kind: "failed",
          id: message.id,
          failure: plainFailure(
            400,
            "invalid_request_error",
            "this daemon speaks wire version 999",
          ),
        });
      case "hang-up":
        return peer.close();
      case "garbage":
        return peer.send(Buffer.from([0, 0, 0, 2, 0xc1, 0xc1]));
      case "silence":
        return;
    }
  }
  if (message?.kind !== "admin") return peer.close();
  daemon.calls.push(message);
  switch (options.onAdmin ?? "answer") {
    case "answer": {
      const own = options.answers?.[message.op]?.(message.body);
      if (own === "hang-up") return peer.close();
      if (own !== undefined) return send(peer, { kind: "answer", id: message.id, body: own });
      const reply = answer(daemon, options, message);
      return reply.kind === "answer" && reply.body === null
        ? undefined
        : send(peer, { ...reply, id: message.id });
    }
    case "older":
      return send(peer, {
        kind: "failed",
        id: message.id,
        failure: failure("operation_unknown", `it doesn't know ${message.op}`),
      });
    case "hang-up":
      return peer.close();
    case "silence":
      return;
  }
}

type Reply =
  | { readonly kind: "answer"; readonly body: unknown }
  | { readonly kind: "failed"; readonly failure: ReturnType<typeof invalid> };

function answer(daemon: FakeDaemon, options: FakeDaemonOptions, { op, body }: Admin): Reply {
  switch (op) {
    case "status":
      return {
        kind: "answer",
        body: {
          version: "0.1.0",
          pid: 42,
          uptime_seconds: 200,
          rules: daemon.rules.size,
          inert: [],
          store: { failing: null },
        },
      };
    case "metrics":
    case "rate-limits.banned":
    case "objects.own":
    case "objects.owners":
    case "responses.pending":
    case "responses.due":
    case "responses.forget":
    case "loops.find":
    case "batches.capped":
    case "batches.enqueue":
    case "batches.withdraw":
    case "batches.settle":
    case "alerts.list":
    case "alerts.due":
    case "alerts.report":
    case "requests.report":
    case "requests.list":
    case "requests.show":
    case "requests.sessions":
    case "tenants.list":
    case "traffic.summary":
    case "audit.list":
    case "configuration.report":
    case "reconciliations.keep":
    case "reconciliations.list":
    case "targets.report":
    case "upstream-limits.list":
    case "sessions.open":
    case "sessions.open-admin":
    case "sessions.check":
    case "sessions.close":
    case "sessions.failed":
      return { kind: "failed", failure: failure("feature_unavailable", "not of a command line") };
    case "rate-limits.list":
      return { kind: "answer", body: page(daemon, options, body) };
    case "rate-limits.put": {
      const checked = parseRuleWrite(body, { perChildEntitled: options.perChildEntitled ?? false });
      return whenGood(checked, (rule) => void daemon.rules.set(ruleId(rule), rule));
    }
    case "rate-limits.delete": {
      const checked = parseRuleKey(body);
      if (checked.ok && !daemon.rules.delete(ruleId(checked.value)))
        return { kind: "failed", failure: failure("rate_limit_not_found", "no such rule") };
      return whenGood(checked, () => {});
    }
    case "rate-limits.raise":
      return whenGood(parseRuleRaise(body), () => {});
    case "rate-limits.end-raise":
      return whenGood(parseRaiseEnd(ruleGrammar, body), () => {});
    case "rate-limits.reset-one":
      return whenGood(parseRuleResetOne(body), () => {});
    case "rate-limits.reset":
      return whenGood(parseConfirmation(body), () => {});
    case "budgets.list":
      return {
        kind: "answer",
        body: {
          budgets: options.budgets ?? [],
          server_time: "2026-01-01T00:00:00.000Z",
          next: null,
        },
      };
    case "budgets.put":
      return whenGood(
        parseBudgetWrite(body, { perChildEntitled: options.perChildEntitled ?? false }),
        () => {},
      );
    case "budgets.delete":
      return whenGood(parseBudgetKey(body), () => {});
    case "budgets.raise":
      return whenGood(parseBudgetRaise(body), () => {});
    case "budgets.end-raise":
      return whenGood(parseRaiseEnd(budgetGrammar, body), () => {});
    case "budgets.reset-one":
      return whenGood(parseBudgetResetOne(body), () => {});
    case "budgets.reset":
      return whenGood(parseConfirmation(body), () => {});
    case "budgets.settings":
      return {
        kind: "answer",
        body: { ...defaultAnchors, server_time: "2026-01-01T00:00:00.000Z" },
      };
    case "budgets.put-settings":
      return whenGood(parseAnchors(body, defaultAnchors), () => {});
    case "rate-limits.test": {
      const { after = null } = body as { readonly after?: string | null };
      return { kind: "answer", body: options.backTest?.[after === null ? 0 : Number(after)] ?? {} };
    }
    case "usage.summary":
      return { kind: "answer", body: options.usageSummary ?? {} };
    case "usage.export":
    case "usage.follow": {
      const page = op === "usage.export" ? options.usagePage : options.followedPage;
      return { kind: "answer", body: page?.(body as Readonly<Record<string, unknown>>) ?? null };
    }
    case "queues.list":
      return {
        kind: "answer",
        body: { queues: [], waiting: 0, enqueued: [], server_time: "2026-01-01T00:00:00.000Z" },
      };
    case "keys.list":
      return { kind: "answer", body: options.explanation ?? { keys: [], next: null } };
    case "keys.issue":
    case "keys.rotate":
    case "keys.deactivate":
    case "keys.delete":
    case "jwts.list":
    case "jwts.deny":
    case "jwts.allow":
    case "rate-limits.children":
    case "budgets.children":
    case "leases.list":
    case "refusals.list":
    case "explain":
      return { kind: "answer", body: options.explanation ?? {} };
    case "limits.stage":
    case "limits.plan":
    case "limits.apply":
    case "limits.keys":
    case "backup":
    case "usage.records":
    case "usage.status":
    case "usage.adjust":
      return { kind: "failed", failure: failure("feature_unavailable", "usage isn't tracked") };
  }
}

function whenGood<T>(checked: Checked<T>, change: (value: T) => void): Reply {
  if (!checked.ok) return { kind: "failed", failure: checked.failure };
  change(checked.value);
  return { kind: "answer", body: {} };
}

function page(daemon: FakeDaemon, options: FakeDaemonOptions, body: unknown): object {
  const after = (body as { after: string | null }).after;
  const sorted = [...daemon.rules.values()].sort(compareRules);
  const from = after === null ? 0 : sorted.findIndex((rule) => ruleId(rule) === after) + 1;
  const rules = sorted.slice(from, from + (options.itemsPerPage ?? 500));
  const last = rules.at(-1);
  return {
    rate_limits: rules.map(listed),
    server_time: fakeServerTime,
    next: last !== undefined && from + rules.length < sorted.length ? ruleId(last) : null,
  };
}

/** A rule as the API lists it, without usage. */
export function listed(rule: RuleDefinition): Record<string, unknown> {
  const live = !rule.perChild && rule.periodSeconds > 0;
  return {
    scope: rule.scope,
    subject: rule.subject,
    effective_subject: effectiveSubject(rule.scope, rule.subject),
    per_child: rule.perChild,
    period_seconds: rule.periodSeconds,
    period_label: periodLabel(rule.periodSeconds),
    ...(rule.maxRequests === null ? {} : { max_requests: rule.maxRequests }),
    ...(rule.maxTokens === null ? {} : { max_tokens: rule.maxTokens }),
    requests_used: 0,
    tokens_used: 0,
    in_flight: 0,
    source: "manual",
    ...(live ? { window_start: "2025-06-01T12:00:00Z", window_end: "2025-06-01T12:01:00Z" } : {}),
  };
}
