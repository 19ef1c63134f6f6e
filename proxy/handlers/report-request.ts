/**
 * Reports a request: its log line (docs/reference/logs.md), its metrics (docs/reference/metrics.md)
 * and its span (docs/reference/tracing.md). Reports contain names, ids and counts; the user agent
 * is the only header, and bodies never get here.
 */

import type { RequestKind } from "../../shared/api/request-item.js";
import { budgetPeriodLabel } from "../../shared/domain/budget.js";
import { subjectWithModels } from "../../shared/domain/limited-models.js";
import { redactKeys } from "../../shared/domain/managed-key.js";
import { costUsd } from "../../shared/domain/money.js";
import { periodLabel } from "../../shared/domain/rule.js";
import { type Target, targetName } from "../../shared/domain/target-name.js";
import type { LineLevel, Log } from "../../shared/log.js";
import { escapeControls } from "../../shared/logging/escape-controls.js";
import { cacheByText, cacheLast } from "../../shared/text/remembered.js";
import {
  type AttemptReport,
  attemptsMax,
  droppedMax,
  messageCharsMax,
  type RequestReport,
  textCharsMax,
} from "../../shared/wire/request-report.js";
import type { Gateway } from "../gateway.js";
import type { Exchange } from "../http/exchange.js";
import { parseTraceparent } from "../http/trace-context.js";
import type { RefusalLabels } from "../metrics/proxy-counts.js";
import { failureKindOf, redactedWords } from "../metrics/request-reports.js";
import type { Tracing } from "../metrics/spans/request-trace.js";
import type { SpanAttributes } from "../metrics/spans/spans.js";
import type { RequestRecord } from "../request-record.js";

interface EndedRequest {
  readonly exchange: Exchange;
  readonly record: RequestRecord;
  readonly endedMonoMs: number;
}

/** User agents may have any length. */
const userAgentCharsMax = 200;

/** Writes one line; `log_sample` may drop successes. */
export function logRequest(
  { log, config, random }: Pick<Gateway, "log" | "config" | "random">,
  ended: EndedRequest,
): void {
  const level = levelOf(ended);
  if (!log.isLevelEnabled(level)) return;
  const { sample } = config.logging;
  const isSampled = sample < 1 && isPlainSuccess(ended.record);
  if (isSampled && random() >= sample) return;
  const fields = requestFields(ended);
  log.line(level, isSampled ? `${fields},"sample":${sample}` : fields, "request");
}

/** Logs an exception of Sluice with its stack and the request's id. */
export function logBug(log: Log, requestId: string, error: unknown): void {
  log.error({ request_id: requestId, err: error }, "a bug in Sluice ended this request");
}

function levelOf({
  exchange: { path },
  record: { outcome, status, loop },
}: EndedRequest): LineLevel {
  if (outcome === "answered" && (path === "/health" || path === "/ready")) return "debug";
  return status >= 500 || loop !== null ? "warn" : "info";
}

/** Whether the first target answered completely, with nothing to note. */
function isPlainSuccess({
  status,
  outcome,
  earlierFailures,
  loop,
  cutBy,
  note,
  bug,
}: RequestRecord): boolean {
  return (
    status < 400 &&
    (outcome === "complete" || outcome === "answered" || outcome === "cache_hit") &&
    earlierFailures === null &&
    loop === null &&
    cutBy === "" &&
    note === null &&
    bug === null
  );
}

/**
 * JSON without braces, built by hand at a fifth of the cost of JSON.stringify, from as few string
 * pieces as possible.
 */
function requestFields({ exchange, record, endedMonoMs }: EndedRequest): string {
  const { id, method, path } = exchange;
  const { status, outcome, clientAddress, traceId, userPath, keyId, session, model, stream } =
    record;
  const ms = tenths(endedMonoMs - record.startedMonoMs);
  let fields = `"request_id":"${id}","method":"${method}","path":${quotedPath(path, record.route)}`;
  fields += `,"status":${status},"outcome":"${outcome}","ms":${ms}`;
  if (clientAddress !== "") fields += clientField(clientAddress);
  const userAgent = exchange.header("user-agent");
  if (userAgent !== undefined) fields += userAgentField(redactKeys(userAgent));
  if (traceId !== "") fields += `,"trace_id":"${traceId}"`;
  if (userPath !== null) fields += userPathField(userPath);
  if (keyId !== "") fields += `,"key":"${keyId}"`;
  if (session !== "") fields += `,"session":"${session}"`;
  if (model !== null) fields += modelField(model);
  if (record.queuedMs !== null) fields += `,"queued_ms":${record.queuedMs}`;
  if (stream !== null) fields += stream ? ',"stream":true' : ',"stream":false';
  return fields + executionFields(record) + remarkFields(record);
}

