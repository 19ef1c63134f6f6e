/**
 * Collects the facts of requests that the daemon stores beside usage records, and reports them once
 * a second (`shared/wire/request-report.ts`). A plain success costs a few additions. Details are
 * collected only of requests that failed, were refused, or have something that no usage record
 * contains.
 */
import {
  type FailureKind,
  failureKinds,
  type RequestKind,
  requestKinds,
} from "../../shared/api/request-item.js";
import { redactKeys } from "../../shared/domain/managed-key.js";
import { costUsd } from "../../shared/domain/money.js";
import type { Target } from "../../shared/domain/target-name.js";
import {
  agentsPerReport,
  bucketsMax,
  detailsPerReport,
  messageCharsMax,
  type RequestReport,
  type SparseCounts,
  type TargetReport,
  targetsPerReport,
  textCharsMax,
} from "../../shared/wire/request-report.js";
import type { Limiter } from "../limiter/client/limiter-client.js";
import type { RequestRecord } from "../request-record.js";
import type { ForwardResult } from "../upstream/forwarded.js";
import { other } from "./labels.js";
import type { EndedAttempt } from "./proxy-counts.js";

interface ReportPorts {
  readonly limiter: Pick<Limiter, "call" | "reachable">;
  readonly monoMs: () => number;
  /** Runs `run` after `ms`, without keeping the process alive. */
  readonly schedule: (ms: number, run: () => void) => void;
}

/** Interval of reports while there are requests. */
const reportMs = 1000;
/** Sessions whose agents are remembered, and after which time they are reported again. */
const sessionsMax = 2000;
const agentAgainMs = 3_600_000;

interface Detail {
  readonly endedMonoMs: number;
  readonly report: RequestReport;
}

export class RequestReports {
  readonly #ports: ReportPorts;
  /** Whether details are kept. */
  readonly #keepsDetails: boolean;
  readonly keepsTexts: boolean;
  #waitingDetails: Detail[] = [];
  #requestCounts = requestKinds.map(() => 0);
  #tokens = 0;
  #cost = 0;
  readonly #ownUs = new Uint32Array(bucketsMax);
  readonly #targets = new Map<string, Map<string, TargetTraffic>>();
  #targetCount = 0;
  #agents: (readonly [string, string, string])[] = [];
  readonly #sessions = new Map<string, number>();
  #isScheduled = false;
  #isEmpty = true;

  /** `keepsTexts`: whether details include the messages of errors, which may quote a prompt. */
  constructor(
    ports: ReportPorts,
    { keepsDetails, keepsTexts }: { readonly keepsDetails: boolean; readonly keepsTexts: boolean },
  ) {
    this.#ports = ports;
    this.#keepsDetails = keepsDetails;
    this.keepsTexts = keepsTexts;
  }

  /** Counts an attempt at a target. */
  noteAttempt(attempt: EndedAttempt): void {
    this.#trafficOf(attempt.target).add(attempt, this.keepsTexts);
    this.#schedule();
  }

  /** A request is about to be sent to its first target; `ms`: the time that the proxy took. */
  notePreparation(ms: number): void {
    this.#ownUs[bucketOf(ms * 1000)]!++;
    this.#schedule();
  }

  /** Counts a request that has ended. */
  noteRequest(kind: RequestKind, { usage, cost }: Pick<RequestRecord, "usage" | "cost">): void {
    this.#requestCounts[requestKinds.indexOf(kind)]!++;
    if (usage !== null) this.#tokens += usage.totalTokens;
    if (cost !== null) this.#cost += costUsd(cost);
    this.#schedule();
  }

  /** Whether there is room for details. Minor ones take at most a quarter of it. */
  hasRoom(importance: "minor" | "major"): boolean {
    const max = importance === "minor" ? detailsPerReport / 4 : detailsPerReport;
    return this.#keepsDetails && this.#waitingDetails.length < max;
  }

  /** Adds the details of a request; only while there is room. */
  add(report: RequestReport, endedMonoMs: number): void {
    this.#waitingDetails.push({ report, endedMonoMs });
    this.#schedule();
  }

