/**
 * Dispatches the admin operations of the HTTP API and the command line. Each operation checks its
 * whole body before it changes anything, and answers once its change is committed.
 */

import { statusForSubtree } from "../../../shared/access/subtree-status.js";
import { parseReconciliation } from "../../../shared/api/reconciliation-item.js";
import { unreachable } from "../../../shared/assert.js";
import { good } from "../../../shared/checked.js";
import { type Failure, failure } from "../../../shared/error-code.js";
import { parseMetricsQuestion } from "../../../shared/metrics/metrics-answer.js";
import { isChange, parseOpenTargets } from "../../../shared/wire/admin-op.js";
import { parseSettingsReport } from "../../../shared/wire/settings-report.js";
import {
  dueResponsesMax,
  type ObjectOwner,
  objectsMax,
  type PendingResponseName,
  parseMadeObjects,
  parseObjectIds,
  parseObjectName,
  providerOfBatches,
} from "../../../shared/wire/stored-object.js";
import { configurationApplied, parseAuditQuery } from "../../audit/audit-log.js";
import { askOwners, publishOwners } from "../../cluster/remembered/shared-owners.js";
import { listLeases } from "../../lists/list-leases.js";
import { parseListQuery } from "../../lists/list-query.js";
import { listQueues } from "../../lists/list-queues.js";
import { listRefusals, refusalChoices } from "../../lists/list-refusals.js";
import { parseTenantQuery, tenantsFor } from "../../lists/list-tenants.js";
import { reportMetrics } from "../../lists/report-metrics.js";
import { viewerAt } from "../../rules/limits-above.js";
import { type DaemonState, loopsFor } from "../../state.js";
import { keepsFee, type PendingResponse } from "../../usage/pending-responses.js";
import {
  describeReconciliation,
  keepReconciliation,
  listReconciliations,
  parseReconciliationQuery,
  reconciliationItem,
} from "../../usage/reconciliations.js";
import {
  type AdminPorts,
  type AdminRequest,
  askHosts,
  checkedValue,
  type PeerPorts,
  type PlainOp,
  withinOf,
  writeChange,
} from "./admin-operation.js";
import { confine } from "./confine.js";
import { daemonStatus } from "./daemon-status.js";
import { handleAlerts } from "./handle-alerts.js";
import { handleBudgets } from "./handle-budgets.js";
import { handleExplain } from "./handle-explain.js";
import { handleJwts } from "./handle-jwts.js";
import { handleKeys } from "./handle-keys.js";
import { handleLimitFiles } from "./handle-limit-files.js";
import { handleRequests } from "./handle-requests.js";
import { handleRules } from "./handle-rules.js";
import { handleSessions } from "./handle-sessions.js";
import { answerList, answerWithRead, handleUsage } from "./handle-usage.js";
import {
  enqueueBatch,
  isCapped,
  parseEndedBatch,
  parseEnqueued,
  parseUserPathOf,
  settleBatch,
} from "./settle-batch.js";

