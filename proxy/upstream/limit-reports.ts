/**
 * Reads the limits that providers report, in headers and in the body of a 429, and reports them to
 * the daemon (docs/upstream-limits.md). If limits are only shown, the headers of one answer per
 * second and target are read. `test/outside/limit-headers.ts` lists the families of headers with
 * their sources.
 */

import { isObject, parseJson } from "../../shared/checked.js";
import type { ProviderConfig } from "../../shared/config/config.js";
import type { Target } from "../../shared/domain/target-name.js";
import {
  limitNameCharsMax,
  type ReportedLimit,
  reportedLimitsMax,
} from "../../shared/domain/upstream-limits.js";
import { observedTargetsMax, observeMs } from "../bounds.js";
import type { LimitReport } from "../limiter/admission.js";
import { readRetryAfterMs } from "./retry-wait.js";
import type { Upstream } from "./upstream.js";

/** An answer at its beginning, or an error after its body has arrived. */
export interface ProviderAnswer {
  readonly status: number;
  readonly rawHeaders: readonly (Buffer | string)[];
  /** The provider's text; empty unless the answer is an error. */
  readonly body: string;
  /** When the request was sent. */
  readonly sentMonoMs: number;
  readonly firstByteMonoMs: number;
}

interface LimitReportPorts {
  readonly send: (report: LimitReport) => void;
  readonly monoMs: () => number;
  readonly nowMs: () => number;
}

interface ObservedRequest {
  readonly config: Pick<ProviderConfig, "upstreamLimits" | "apiKeys">;
  readonly upstream: Pick<Upstream, "hasReadyKey"> | null;
  readonly target: Target;
  /** The class of the request; see `AdaptiveCap`. */
  readonly size: () => number;
}

const noLimits: readonly ReportedLimit[] = [];

export class LimitReports {
  readonly #ports: LimitReportPorts;
  /** When the headers of a provider's model were last read, by its configuration. */
  readonly #readMs = new WeakMap<object, Map<string, number>>();

  constructor(ports: LimitReportPorts) {
    this.#ports = ports;
  }

  /** The function to call with the answers of one request; undefined if they needn't be read. */
  observerOf(request: ObservedRequest): ((answer: ProviderAnswer) => void) | undefined {
    const { mode, adaptive } = request.config.upstreamLimits;
    if (adaptive !== null || mode === "avoid") return (answer) => this.#report(request, answer);
    return mode === "off" ? undefined : (answer) => this.#observe(request, answer);
  }

