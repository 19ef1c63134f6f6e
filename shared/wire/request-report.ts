/**
 * The facts of requests that a proxy reports besides settles, once a second (`requests.report`):
 * details of requests that failed, were refused or took several attempts, counts of requests, and
 * the traffic of each target. No prompts or answers, except those that a provider's error quotes.
 */
import { failureKinds, type RequestKind, requestKinds } from "../api/request-item.js";
import { bad, type Checked, good, isCount, isObject } from "../checked.js";

/** An attempt; fields without a value are absent. */
export interface AttemptReport {
  readonly target: string;
  readonly status?: number | undefined;
  readonly duration_ms: number;
  readonly retry?: number | undefined;
  readonly reason?: string | undefined;
  readonly provider_request_id?: string | undefined;
  readonly error_code?: string | undefined;
  readonly error_message?: string | undefined;
  /** Whether the client got its answer or error. */
  readonly delivered?: boolean | undefined;
}

/** A request's details as they are sent and stored; fields without a value are absent. */
export interface RequestReport {
  readonly request_id: string;
  readonly kind: RequestKind;
  readonly status: number;
  readonly outcome: string;
  readonly method: string;
  readonly path: string;
  readonly user_path?: string | undefined;
  readonly key_id?: string | undefined;
  readonly client?: string | undefined;
  readonly agent?: string | undefined;
  readonly model?: string | undefined;
  readonly target?: string | undefined;
  readonly stream?: boolean | undefined;
  readonly session?: string | undefined;
  readonly trace_id?: string | undefined;
  readonly duration_ms: number;
  readonly first_byte_ms?: number | undefined;
  readonly attempts?: readonly AttemptReport[] | undefined;
  readonly error_code?: string | undefined;
  readonly error_message?: string | undefined;
  readonly rule?: string | undefined;
  readonly note?: string | undefined;
  readonly dropped?: readonly string[] | undefined;
}

/**
 * Counts of a histogram: the index of a bucket and its count in turn. Bucket `i` ends at 2^(i/4)
 * milliseconds, or microseconds where the name says so.
 */
export type SparseCounts = readonly number[];
export const bucketsMax = 96;

/** The traffic of a target since the last report. */
export interface TargetReport {
  readonly provider: string;
  readonly model: string;
  readonly attempts: number;
  /** In the order of `failureKinds`. */
  readonly failures: readonly number[];
  readonly first: SparseCounts;
  readonly whole: SparseCounts;
  /** Output tokens of timed streams, and the milliseconds from first byte to end. */
  readonly tokens: number;
  readonly token_ms: number;
  readonly last_error?: string | undefined;
  /** Milliseconds since that error. */
  readonly last_error_ago_ms?: number | undefined;
}

export interface TrafficReportBody {
  /** Each with the milliseconds since its end. */
  readonly requests: readonly (readonly [agoMs: number, report: RequestReport])[];
  /** In the order of `requestKinds`. */
  readonly counts: readonly number[];
  readonly tokens: number;
  /** US dollars. */
  readonly cost: number;
  readonly targets: readonly TargetReport[];
  /**
   * The time that the proxy itself took before each request was first sent, by buckets of
   * microseconds. Absent if none was sent.
   */
  readonly own_us?: SparseCounts | undefined;
  /** Sessions, the user agents of their clients, and their user paths. */
  readonly agents: readonly (readonly [session: string, agent: string, userPath: string])[];
}

/** Details in one report: a flood of refusals costs no more. */
export const detailsPerReport = 200;
/** Targets in one report; further ones are summed up as `other`. */
export const targetsPerReport = 200;
export const agentsPerReport = 200;
export const attemptsMax = 20;
export const droppedMax = 20;
/** The longest texts: of messages, and of all others. */
export const messageCharsMax = 500;
export const textCharsMax = 300;

/** The body of `requests.report`. */
export function parseRequestReport(body: unknown): Checked<TrafficReportBody> {
  const { requests, counts, tokens, cost, targets, own_us, agents } = isObject(body) ? body : {};
  if (!isListOf(requests, detailsPerReport, isTimedRequest)) return wrongReport("requests");
  if (!isCounts(counts, requestKinds.length)) return wrongReport("counts");
  if (!isCount(tokens)) return wrongReport("tokens");
  if (!isAmount(cost)) return wrongReport("cost");
  if (!isListOf(targets, targetsPerReport + 1, isTargetReport)) return wrongReport("targets");
  if (own_us !== undefined && !isSparse(own_us)) return wrongReport("own_us");
  if (!isListOf(agents, agentsPerReport, isAgent)) return wrongReport("agents");
  return good({ requests, counts, tokens, cost, targets, own_us, agents });
}