export function handleAdmin(
  state: DaemonState,
  { op, body: uncheckedBody, by }: AdminRequest<PlainOp>,
  nowMs: number,
  peer: PeerPorts,
): void {
  const ports: AdminPorts = { ...peer, request: { op, by } };
  const within = withinOf(ports);
  const confined = within === "/" ? good(uncheckedBody) : confine(op, uncheckedBody, within);
  if (!confined.ok) return ports.fail(confined.failure);
  const body = confined.value;
  const { isFull, failing } = state.writer;
  if (isFull && isChange(op)) return ports.fail(tooManyWaiting(failing));
  switch (op) {
    case "status": {
      const status = daemonStatus(state, nowMs);
      return ports.answer(within === "/" ? status : statusForSubtree(status));
    }
    case "metrics": {
      const rulesMax = checkedValue(parseMetricsQuestion(body), ports);
      if (rulesMax === null) return;
      const question = { status: daemonStatus(state, nowMs), rulesMax, nowMs };
      return void reportMetrics(state, question).then(ports.answer);
    }
    case "targets.report": {
      const targets = checkedValue(parseOpenTargets(body), ports);
      if (targets === null) return;
      ports.targetsReported(targets);
      return ports.answer({ status: "ok" });
    }
    case "audit.list": {
      const query = checkedValue(parseAuditQuery(body), ports);
      if (query === null) return;
      return answerList(state, "audit log", () => state.audit.list(query, nowMs), ports);
    }
    case "configuration.report": {
      const report = checkedValue(parseSettingsReport(body), ports);
      if (report === null) return;
      const { auditedChanges, changes } = state.proxySettings.report(report);
      const entries = state.audit.record(auditedChanges, configurationApplied(report.file), nowMs);
      const answer = (): void => ports.answer({ status: "ok" });
      if (changes.length === 0) return answer();
      return writeChange(state, [...changes, ...entries], ports, answer);
    }
    case "reconciliations.list": {
      const query = checkedValue(parseReconciliationQuery(body), ports);
      if (query === null) return;
      const list = () => listReconciliations(state.store, query, nowMs);
      return answerList(state, "comparisons with bills", list, ports);
    }
    case "reconciliations.keep": {
      const result = checkedValue(parseReconciliation(body), ports);
      if (result === null) return;
      const audited = state.audit.record([describeReconciliation(result)], ports.request, nowMs);
      const key = Number(audited[0]!.key);
      const kept = keepReconciliation(state.store, result, { key, nowMs });
      const item = reconciliationItem(result, key, nowMs);
      return writeChange(state, [...kept, ...audited], ports, () => ports.answer(item));
    }
    case "upstream-limits.list":
      return ports.answer(state.upstream.list(nowMs));
    case "leases.list": {
      const query = checkedValue(parseListQuery(body, {}), ports);
      return query === null ? undefined : ports.answer(listLeases(state.peers, query, nowMs));
    }
    case "queues.list":
      return state.book.ruleSet.whenRead(() => ports.answer(listQueues(state, within, nowMs)));
    case "refusals.list": {
      const query = checkedValue(parseListQuery(body, refusalChoices), ports);
      if (query === null) return;
      return ports.answer(listRefusals(state.refusals, query, nowMs, viewerAt(state, within)));
    }
    case "objects.owners": {
      const ids = checkedValue(parseObjectIds(body), ports);
      if (ids === null) return;
      return ownersOf(state, ids, nowMs, (owners) => ports.answer({ owners }));
    }
    case "objects.own": {
      const madeObjects = checkedValue(parseMadeObjects(body), ports);
      if (madeObjects === null) return;
      const changes = state.objects.addOwners(madeObjects, nowMs);
      if (changes === null) return ports.fail(tooManyObjects());
      const answer = (): void => ports.answer({ status: "ok" });
      return askHosts(
        state.cluster,
        ({ commands, name }) => publishOwners(commands, name, madeObjects, nowMs),
        () => (changes.length === 0 ? answer() : writeChange(state, changes, ports, answer)),
      );
    }
    case "responses.pending": {
      const provider = providerOfBatches(body);
      if (provider !== null) {
        const batches = state.pending.batchesAt(provider, dueResponsesMax);
        return ports.answer({ responses: batches.map(pendingItem) });
      }
      const name = checkedValue(parseObjectName(body), ports);
      if (name === null) return;
      const pending = state.pending.find(name.provider, name.id);
      return ports.answer({ responses: pending === undefined ? [] : [pendingItem(pending)] });
    }
    case "responses.due":
      return ports.answer({
        responses: state.pending.due(nowMs, dueResponsesMax).map(pendingItem),
      });
    case "responses.forget": {
      const name = checkedValue(parseObjectName(body), ports);
      if (name === null) return;
      const changes = state.pending.forget(name.provider, name.id);
      return writeChange(state, changes, ports, () => ports.answer({ status: "ok" }));
    }
    case "loops.find": {
      const userPath = checkedValue(parseUserPathOf(body), ports);
      return userPath === null
        ? undefined
        : ports.answer({ loops: loopsFor(state, userPath)?.loops ?? null });
    }
    case "batches.capped": {
      const answer = checkedValue(isCapped(state, body, nowMs), ports);
      return answer === null ? undefined : ports.answer(answer);
    }
    case "batches.enqueue": {
      const batch = checkedValue(parseEnqueued(body), ports);
      if (batch === null) return;
      const enqueued = checkedValue(enqueueBatch(state, batch, nowMs), ports);
      return enqueued === null ? undefined : ports.answer(enqueued);
    }
    case "batches.withdraw": {
      const batch = checkedValue(parseEnqueued(body), ports);
      if (batch === null) return;
      state.pending.endReservation(batch);
      return ports.answer({ status: "ok" });
    }
    case "batches.settle": {
      const ended = parseEndedBatch(body);
      const settled = ended.ok ? good(settleBatch(state, ended.value, nowMs)) : ended;
      return answerWithRead(state, settled, ports);
    }
    case "explain": {
      const answer = checkedValue(handleExplain(state, body, { nowMs, within }), ports);
      if (answer === null) return;
      if (state.shares === null) return ports.answer(answer);
      // Reads the counters that the explanation used from the engine, then explains again.
      return void state.shares.refreshLooked().then(() => {
        const refreshed = checkedValue(handleExplain(state, body, { nowMs, within }), ports);
        if (refreshed !== null) ports.answer(refreshed);
      });
    }
    case "alerts.list":
    case "alerts.due":
    case "alerts.report":
      return handleAlerts(state, { op, body }, nowMs, ports);
    case "tenants.list": {
      const query = parseTenantQuery(body, nowMs);
      const tenants = query.ok ? good(tenantsFor(state, query.value, nowMs)) : query;
      return answerWithRead(state, tenants, ports);
    }
    case "requests.report":
    case "requests.list":
    case "requests.show":
    case "requests.sessions":
    case "traffic.summary":
      return handleRequests(state, { op, body }, nowMs, ports);
    case "keys.issue":
    case "keys.list":
    case "keys.rotate":
    case "keys.deactivate":
    case "keys.delete":
      return handleKeys(state, { op, body }, nowMs, ports);
    case "jwts.list":
    case "jwts.deny":
    case "jwts.allow":
      return handleJwts(state, { op, body }, nowMs, ports);
    case "sessions.open":
    case "sessions.open-admin":
    case "sessions.check":
    case "sessions.close":
    case "sessions.failed":
      return handleSessions(state, { op, body }, nowMs, ports);
    case "usage.status":
    case "usage.summary":
    case "usage.records":
    case "usage.export":
    case "usage.follow":
    case "usage.adjust":
      return handleUsage(state, { op, body, by }, nowMs, ports);
    case "budgets.list":
    case "budgets.children":
    case "budgets.put":
    case "budgets.delete":
    case "budgets.raise":
    case "budgets.end-raise":
    case "budgets.reset-one":
    case "budgets.reset":
    case "budgets.settings":
    case "budgets.put-settings":
      return handleBudgets(state, { op, body }, nowMs, ports);
    case "limits.stage":
    case "limits.plan":
    case "limits.apply":
    case "limits.keys":
      return handleLimitFiles(state, { op, body }, nowMs, ports);
    case "rate-limits.list":
    case "rate-limits.children":
    case "rate-limits.test":
    case "rate-limits.banned":
    case "rate-limits.put":
    case "rate-limits.delete":
    case "rate-limits.raise":
    case "rate-limits.end-raise":
    case "rate-limits.reset-one":
    case "rate-limits.reset":
      return handleRules(state, { op, body }, nowMs, ports);
    default:
      return unreachable(op);
  }
}

function tooManyWaiting(failing: Error | null): Failure {
  return failure(
    "limiter_unavailable",
    `nothing was changed: too many changes wait for the store, which can't be written (${failing?.message})`,
  );
}

/**
 * Finds the owners of each object that this host knows, or if it knows none, those that the other
 * hosts know.
 */
function ownersOf(
  { objects, cluster }: DaemonState,
  ids: readonly string[],
  nowMs: number,
  then: (owners: readonly (readonly ObjectOwner[])[]) => void,
): void {
  const ownersHere = ids.map((id) => objects.of(id, nowMs));
  if (cluster === null) return then(ownersHere);
  const answers = ownersHere.map((owners, i) =>
    owners.length > 0
      ? owners
      : askOwners(cluster.commands, cluster.name, ids[i]!, nowMs).catch(() => []),
  );
  void Promise.all(answers).then(then);
}

function pendingItem({ id, record, batchTokens }: PendingResponse): PendingResponseName {
  const { provider, model } = record;
  const isBatch = batchTokens !== null;
  return { id, provider, model, isBatch, keepsFee: keepsFee(record) };
}

function tooManyObjects(): Failure {
  return failure("overloaded", `the owners of ${objectsMax} stored objects are remembered already`);
}
