/**
 * Fourteen days of a hundred tenants, written through the product's own functions: usage records
 * with their sums, the history of targets, and requests that failed or were refused.
 */
import { openLmdbStore } from "../../../limiterd/store/lmdb/open-lmdb-store.js";
import { RequestBook } from "../../../limiterd/usage/request-book.js";
import { TrafficBook } from "../../../limiterd/usage/traffic-book.js";
import type { UsageRecord } from "../../../limiterd/usage/usage-records.js";
import { failureKinds, requestKinds } from "../../../shared/api/request-item.js";
import { dayMs } from "../../../shared/time.js";
import type { RequestReport } from "../../../shared/wire/request-report.js";
import { recordAt, seedUsage } from "../../support/seed-usage.js";
import { type DemoTenant, demoTargets, tenants } from "./tenants.js";

const days = 14;
const records = 40_000;
const failures = 900;
const hourMs = 3_600_000;
const minuteMs = 60_000;

/** The same seed, the same history. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export async function seedHistory(dataDir: string, endMs: number): Promise<void> {
  const random = randomOf(33);
  await seedUsage(dataDir, {
    records,
    days,
    endMs,
    recordOf: (i) => record(i, endMs, random),
  });
  const store = await openLmdbStore(dataDir);
  const traffic = new TrafficBook();
  const requests = new RequestBook(10_000);
  for (let atMs = endMs - days * dayMs; atMs < endMs; ) {
    const isRecent = atMs >= endMs - dayMs;
    const stepMs = isRecent ? minuteMs : hourMs;
    traffic.add(store, trafficAt(atMs, stepMs / hourMs, random), atMs);
    // A commit for each step: cells that are over leave the memory.
    if (!isRecent || atMs % (20 * minuteMs) < minuteMs)
      await store.commit(traffic.changes(store, atMs));
    atMs += stepMs;
  }
  const details = Array.from({ length: failures }, (_, i) => {
    const atMs = endMs - Math.floor(((failures - 1 - i) * days * dayMs) / failures);
    return requests.add(failure(i, random), atMs);
  });
  await store.commit([...traffic.changes(store, endMs), ...details.flat()]);
  await store.close();
}

/** Requests follow the day, and a few tenants make most of them. */
function record(i: number, endMs: number, random: () => number): UsageRecord {
  const base = recordAt(i, { records, days, endMs });
  const tenant = pick(random);
  const [provider, model] = demoTargets[Math.floor(random() ** 2 * demoTargets.length)]!;
  const inputTokens = 200 + Math.floor(random() * 4_000);
  const outputTokens = 50 + Math.floor(random() * 900);
  const inputCost = inputTokens * 2_500_000;
  const outputCost = outputTokens * 12_000_000;
  const hour = new Date(base.atMs).getUTCHours();
  const atMs = hour < 6 && random() < 0.7 ? base.atMs - 8 * hourMs : base.atMs;
  return {
    ...base,
    atMs: Math.max(endMs - days * dayMs, atMs),
    requestId: `req_demo_${i.toString(36)}`,
    userPath: tenant.path,
    keyId: tenant.keyNumber === null ? "" : `key_${tenant.keyNumber}`,
    provider,
    model,
    inputTokens,
    outputTokens,
    inputCost,
    outputCost,
    totalCost: inputCost + outputCost,
    latencyMs: 400 + Math.floor(random() * 6_000),
    firstByteMs: 150 + Math.floor(random() * 900),
    session: random() < 0.1 ? `session-${Math.floor(i / 40)}` : "",
  };
}

function pick(random: () => number): DemoTenant {
  return tenants[Math.floor(random() ** 2.2 * tenants.length)]!;
}

function trafficAt(atMs: number, hours: number, random: () => number) {
  const hour = new Date(atMs).getUTCHours();
  const busy = (hour < 6 ? 0.3 : 1) * hours * (80 + random() * 80);
  const counts = requestKinds.map((kind) =>
    Math.round(
      busy * (kind === "answered" ? 1 : kind === "refused" ? 0.04 : 0.02) + random() * 0.4,
    ),
  );
  return {
    counts,
    tokens: Math.round(busy * 2_400),
    cost: busy * 0.012,
    targets: demoTargets.map(([provider, model], at) => {
      const attempts = Math.round(busy / (at + 1.5));
      // One provider was down for some hours.
      const isDown = provider === "groq" && hour >= 9 && hour < 11;
      const failed = isDown ? Math.round(attempts * 0.6) : random() < 0.1 * hours ? 1 : 0;
      return {
        provider,
        model,
        attempts,
        failures: failureKinds.map((kind) => (kind === "server_error" ? failed : 0)),
        first: attempts === 0 ? [] : [32 + at, attempts],
        whole: attempts === 0 ? [] : [44 + at, attempts],
        tokens: attempts * 300,
        token_ms: attempts * 4_000,
        ...(failed === 0 ? {} : { last_error: "503 The server is overloaded" }),
      };
    }),
  };
}

function failure(i: number, random: () => number): RequestReport {
  const tenant = pick(random);
  const [provider, model] = demoTargets[Math.floor(random() * demoTargets.length)]!;
  const isRefused = random() < 0.5;
  const common = {
    request_id: `req_demo_failure_${i}`,
    method: "POST",
    path: "/v1/chat/completions",
    user_path: tenant.path,
    model: `${provider}/${model}`,
    target: `${provider}/${model}`,
    duration_ms: 200 + Math.floor(random() * 2_000),
    ...(tenant.keyNumber === null ? {} : { key_id: `key_${tenant.keyNumber}` }),
  };
  if (isRefused)
    return {
      ...common,
      kind: "refused",
      status: 429,
      outcome: "rate_limited",
      error_code: "rate_limit_exceeded",
      error_message: `rate limit exceeded for ${tenant.path}: minute request limit of 60 reached`,
    };
  return {
    ...common,
    kind: "failed",
    status: 502,
    outcome: "provider_error",
    error_message: "The server is overloaded, please try again later.",
    attempts: [
      { target: `${provider}/${model}`, status: 503, duration_ms: 900, reason: "server_error" },
      {
        target: `${provider}/${model}`,
        status: 503,
        duration_ms: 800,
        reason: "server_error",
        retry: 1,
        delivered: true,
      },
    ],
  };
}
