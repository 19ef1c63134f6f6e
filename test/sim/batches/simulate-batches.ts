/**
 * Batches are reserved, submitted, withdrawn and ended, while the daemon restarts and the rules
 * change. The oracle has a list of all batches: after each step the enqueued tokens of every path
 * must be the sum of its unfinished batches, and a batch must be refused exactly if it doesn't fit.
 */
import { capsOnBatches } from "../../../limiterd/lists/list-queues.js";
import { RuleBook } from "../../../limiterd/rules/rule-book.js";
import type { DaemonState } from "../../../limiterd/state.js";
import { PendingResponses } from "../../../limiterd/usage/pending-responses.js";
import type { RuleKey } from "../../../shared/domain/rule.js";
import { executed, target } from "../../limiterd/in-memory-daemon.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { createRandom } from "../random.js";
import type { SimulationResult } from "../simulate.js";
import { Trace } from "../trace.js";

interface Batch {
  readonly id: string;
  readonly path: string;
  readonly tokens: number;
  /** When it was reserved or submitted. */
  atMs: number;
  state: "reserved" | "submitted" | "over";
}

/** The rule of a path. */
interface Capped {
  readonly path: string;
  readonly perChild: boolean;
  /** Null: it caps only requests. */
  readonly tokens: number | null;
}

const steps = 400;
const paths = ["/", "/a", "/a/b", "/a/b/c", "/ab", "/c"];
const hourMs = 3_600_000;
const bounds = { lookMs: 60_000, waitMs: 24 * hourMs, max: 1000 };
/** docs/which-limit.md, "Batches", and the time that a submission may take. */
const [batchMs, submissionMs] = [50 * hourMs, 900_000];

function isWithin(path: string, above: string): boolean {
  return `${path}/`.startsWith(above === "/" ? "/" : `${above}/`);
}