const clientField = cacheByText((address) => field("client", address));
const userAgentField = cacheByText((agent) =>
  field("user_agent", agent.slice(0, userAgentCharsMax)),
);
const userPathField = cacheByText((path) => field("user_path", path));
const modelField = cacheByText((model) => field("model", model));
const targetField = cacheLast((target: Target) => field("target", targetName(target)));

function field(name: string, text: string): string {
  return `,"${name}":${quoted(text)}`;
}

/** The fields about the execution at providers. */
function executionFields(record: RequestRecord): string {
  let fields = "";
  if (record.target !== null) fields += targetField(record.target);
  const { earlierFailures } = record;
  if (earlierFailures !== null)
    fields += `,"tries":${record.attemptCount},"tried":${quoted(earlierFailures.map(loggedFailure))}`;
  if (record.providerRequestId !== "")
    fields += `,"provider_request_id":${quoted(record.providerRequestId)}`;
  if (record.firstByteMonoMs !== null)
    fields += `,"first_byte_ms":${tenths(record.firstByteMonoMs - record.startedMonoMs)}`;
  if (record.usage !== null) {
    const { totalTokens, inputTokens, outputTokens } = record.usage;
    fields += `,"tokens":${totalTokens},"input_tokens":${inputTokens},"output_tokens":${outputTokens}`;
  }
  if (record.cost !== null) fields += `,"cost_usd":${costUsd(record.cost)}`;
  if (record.savedBytes > 0) fields += `,"rewrite_bytes_saved":${record.savedBytes}`;
  if (record.loop !== null) fields += `,"loop":${record.loop.times}`;
  if (record.estimated) fields += ',"estimated":true';
  return fields;
}

function remarkFields({ breach, cutBy, note, admission }: RequestRecord): string {
  let fields = "";
  const shadow = admission?.shadow;
  if (shadow !== undefined) fields += `,"shadow":${quoted(shadow)}`;
  if (breach !== null) fields += `,"rule":${quoted(ruleText(breach))}`;
  if (cutBy !== "") fields += `,"cut_by":${quoted(cutBy)}`;
  if (note !== null) fields += `,"note":${quoted(note)}`;
  return fields;
}

/** The limit that refused a request, as text. */
function ruleText(breach: NonNullable<RequestRecord["breach"]>): string {
  const { scope, periodSeconds, dimension, above } = breach;
  const period =
    dimension === "budget"
      ? budgetPeriodLabel(periodSeconds, breach.rolling)
      : periodLabel(periodSeconds);
  const subject = above === undefined ? subjectWithModels(breach) : `above ${above}`;
  return `${scope} ${subject} ${period} ${dimension}`;
}

function loggedFailure({ target, why }: { readonly target: Target; readonly why: string }): object {
  return { target: targetName(target), why };
}