  #observe(request: ObservedRequest, answer: ProviderAnswer): void {
    const { target, config } = request;
    let lastReadMs = this.#readMs.get(config);
    if (lastReadMs === undefined) {
      lastReadMs = new Map();
      this.#readMs.set(config, lastReadMs);
    }
    const monoMs = this.#ports.monoMs();
    if (answer.status < 300 && monoMs - (lastReadMs.get(target.model) ?? -Infinity) < observeMs)
      return;
    if (lastReadMs.size >= observedTargetsMax) lastReadMs.clear();
    lastReadMs.set(target.model, monoMs);
    const { limits, waitMs } = this.#read(answer);
    if (limits.length > 0 || answer.status === 429) this.#send(request, answer, { limits, waitMs });
  }

  #report(request: ObservedRequest, answer: ProviderAnswer): void {
    const { config, upstream, size } = request;
    const { limits, waitMs } = this.#read(answer);
    const { status, sentMonoMs, firstByteMonoMs } = answer;
    // Another key may have capacity left.
    const hasOtherKey =
      status === 429 ? upstream?.hasReadyKey?.() === true : (config.apiKeys?.length ?? 0) > 1;
    const ofOneKey = {
      limits: limits.filter(({ remaining }) => remaining !== 0),
      waitMs: undefined,
    };
    const isTimed = config.upstreamLimits.adaptive !== null;
    this.#send(request, answer, {
      ...(hasOtherKey ? ofOneKey : { limits, waitMs }),
      ...(isTimed ? { firstByteMs: Math.round(firstByteMonoMs - sentMonoMs), size: size() } : {}),
    });
  }

  #read({ status, rawHeaders, body }: ProviderAnswer): Pick<LimitReport, "limits" | "waitMs"> {
    const nowMs = this.#ports.nowMs();
    if (status < 300) return { limits: readReportedLimits(rawHeaders, nowMs) };
    if (status !== 429) return { limits: noLimits };
    const { limits, waitMs } = readReportedWait(rawHeaders, body, nowMs);
    return waitMs === null ? { limits } : { limits, waitMs };
  }

  #send(
    { target: { provider, model } }: ObservedRequest,
    { status, sentMonoMs }: ProviderAnswer,
    details: Pick<LimitReport, "limits" | "waitMs" | "firstByteMs" | "size">,
  ): void {
    const startedAgoMs = Math.max(0, Math.round(this.#ports.monoMs() - sentMonoMs));
    this.#ports.send({ target: { provider, model }, startedAgoMs, status, ...details });
  }
}

/** Requests of similar length, streamed or not, for `AdaptiveCap`. */
export function sizeClass(promptBytes: number, stream: boolean): number {
  const length = Math.min(31, Math.floor(Math.log2(Math.max(1, promptBytes))));
  return stream ? length : 32 + length;
}

type RawHeaders = readonly (Buffer | string)[];

/** The parts of a 429 besides its headers. */
interface ReportedWait {
  readonly limits: readonly ReportedLimit[];
  /** Null if it names none. */
  readonly waitMs: number | null;
}

/** A longer time must be a mistake of the provider. */
const waitMsMax = 31 * 86_400_000;

type Part = "limit" | "remaining" | "reset";
type LimitFields = Map<string, Partial<Record<Part, string>>>;

/** The limits in the headers of an answer. `nowMs`: the wall clock, for answers without a date. */
export function readReportedLimits(
  rawHeaders: RawHeaders,
  nowMs: number,
): readonly ReportedLimit[] {
  let fields: LimitFields | null = null;
  let date = "";
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i]!;
    // Length and first letter exclude most headers.
    if (raw.length === 4 && latin1Text(raw).toLowerCase() === "date")
      date = latin1Text(rawHeaders[i + 1]!);
    if (raw.length < 9 || !mayBegin(raw)) continue;
    const name = latin1Text(raw).toLowerCase();
    if (!/^(?:x-rate-?limit|anthropic-(?:ratelimit|priority|fast)|ratelimit)/.test(name)) continue;
    fields ??= new Map();
    readHeader(fields, name, latin1Text(rawHeaders[i + 1]!).trim());
  }
  if (fields === null) return noLimits;
  const dateMs = Date.parse(date);
  return limitsOf(fields, Number.isNaN(dateMs) ? nowMs : dateMs);
}

function latin1Text(raw: Buffer | string): string {
  return typeof raw === "string" ? raw : raw.toString("latin1");
}

/** `x`, `a` or `r`, in either case. */
function mayBegin(raw: Buffer | string): boolean {
  const first = (typeof raw === "string" ? raw.charCodeAt(0) : raw[0]!) | 0x20;
  return first === 0x78 || first === 0x61 || first === 0x72;
}

function readHeader(fields: LimitFields, name: string, value: string): void {
  const anthropic =
    /^anthropic-(ratelimit|priority|fast)-([a-z0-9-]+)-(limit|remaining|reset|status|utilization)$/.exec(
      name,
    );
  if (anthropic !== null) {
    const [, family, measure, part] = anthropic;
    const limitName = underscored(family === "ratelimit" ? measure! : `${family!}-${measure!}`);
    return readAnthropic(fields, { name: limitName, part: part!, value });
  }
  // Mistral's limit of tokens, and the usual ones with what they count.
  const bySize = /^(?:x-)?ratelimitbysize-(limit|remaining|reset)(-[a-z]+)?$/.exec(name);
  if (bySize !== null)
    return add(fields, underscored(`tokens${bySize[2] ?? ""}`), bySize[1] as Part, value);
  const usual = /^x-rate-?limit-(limit|remaining|reset)(?:-([a-z0-9_-]+))?$/.exec(name);
  if (usual !== null) {
    const measure = (usual[2] ?? "requests").replace(/^req(?=-|$)/, "requests");
    return add(fields, underscored(measure), usual[1] as Part, value);
  }
  const draft = /^ratelimit-(limit|remaining|reset)$/.exec(name);
  if (draft !== null) return add(fields, "requests", draft[1] as Part, value);
  if (name === "ratelimit" || name === "ratelimit-policy") readFields(fields, value);
}

function underscored(name: string): string {
  return name.replaceAll("-", "_");
}

/**
 * Reads Anthropic's limits. A subscription's limit has a status and the used share instead of
 * counts.
 */