  /** The client of a session. Others on other paths may have chosen the same name. */
  noteAgent(
    { session, userPath }: { readonly session: string; readonly userPath: string },
    agent: string,
    nowMonoMs: number,
  ): void {
    const id = `${userPath}\n${session}`;
    const knownMs = this.#sessions.get(id);
    if (knownMs !== undefined && nowMonoMs - knownMs < agentAgainMs) return;
    if (this.#agents.length >= agentsPerReport) return;
    this.#sessions.delete(id);
    this.#sessions.set(id, nowMonoMs);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > sessionsMax && oldest !== undefined) this.#sessions.delete(oldest);
    this.#agents.push([
      session.slice(0, textCharsMax),
      agent.slice(0, textCharsMax),
      userPath.slice(0, textCharsMax),
    ]);
  }

  /** Sends the collected report. */
  async flush(): Promise<void> {
    if (this.#isEmpty) return;
    this.#isEmpty = true;
    const { limiter, monoMs } = this.#ports;
    const nowMonoMs = monoMs();
    const targets: TargetReport[] = [];
    for (const byModel of this.#targets.values())
      for (const traffic of byModel.values())
        if (traffic.attempts > 0) targets.push(traffic.take(nowMonoMs));
    const body = {
      requests: this.#waitingDetails.map(({ endedMonoMs, report }) => [
        Math.max(0, Math.round(nowMonoMs - endedMonoMs)),
        report,
      ]),
      counts: this.#requestCounts,
      tokens: this.#tokens,
      cost: this.#cost,
      targets,
      own_us: sparseCounts(this.#ownUs),
      agents: this.#agents,
    };
    this.#waitingDetails = [];
    this.#requestCounts = requestKinds.map(() => 0);
    this.#tokens = 0;
    this.#cost = 0;
    this.#ownUs.fill(0);
    this.#agents = [];
    // Drops targets that are no longer used.
    if (this.#targetCount > targetsPerReport / 2) {
      this.#targets.clear();
      this.#targetCount = 0;
    }
    // A lost report leaves a gap of a second.
    await limiter.call("requests.report", body);
  }

  #schedule(): void {
    this.#isEmpty = false;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#ports.schedule(reportMs, () => {
      this.#isScheduled = false;
      // Without the daemon, counts gather until it is back.
      if (this.#ports.limiter.reachable) void this.flush();
      else this.#schedule();
    });
  }

  #trafficOf({ provider, model }: Target): TargetTraffic {
    const existing = this.#targets.get(provider)?.get(model);
    if (existing !== undefined) return existing;
    const isFull = this.#targetCount >= targetsPerReport;
    if (isFull && model !== other) return this.#trafficOf({ provider, model: other });
    const byModel = this.#targets.get(isFull ? other : provider) ?? new Map();
    this.#targets.set(isFull ? other : provider, byModel);
    const report = byModel.get(model);
    if (report !== undefined) return report;
    const traffic = new TargetTraffic(isFull ? other : provider, model.slice(0, textCharsMax));
    byModel.set(model, traffic);
    if (!isFull) this.#targetCount++;
    return traffic;
  }
}

/** What one target has done since the last report. */
class TargetTraffic {
  readonly #provider: string;
  readonly #model: string;
  attempts = 0;
  #failures = failureKinds.map(() => 0);
  readonly #firstByteTimes = new Uint32Array(bucketsMax);
  readonly #wholeTimes = new Uint32Array(bucketsMax);
  #tokens = 0;
  #tokenMs = 0;
  #lastError: { readonly text: string; readonly monoMs: number } | null = null;

  constructor(provider: string, model: string) {
    this.#provider = provider;
    this.#model = model;
  }