/** Printable ASCII without escapes, as nearly all texts are. */
const plain = /^[ !#-[\]-~]*$/;

/** As JSON, with escapes for characters that could control a terminal or reverse its text. */
function quoted(value: unknown): string {
  if (typeof value === "string" && plain.test(value)) return `"${value}"`;
  return escapeControls(JSON.stringify(value));
}

/** A path equal to its route contains nothing from the client. */
function quotedPath(path: string, route: string): string {
  return path === route ? `"${path}"` : quoted(redactKeys(path));
}

/** Rounded to a tenth, by integers: V8 takes five times as long to format a fraction. */
function tenths(ms: number): string {
  const rounded = Math.max(0, Math.round(ms * 10));
  const tenth = rounded % 10;
  return tenth === 0 ? `${rounded / 10}` : `${(rounded - tenth) / 10}.${tenth}`;
}

export function countRequest(
  { metrics: { counts } }: Pick<Gateway, "metrics">,
  { exchange, record, endedMonoMs }: EndedRequest,
): void {
  const { endpoint, outcome, stream } = record;
  counts.countRequest({
    method: exchange.method,
    route: record.route,
    endpoint,
    status: record.status,
    target: record.target,
    userPath: record.userPath,
    stream,
    seconds: (endedMonoMs - record.startedMonoMs) / 1000,
  });
  if (outcome === "shutdown") counts.cutByShutdown();
  if (endpoint === null) return;
  const refused = refusalOf(record);
  if (refused !== null) counts.countRefusal(refused);
  if (stream === false || !exchange.hasBegun) return;
  if (outcome === "client_gone") counts.countCutStream("client");
  else if (outcome === "shutdown") counts.countCutStream("shutdown");
  else if (record.cutBy !== "") counts.countCutStream("hard_cap");
  else if (outcome === "upstream_cut")
    counts.countCutStream(record.hasTimedOut ? "deadline" : "upstream");
}

function refusalOf({ outcome, status, breach }: RequestRecord): RefusalLabels | null {
  switch (outcome) {
    case "rate_limited":
    case "over_budget": {
      const { scope = "", dimension = "" } = breach ?? {};
      if (outcome === "over_budget") return { reason: "budget", scope, dimension };
      const reason = dimension === "concurrent" ? "concurrency" : "rate_limit";
      return { reason, scope, dimension };
    }
    case "limiter_unavailable":
      return { reason: "limiter_unavailable", scope: "", dimension: "" };
    case "refused":
      return status === 401 || status === 403
        ? { reason: "denied", scope: "", dimension: "" }
        : null;
    default:
      return null;
  }
}

/**
 * Counts the request in the daemon's history, and sends the daemon the details that its usage
 * record lacks.
 */
export function reportDetails(
  { metrics: { reports } }: Pick<Gateway, "metrics">,
  ended: EndedRequest,
): void {
  const { exchange, record, endedMonoMs } = ended;
  const kind = kindOf(record);
  // Of requests without limits, only refused callers and unknown paths count.
  const isRejected = record.status === 401 || record.status === 403 || record.route === "";
  if (record.endpoint === null && !(kind === "denied" && isRejected)) return;
  reports.noteRequest(kind, record);
  const agent = exchange.header("user-agent");
  const { session, userPath } = record;
  if (session !== "" && userPath !== null && agent !== undefined)
    reports.noteAgent({ session, userPath }, redactKeys(agent), endedMonoMs);
  const isPlain = kind === "answered" && !hasDetails(record);
  if (!isPlain && reports.hasRoom(kind === "failed" ? "major" : "minor"))
    reports.add(detailsOf(ended, kind, reports.keepsTexts), endedMonoMs);
}

function kindOf({ status, outcome, breach }: RequestRecord): RequestKind {
  switch (outcome) {
    case "rate_limited":
    case "over_budget":
      return "refused";
    case "client_gone":
      return "canceled";
    case "refused":
      if (breach !== null) return "refused";
      return status === 401 || status === 403 || status === 404 ? "denied" : "invalid";
    case "answered":
    case "cache_hit":
    case "complete":
      return status < 400 ? "answered" : "failed";
    default:
      return "failed";
  }
}

/** Whether a request has details that usage records lack. */
function hasDetails({ reportedAttempts, dropped, note, traceId }: RequestRecord): boolean {
  return reportedAttempts !== null || dropped !== null || note !== null || traceId !== "";
}

function detailsOf(
  { exchange, record, endedMonoMs }: EndedRequest,
  kind: RequestKind,
  keepsTexts: boolean,
): RequestReport {
  const {
    startedMonoMs,
    firstByteMonoMs,
    target,
    reportedAttempts: attempts,
    breach,
    bug,
  } = record;
  const agent = exchange.header("user-agent");
  const delivered = attempts?.find((attempt) => isDelivered(attempt, record)) ?? attempts?.at(-1);
  const error = exchange.failure ?? delivered?.forwarded.error ?? null;
  // Messages about refused and denied requests never quote a prompt; others may.
  const isOwn = attempts === null && (kind === "refused" || kind === "denied");
  const hasTexts = keepsTexts || isOwn;
  const note = record.note ?? (bug === null ? "" : "a bug in Sluice ended it: see the log");
  return withoutAbsent({
    request_id: exchange.id,
    kind,
    status: record.status,
    outcome: record.outcome,
    method: exchange.method.slice(0, textCharsMax),
    path: redactedText(exchange.path) ?? "",
    user_path: redactedText(record.userPath),
    key_id: redactedText(record.keyId),
    client: redactedText(record.clientAddress),
    agent: redactedText(agent ?? null),
    model: redactedText(record.model),
    target: target === null ? undefined : redactedText(targetName(target)),
    stream: record.stream ?? undefined,
    session: redactedText(record.session),
    trace_id: redactedText(record.traceId),
    duration_ms: wholeMs(endedMonoMs - startedMonoMs),
    first_byte_ms: firstByteMonoMs === null ? undefined : wholeMs(firstByteMonoMs - startedMonoMs),
    attempts: attempts
      ?.slice(0, attemptsMax)
      .map((attempt) => attemptOf(attempt, record, keepsTexts)),
    error_code: redactedText(error?.code ?? null),
    error_message: hasTexts ? messageOf(error) : undefined,
    rule: breach === null ? undefined : redactedText(ruleText(breach)),
    note: hasTexts ? redactedText(redactedWords(note), messageCharsMax) : undefined,
    dropped: record.dropped?.slice(0, droppedMax).map((field) => redactedText(field) ?? ""),
  });
}

type Attempt = NonNullable<RequestRecord["reportedAttempts"]>[number];

/** Whether the client got the answer or the error of this attempt. */
function isDelivered({ forwarded }: Attempt, { deliveredFinish }: RequestRecord): boolean {
  return forwarded.finish === deliveredFinish;
}

function messageOf(error: { readonly message: string } | null | undefined): string | undefined {
  return error == null ? undefined : redactedText(redactedWords(error.message), messageCharsMax);
}

function attemptOf(attempt: Attempt, record: RequestRecord, keepsTexts: boolean): AttemptReport {
  const { target, ms, retry, forwarded } = attempt;
  const { status, outcome, failed, error, providerRequestId = "" } = forwarded;
  const isAnswered = outcome === "complete" && status < 400;
  const providerStatus = error == null ? status : error.status;
  const why = keepsTexts
    ? redactedWords(failed?.why ?? outcome)
    : (failureKindOf(forwarded) ?? outcome);
  return withoutAbsent({
    target: redactedText(targetName(target))!,
    status: providerStatus === 0 ? undefined : providerStatus,
    duration_ms: wholeMs(ms),
    retry: retry === 0 ? undefined : retry,
    reason: isAnswered ? undefined : redactedText(why),
    provider_request_id: redactedText(providerRequestId),
    error_code: redactedText(error?.code ?? null),
    error_message: keepsTexts ? messageOf(error) : undefined,
    delivered: isDelivered(attempt, record) ? true : undefined,
  });
}

/** The fields that have a value: on the wire, undefined would become null. */
function withoutAbsent<T extends object>(report: T): T {
  return Object.fromEntries(Object.entries(report).filter(([, value]) => value !== undefined)) as T;
}

/** A text for the store, without keys; undefined if empty, so that it takes no space. */
function redactedText(text: string | null, max = textCharsMax): string | undefined {
  return text === null || text === "" ? undefined : redactKeys(text).slice(0, max);
}

function wholeMs(ms: number): number {
  return Math.max(0, Math.round(ms));
}

interface TracedRequest {
  readonly exchange: Exchange;
  readonly record: RequestRecord;
}

/** Sets the trace of the record, if the request is sampled. */
export function beginTrace(tracing: Tracing, { exchange, record }: TracedRequest): void {
  const caller = parseTraceparent(exchange.header("traceparent"));
  const name = `${exchange.method} ${record.route}`;
  record.trace = tracing.begin(name, caller, record.startedMonoMs);
  if (record.trace !== null) record.traceId = record.trace.traceId;
}

export function endTrace(ended: TracedRequest & { readonly endedMonoMs: number }): void {
  const { exchange, record, endedMonoMs } = ended;
  record.trace?.end(requestAttributes(exchange, record), record.status >= 500, endedMonoMs);
}

export function requestAttributes(
  { id, method, path }: Pick<Exchange, "id" | "method" | "path">,
  record: RequestRecord,
): SpanAttributes {
  const { status, outcome, model, target, attemptCount, breach, cost, keyId, waitedMs } = record;
  return {
    "http.request.method": method,
    "http.route": record.route,
    "url.path": redactKeys(path),
    "url.scheme": "http",
    "http.response.status_code": status,
    ...(status >= 500 ? { "error.type": String(status) } : {}),
    "sluice.request_id": id,
    "sluice.outcome": outcome,
    ...(model === null ? {} : { "gen_ai.request.model": model }),
    ...(target === null ? {} : { "sluice.target": targetName(target) }),
    ...(attemptCount === 0 ? {} : { "sluice.tries": attemptCount }),
    ...(waitedMs === 0 ? {} : { "sluice.wait_seconds": waitedMs / 1000 }),
    ...(keyId === "" ? {} : { "sluice.key": keyId }),
    ...(breach === null ? {} : { "sluice.rule": ruleText(breach) }),
    ...(cost === null ? {} : { "sluice.cost_usd": costUsd(cost) }),
  };
}