export async function simulateBatches(seed: number): Promise<SimulationResult> {
  const random = createRandom(seed);
  const trace = new Trace(40);
  const store = createMemoryStore();
  const batches: Batch[] = [];
  const book = new RuleBook();
  const rules = new Map<string, Capped>();
  const settings = { rateLimitsEnabled: true, usageEnabled: true } as DaemonState["settings"];
  let pending = new PendingResponses(bounds);
  let nowMs = Date.parse("2026-03-10T12:00:00Z");
  const { provider, model } = target;

  const note = (kind: string, line: string): void => trace.note(kind, `${kind} ${line}`);
  const enqueued = (above: string): number =>
    batches
      .filter(({ path, state }) => state !== "over" && isWithin(path, above))
      .reduce((sum, { tokens }) => sum + tokens, 0);
  const key = (path: string): RuleKey => ({ scope: "user_path", subject: path, periodSeconds: 0 });
  const changeRule = (path: string): void => {
    if (random.chance(0.3)) {
      rules.delete(path);
      book.delete(key(path));
      return note("deleted", path);
    }
    const tokens = random.chance(0.7) ? random.int(200, 2000) : null;
    const rule = { path, perChild: random.chance(0.4), tokens };
    const maxRequests = tokens === null || random.chance(0.5) ? random.int(1, 9) : null;
    const caps = tokens === null ? {} : { measureCaps: { enqueued_tokens: tokens } };
    const { perChild } = rule;
    const definition = { ...key(path), maxRequests, maxTokens: null, perChild, ...caps };
    rules.set(path, rule);
    book.put(definition, { source: "manual", nowMs, lsn: 0 });
    note("put", JSON.stringify(rule));
  };
  /** The path whose batches a rule caps together with one of this path; null if it caps none. */
  const cappedPath = (path: string, rule: Capped): string | null => {
    if (rule.tokens === null || !isWithin(path, rule.path)) return null;
    if (!rule.perChild) return rule.path;
    const names = path.split("/").filter((name) => name !== "");
    const depth = rule.path.split("/").filter((name) => name !== "").length;
    return names.length === depth ? null : `/${names.slice(0, depth + 1).join("/")}`;
  };
  const someBatch = (state: Batch["state"]): Batch | undefined => {
    const known = batches.filter((batch) => batch.state === state);
    if (known.length === 0) return undefined;
    // Reservations have no names: of several with the same path and tokens, the oldest ends first.
    const { path, tokens } = random.pick(known);
    return known.find((batch) => batch.path === path && batch.tokens === tokens);
  };

  const step = async (): Promise<string | null> => {
    const kind = random.pick([
      ...["enqueue", "enqueue", "enqueue", "submit", "submit", "withdraw", "end", "end", "forget"],
      ...["restart", "wait", "rule", "rule"],
    ] as const);
    if (kind === "rule") {
      changeRule(random.pick(paths));
      return null;
    }
    if (kind === "enqueue") {
      const path = random.pick(paths);
      const tokens = random.int(0, 400);
      const breached = [...rules.values()]
        .toSorted((a, b) => (a.path < b.path ? -1 : 1))
        .map((rule) => ({ path: cappedPath(path, rule), tokens: rule.tokens ?? 0 }))
        .find((cap) => cap.path !== null && enqueued(cap.path) + tokens > cap.tokens);
      const caps = capsOnBatches({ book, settings }, path, nowMs);
      const found = pending.reserve({ userPath: path, tokens }, caps, nowMs);
      const expected =
        breached === undefined ? null : { cap: breached, enqueued: enqueued(breached.path!) };
      if (JSON.stringify(found) !== JSON.stringify(expected))
        return `a batch of ${tokens} on ${path} gets ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`;
      note(breached === undefined ? "admitted" : "refused", `${tokens} on ${path}`);
      if (breached !== undefined) return null;
      batches.push({ id: `batch_${batches.length}`, path, tokens, atMs: nowMs, state: "reserved" });
      return null;
    }
    if (kind === "submit") {
      const batch = someBatch("reserved");
      if (batch === undefined) return null;
      Object.assign(batch, { state: "submitted", atMs: nowMs });
      const record = {
        ...executed(),
        userPath: batch.path,
        provider,
        model,
        estimated: false,
        atMs: nowMs,
      };
      await store.commit(pending.add(batch.id, record, nowMs, batch.tokens));
      note("submitted", batch.id);
    } else if (kind === "withdraw") {
      const batch = someBatch("reserved");
      if (batch === undefined) return null;
      batch.state = "over";
      pending.endReservation({ userPath: batch.path, tokens: batch.tokens });
      note("withdrawn", batch.id);
    } else if (kind === "end" || kind === "forget") {
      const batch = someBatch("submitted");
      if (batch === undefined) return null;
      batch.state = "over";
      const taken = kind === "end" ? pending.take(provider, batch.id, nowMs) : undefined;
      await store.commit(taken ? [taken.change] : pending.forget(provider, batch.id));
      note("ended", batch.id);
    } else if (kind === "wait") {
      nowMs += random.pick([1000, 600_000, 10 * hourMs]);
      await store.commit(pending.expire(nowMs));
      for (const batch of batches) {
        const isOver =
          (batch.state === "submitted" && batch.atMs + batchMs <= nowMs) ||
          (batch.state === "reserved" && batch.atMs + submissionMs <= nowMs);
        if (isOver) batch.state = "over";
      }
      note("waited", String(nowMs));
    } else {
      pending = new PendingResponses(bounds);
      pending.restore(store, nowMs);
      // A restart ends reservations.
      for (const batch of batches) if (batch.state === "reserved") batch.state = "over";
      note("restarted", "");
    }
    return null;
  };

  let violation: string | null = null;
  for (let i = 0; i < steps && violation === null; i++) {
    violation = await step();
    for (const path of paths) {
      const found = pending.enqueuedAt(path, nowMs);
      if (found !== enqueued(path))
        violation ??= `${path} has ${found} enqueued tokens, not ${enqueued(path)}`;
    }
  }
  return trace.result(seed, violation);
}