  add({ startedMonoMs, endedMonoMs, stream, forwarded }: EndedAttempt, keepsTexts: boolean): void {
    const { usage, estimated, firstByteMonoMs } = forwarded;
    this.attempts++;
    const kind = failureKindOf(forwarded);
    if (kind !== null) {
      this.#failures[failureKinds.indexOf(kind)]!++;
      this.#lastError = { text: errorText(forwarded, kind, keepsTexts), monoMs: endedMonoMs };
      return;
    }
    this.#wholeTimes[bucketOf(endedMonoMs - startedMonoMs)]!++;
    if (firstByteMonoMs === null) return;
    this.#firstByteTimes[bucketOf(firstByteMonoMs - startedMonoMs)]!++;
    const streamedMs = Math.round(endedMonoMs - firstByteMonoMs);
    if (!stream || usage === null || estimated || streamedMs <= 0) return;
    this.#tokens += usage.outputTokens;
    this.#tokenMs += streamedMs;
  }

  take(nowMonoMs: number): TargetReport {
    const error = this.#lastError;
    const report: TargetReport = {
      provider: this.#provider,
      model: this.#model,
      attempts: this.attempts,
      failures: this.#failures,
      first: sparseCounts(this.#firstByteTimes),
      whole: sparseCounts(this.#wholeTimes),
      tokens: this.#tokens,
      token_ms: this.#tokenMs,
      ...(error === null
        ? {}
        : {
            last_error: error.text,
            last_error_ago_ms: Math.max(0, Math.round(nowMonoMs - error.monoMs)),
          }),
    };
    this.attempts = 0;
    this.#failures = failureKinds.map(() => 0);
    this.#firstByteTimes.fill(0);
    this.#wholeTimes.fill(0);
    this.#tokens = 0;
    this.#tokenMs = 0;
    this.#lastError = null;
    return report;
  }
}

/** The bucket of a time in milliseconds or microseconds: four buckets for each power of two. */
function bucketOf(time: number): number {
  return time <= 1 ? 0 : Math.min(bucketsMax - 1, Math.ceil(4 * Math.log2(time)));
}

function sparseCounts(counts: Uint32Array): SparseCounts {
  const pairs: number[] = [];
  for (let bucket = 0; bucket < counts.length; bucket++)
    if (counts[bucket]! > 0) pairs.push(bucket, counts[bucket]!);
  return pairs;
}

type FailedAttempt = Pick<ForwardResult, "status" | "outcome" | "hasTimedOut" | "error">;

/** Null for an answer, and for an end that isn't the provider's fault. */
export function failureKindOf({
  status,
  outcome,
  hasTimedOut,
  error,
}: FailedAttempt): FailureKind | null {
  const isOurs = outcome !== "upstream_error" && outcome !== "upstream_cut";
  if (isOurs && (outcome !== "complete" || status < 400)) return null;
  if (outcome === "upstream_cut") return hasTimedOut === true ? "timeout" : "cut";
  const providerStatus = error?.status ?? status;
  if (providerStatus === 0) return status === 504 ? "timeout" : "unreachable";
  if (providerStatus === 429) return "rate_limited";
  if (providerStatus === 401 || providerStatus === 402 || providerStatus === 403)
    return "credentials";
  if (providerStatus === 408 || providerStatus === 504) return "timeout";
  return providerStatus >= 400 && providerStatus < 500 ? "invalid_request" : "server_error";
}

function errorText(
  { status, error }: FailedAttempt,
  kind: FailureKind,
  keepsTexts: boolean,
): string {
  if (error == null) return `${kind} ${status}`;
  const { status: providerStatus, code, message } = error;
  const text = keepsTexts ? redactedWords(message) : (code ?? kind);
  return redactKeys(`${providerStatus === 0 ? "" : `${providerStatus} `}${text}`).slice(
    0,
    messageCharsMax,
  );
}

const errnoTexts: Readonly<Record<string, string>> = {
  ECONNRESET: "the provider reset the connection",
  ECONNREFUSED: "the provider refuses connections",
  EPIPE: "the provider closed the connection",
  ENOTFOUND: "the provider's host name is unknown",
  ETIMEDOUT: "the provider didn't answer in time",
};

/** A message in which codes of Node are replaced by words. */
export function redactedWords(message: string): string {
  return message.replace(/\bE[A-Z]{4,}\b/g, (code) => errnoTexts[code] ?? code);
}