function wrongReport(field: string): Checked<never> {
  return bad(`${field} of a report are not what a proxy sends`, field);
}

function isListOf<T>(
  value: unknown,
  max: number,
  is: (item: unknown) => item is T,
): value is readonly T[] {
  return Array.isArray(value) && value.length <= max && value.every(is);
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && Number.isFinite(value);
}

function isText(value: unknown, max = textCharsMax): value is string {
  return typeof value === "string" && value.length <= max;
}

function isTextOrAbsent(value: unknown, max = textCharsMax): boolean {
  return value === undefined || isText(value, max);
}

function isCountOrAbsent(value: unknown): boolean {
  return value === undefined || isCount(value);
}

function isCounts(value: unknown, length: number): value is readonly number[] {
  return Array.isArray(value) && value.length === length && value.every((count) => isCount(count));
}

/** Whether a value of the wire or the store is a histogram. */
export function isSparse(value: unknown): value is SparseCounts {
  return (
    Array.isArray(value) &&
    value.length % 2 === 0 &&
    value.length <= bucketsMax * 2 &&
    value.every((count, index) => isCount(count) && (index % 2 === 1 || count < bucketsMax))
  );
}

function isAgent(value: unknown): value is readonly [string, string, string] {
  return Array.isArray(value) && value.length === 3 && value.every((text) => isText(text));
}

function isTimedRequest(value: unknown): value is readonly [number, RequestReport] {
  return (
    Array.isArray(value) && value.length === 2 && isCount(value[0]) && isRequestReport(value[1])
  );
}

const texts = [
  "user_path",
  "key_id",
  "client",
  "agent",
  "model",
  "target",
  "session",
  "trace_id",
  "error_code",
  "rule",
] as const;

/** Whether a value of the wire or the store is a report. */
export function isRequestReport(value: unknown): value is RequestReport {
  if (!isObject(value)) return false;
  const { request_id, kind, status, outcome, method, path, stream, attempts, dropped } = value;
  return (
    isText(request_id) &&
    requestKinds.some((candidate) => candidate === kind) &&
    isCount(status) &&
    isText(outcome) &&
    isText(method) &&
    isText(path) &&
    isCount(value["duration_ms"]) &&
    isCountOrAbsent(value["first_byte_ms"]) &&
    texts.every((name) => isTextOrAbsent(value[name])) &&
    isTextOrAbsent(value["error_message"], messageCharsMax) &&
    isTextOrAbsent(value["note"], messageCharsMax) &&
    (stream === undefined || typeof stream === "boolean") &&
    (attempts === undefined || isListOf(attempts, attemptsMax, isAttempt)) &&
    (dropped === undefined || isListOf(dropped, droppedMax, (text) => isText(text)))
  );
}

function isAttempt(value: unknown): value is AttemptReport {
  if (!isObject(value)) return false;
  return (
    isText(value["target"]) &&
    isCountOrAbsent(value["status"]) &&
    isCount(value["duration_ms"]) &&
    isCountOrAbsent(value["retry"]) &&
    isTextOrAbsent(value["reason"]) &&
    isTextOrAbsent(value["provider_request_id"]) &&
    isTextOrAbsent(value["error_code"]) &&
    isTextOrAbsent(value["error_message"], messageCharsMax) &&
    (value["delivered"] === undefined || typeof value["delivered"] === "boolean")
  );
}

/** Whether a value of the wire or the store is a report. */
export function isTargetReport(value: unknown): value is TargetReport {
  if (!isObject(value)) return false;
  return (
    isText(value["provider"]) &&
    isText(value["model"]) &&
    isCount(value["attempts"]) &&
    isCounts(value["failures"], failureKinds.length) &&
    isSparse(value["first"]) &&
    isSparse(value["whole"]) &&
    isCount(value["tokens"]) &&
    isCount(value["token_ms"]) &&
    isTextOrAbsent(value["last_error"], messageCharsMax) &&
    isCountOrAbsent(value["last_error_ago_ms"])
  );
}