function readAnthropic(
  fields: LimitFields,
  { name, part, value }: { readonly name: string; readonly part: string; readonly value: string },
): void {
  if (part === "status") {
    if (value === "rejected") add(fields, name, "remaining", "0");
  } else if (part === "utilization") {
    const used = Number(value);
    if (!(used >= 0)) return;
    add(fields, name, "limit", "100");
    add(fields, name, "remaining", String(Math.max(0, Math.ceil(100 - used * 100))));
  } else add(fields, name, part as Part, value);
}

/**
 * Reads the fields of the IETF's drafts: `"default";r=50;t=30`, `default;q=100;w=60`, `limit=100,
 * …`.
 */
function readFields(fields: LimitFields, value: string): void {
  if (/^\s*(?:limit|remaining|reset)\s*=/.test(value)) {
    for (const [, part, count] of value.matchAll(/(limit|remaining|reset)\s*=\s*(\d+)/g))
      add(fields, "requests", part as Part, count!);
    return;
  }
  for (const item of value.split(",")) {
    const [policy = "", ...parameters] = item.trim().split(";");
    const quoted = policy.trim().replaceAll('"', "").toLowerCase();
    // Without a policy's name it is a limit on requests.
    const name =
      quoted === "" || quoted === "default" || /^\d+$/.test(quoted) ? "requests" : quoted;
    for (const parameter of parameters) {
      const [, key, count] = /^\s*(q|r|t)\s*=\s*(\d{1,15})\s*$/.exec(parameter) ?? [];
      if (key !== undefined) add(fields, underscored(name), fieldParts[key]!, count!);
    }
  }
}

const fieldParts: Readonly<Record<string, Part>> = { q: "limit", r: "remaining", t: "reset" };

function add(fields: LimitFields, name: string, part: Part, value: string): void {
  if (name.length > limitNameCharsMax) return;
  let parts = fields.get(name);
  if (parts === undefined) {
    if (fields.size >= reportedLimitsMax) return;
    parts = {};
    fields.set(name, parts);
  }
  // `reset: 0` of a status doesn't replace a count.
  parts[part] ??= value;
}

function limitsOf(fields: LimitFields, nowMs: number): readonly ReportedLimit[] {
  const limits: ReportedLimit[] = [];
  for (const [name, { limit, remaining, reset }] of fields) {
    // Azure reports -1 for a limit that it doesn't know.
    if (limit?.startsWith("-") === true || remaining?.startsWith("-") === true) continue;
    const cap = countOf(limit);
    if (cap === 0) continue;
    const remainingCount = countOf(remaining);
    const resetMs = reset === undefined ? null : readResetMs(reset, nowMs);
    if (cap !== null || remainingCount !== null)
      limits.push({ name, limit: cap, remaining: remainingCount, resetMs });
  }
  return limits;
}

/** A count, or the first of a list such as `100, 100;w=60`, which early drafts of the RFC have. */
function countOf(text: string | undefined): number | null {
  const [, digits] = /^(\d{1,15})(?:\.\d+)?(?:\s*[,;].*)?$/.exec(text ?? "") ?? [];
  return digits === undefined ? null : Number(digits);
}

/**
 * The time until a reset: a time of day, Unix time in seconds or milliseconds, seconds, or a
 * duration such as `6m0s`; null for anything else. `nowMs`: the provider's time.
 */
export function readResetMs(text: string, nowMs: number): number | null {
  let ms: number | null = null;
  if (/^\d{4}-\d\d-\d\dT/.test(text)) ms = Date.parse(text) - nowMs;
  else if (/^\d{1,16}(?:\.\d+)?$/.test(text)) {
    const number = Number(text);
    if (number > 1e11) ms = number - nowMs;
    else ms = number > 1e9 ? number * 1000 - nowMs : number * 1000;
  } else ms = durationMs(text);
  if (ms === null || Number.isNaN(ms) || ms > waitMsMax) return null;
  return Math.max(0, Math.ceil(ms));
}

const unitMs: Readonly<Record<string, number>> = {
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
};

/** `2m59.56s`, `12ms`, `1h0m0s`; null for any other text. */
function durationMs(text: string): number | null {
  if (!/^(?:\d{1,12}(?:\.\d{1,12})?(?:ms|[dhms]))+$/.test(text)) return null;
  let ms = 0;
  for (const [, number, unit] of text.matchAll(/(\d{1,12}(?:\.\d{1,12})?)(ms|[dhms])/g))
    ms += Number(number) * unitMs[unit!]!;
  return ms;
}

/** The wait in the headers and in the body of a 429. */
export function readReportedWait(
  rawHeaders: RawHeaders,
  body: string,
  nowMs: number,
): ReportedWait {
  const inHeaders = readReportedLimits(rawHeaders, nowMs);
  const afterMs = readRetryAfterMs(rawHeaders);
  const statedMs = afterMs !== null && afterMs <= waitMsMax ? Math.ceil(afterMs) : null;
  const inBody = readBody(body, nowMs);
  const limits = inHeaders.length > 0 ? inHeaders : inBody.limits;
  return { limits, waitMs: statedMs ?? inBody.waitMs ?? exhaustedMs(limits) };
}

/** Until the last reset of the exhausted limits; null if none has one. */
function exhaustedMs(limits: readonly ReportedLimit[]): number | null {
  let lastMs: number | null = null;
  for (const { remaining, resetMs } of limits)
    if (remaining === 0 && resetMs !== null) lastMs = Math.max(lastMs ?? 0, resetMs);
  return lastMs;
}

const nothingReported: ReportedWait = { limits: noLimits, waitMs: null };

/**
 * Reads Google's details, OpenRouter's headers, a number of seconds, or a sentence that names the
 * wait. In some bodies these aren't inside a member `error`.
 */
function readBody(body: string, nowMs: number): ReportedWait {
  const answer = parseJson(body);
  const first: unknown = Array.isArray(answer) ? answer[0] : answer;
  if (!isObject(first)) return nothingReported;
  const error = isObject(first["error"]) ? first["error"] : first;
  const { details, metadata, message, retry_after_seconds: after } = error;
  const seconds = after ?? first["retry_after_seconds"];
  const statedMs = typeof seconds === "number" ? readResetMs(String(seconds), 0) : null;
  const waitMs = statedMs ?? (Array.isArray(details) ? retryDelayMs(details) : null);
  const inWords = waitMs ?? (typeof message === "string" ? waitInWordsMs(message) : null);
  if (Array.isArray(details)) return { limits: quotasOf(details, inWords), waitMs: inWords };
  const headers = isObject(metadata) ? metadata["headers"] : undefined;
  if (!isObject(headers)) return { limits: noLimits, waitMs: inWords };
  const flat = Object.entries(headers).flatMap(([name, value]) => [name, String(value)]);
  return { limits: readReportedLimits(flat, nowMs), waitMs: inWords };
}

function retryDelayMs(details: readonly unknown[]): number | null {
  for (const detail of details)
    if (isObject(detail) && typeof detail["retryDelay"] === "string")
      return readResetMs(detail["retryDelay"], 0);
  return null;
}

/** `Please retry in 26.66s`, `Please try again in 6m0s`, `Please retry after 45 seconds`. */
function waitInWordsMs(message: string): number | null {
  const [, seconds, duration] =
    /(?:retry|try again) (?:in|after) (?:(\d{1,9}(?:\.\d+)?) seconds?|((?:\d{1,12}(?:\.\d{1,12})?(?:ms|[dhms]))+))/i.exec(
      message,
    ) ?? [];
  if (seconds !== undefined) return readResetMs(seconds, 0);
  return duration === undefined ? null : readResetMs(duration, 0);
}

/** The violated quotas of a Google API. */
function quotasOf(details: readonly unknown[], waitMs: number | null): readonly ReportedLimit[] {
  const limits: ReportedLimit[] = [];
  for (const detail of details) {
    const violations = isObject(detail) ? detail["violations"] : undefined;
    if (!Array.isArray(violations)) continue;
    for (const violation of violations as readonly unknown[]) {
      if (!isObject(violation) || typeof violation["quotaId"] !== "string") continue;
      if (limits.length >= reportedLimitsMax) break;
      const limit = countOf(String(violation["quotaValue"]));
      limits.push({ name: quotaName(violation["quotaId"]), limit, remaining: 0, resetMs: waitMs });
    }
  }
  return limits;
}

/** `GenerateContentPaidTierInputTokensPerModelPerMinute` is `input_tokens_minute`. */
function quotaName(id: string): string {
  const measure = /InputToken/i.test(id)
    ? "input_tokens"
    : /Token/i.test(id)
      ? "tokens"
      : "requests";
  if (/PerDay/i.test(id)) return `${measure}_day`;
  return /PerMinute/i.test(id) ? `${measure}_minute` : measure;
}
