/**
 * The messages to the daemon: each is described once, by the table of its fields in the order of
 * the frame (`wire-kinds.ts`), from which its type, its reader and its writer follow. A frame is
 * `u32be length` + one msgpack array `[kind, field, …]`; `codec.ts` makes the bytes.
 *
 * The daemon closes the connection of a peer that breaks the grammar.
 *
 * A lease is named by the id of its `admit`, which is unique within a proxy's life. `lsn` is the
 * daemon's log sequence number at the admission: it shows a restarted daemon whether its restored
 * windows already hold the request. `targetLsn` is the number under which its target counted the
 * attempt: that of the admission, or of the reroute.
 *
 * A request without a verdict has the number 0 and is counted with its settle. If it needed none
 * because no rule existed, it has `unlimitedLsn`, and no later rule counts it. When the daemon
 * answers again, a proxy sends two reports of each request that still runs without a verdict: a
 * lease with `uncountedLsn`, which holds its slots, and a settle without a lease and tokens, which
 * counts it. The settle that ends such a request has `uncountedLsn`, so that it isn't counted
 * again.
 *
 * Settles of one proxy carry ascending `seq` and are sent in that order, so the number alone
 * identifies a repeat.
 *
 * A submission hands in work that is done elsewhere, such as a batch: the user path's rules count
 * it as one request, it holds no slot, and it counts in no target's rules, so its lease never has a
 * target. A settle doesn't mark it: it moves no slots, and without a target it counts at the path
 * alone.
 */
import { modelNamesMax } from "../access/allowed-models.js";
import {
  auditTextCharsMax,
  candidatesMax,
  connectionsNamedMax,
  leasesPerHello,
  requestIdCharsMax,
  subjectBytesMax,
  usesMax,
} from "../bounds.js";
import { isCount } from "../checked.js";
import { isKeyHash } from "../domain/managed-key.js";
import type { Target } from "../domain/target-name.js";
import { limitNameCharsMax, reportedLimitsMax } from "../domain/upstream-limits.js";
import { isNormalUserPath } from "../domain/user-path.js";
import { toolNamesMax } from "../usage/tool-calls.js";
import { type AdminOp, adminOps, isOperationName } from "./admin-op.js";
import { isSession, recordKind } from "./execution.js";
import {
  anything,
  broken,
  count,
  flag,
  type Kind,
  kindOf,
  listOf,
  message,
  messages,
  nullable,
  oneOf,
  optional,
  orEmpty,
  structure,
  type ValueOf,
} from "./wire-kinds.js";
import { speaks, type WireVersions, wireVersions } from "./wire-versions.js";

/** A model's name in a frame; empty if the request names none. */
export function isModelName(value: unknown): value is string {
  return typeof value === "string" && value.length <= subjectBytesMax;
}

/** A provider's name in a frame. */
export function isName(value: unknown): value is string {
  return isModelName(value) && value.length > 0;
}

const userPath = kindOf(
  (value): value is string => typeof value === "string" && isNormalUserPath(value),
);
const credential = kindOf(
  (value): value is string => value === "authenticated" || value === "none" || isKeyHash(value),
);
const requestId = kindOf(
  (value): value is string => isName(value) && value.length <= requestIdCharsMax,
);
const isProxyId = (value: unknown): value is string =>
  typeof value === "string" && /^[\w-]{1,64}$/.test(value);
const modelName = kindOf(isModelName);
/** As in `Execution`; only if budgets of sessions exist (`session_budgets`). */
const session = optional(kindOf(isSession));
const namedTarget = structure({ provider: kindOf(isName), model: modelName });

/** Tools that a request carries. */
const toolNames = listOf(modelName, toolNamesMax, 1);

/**
 * `[provider, model]`, or `[provider, model, true]` if it has no price; a list of tools follows.
 */
const target: Kind<Target> = {
  read(raw) {
    const parsedTarget = namedTarget.read(raw);
    if (parsedTarget === broken) return broken;
    const fields = raw as readonly unknown[];
    if (fields.length === 2) return parsedTarget;
    const unpriced = fields[2];
    if (typeof unpriced !== "boolean") return broken;
    const { provider, model } = parsedTarget;
    if (fields.length > 3) {
      const tools = toolNames.read(fields[3]);
      if (tools === broken) return broken;
      return { provider, model, tools, ...(unpriced ? { unpriced } : {}) };
    }
    // A spread takes V8 a microsecond.
    return unpriced ? { provider, model, unpriced } : parsedTarget;
  },
  write({ provider, model, unpriced, tools }) {
    if (tools !== undefined) return [provider, model, unpriced === true, tools];
    return unpriced === true ? [provider, model, true] : [provider, model];
  },
};

/** Pico-dollars per token, of the dearest kind that the request may use. */
const rates = structure({ input: count(), output: count() });
export type Rates = ValueOf<typeof rates>;
/** The most that a request may use, for hard caps. */
const metered = structure({
  /** At least the tokens of its prompt. */
  promptTokens: count(),
  /** The client's own maximum of output tokens; null without one. */
  outputMax: nullable(count()),
  /** Whether the output can be cut while it flows; otherwise the allowance is its maximum. */
  isStreamed: flag,
  /** One for each target; null without a price. */
  rates: listOf(nullable(rates), candidatesMax),
});
export type Metered = ValueOf<typeof metered>;

/** The tokens that a running request holds of hard caps. */
const holding = structure({
  promptTokens: count(),
  /** The tokens of output that it may use so far. */
  output: count(),
  /** The rates of its target; null without a price. */
  rates: nullable(rates),
  /** Empty without a managed key. */
  keyId: kindOf(isModelName),
  session,
});

/** The fields of both a lease and a settle. */
const leaseFields = {
  lease: count(),
  userPath,
  admittedAtMs: count(),
  lsn: count(),
  /** The current target; null between a failed target and the next, and for a submission. */
  target: orEmpty(target),
  /** When and under which number the target's rules counted it; 0 if they didn't. */
  targetAtMs: count(),
  targetLsn: count(),
};

const lease = structure(
  {
    ...leaseFields,
    /** A submission holds no slot and counts in no target's rules. */
    submission: flag,
    /** Absent if no hard cap counts it. */
    holding: optional(holding),
  },
  (value) => value.lease !== 0 && !(value.submission && value.target !== null),
);
const leases = listOf(lease, leasesPerHello);

/** The proxy's state of an admitted request: everything that a restarted daemon needs. */
export type Lease = ValueOf<typeof lease>;

const roles = ["proxy", "cli"] as const;
export type Role = (typeof roles)[number];

/** The first message on each connection. */
const hello = message("hello", {
  id: count(),
  wireVersion: count(),
  role: oneOf(roles),
  proxyId: kindOf(isProxyId),
  leases,
  /** Another hello with further leases follows. */
  more: flag,
});
export type Hello = ValueOf<typeof hello>;

/** `[connection, read]` */
const verdictsOfConnection: Kind<readonly [connection: number, read: number]> = {
  read(raw) {
    if (!Array.isArray(raw)) return broken;
    const [connection, read]: readonly unknown[] = raw;
    return isCount(connection, 1) && isCount(read) ? [connection, read] : broken;
  },
};

/**
 * How many admitting verdicts (`admitted`) a proxy has read on its earlier connections: the daemon
 * undoes the counts of the others. It follows the welcome, before any request, and has no answer.
 */
const verdictsRead = message("read", {
  /** The number of this connection among those with a welcome. */
  connection: count(1),
  /** The last connections before it, each with its number. */
  earlier: listOf(verdictsOfConnection, connectionsNamedMax),
});
export type VerdictsRead = ValueOf<typeof verdictsRead>;

/**
 * The claimed identity of a request. `authenticated`: the proxy has checked the caller, whose path
 * is `userPath`. `none`: the caller has no credentials, which is allowed while no key exists.
 * Otherwise it is the SHA-256 of a managed key; `userPath` then applies only if the key isn't bound
 * to a path.
 */
export interface Claimed {
  readonly userPath: string;
  readonly credential: string;
}

/** For how long a request may wait for room instead of being refused. */
const wait = structure({
  /** The wait that the client requested; null to use the default of its path. */
  askedMs: nullable(count()),
  /** The client's timeout; null if unknown. */
  timeoutMs: nullable(count()),
  /** How long it has waited before this question, on another connection. */
  waitedMs: count(),
  /** How often the proxy gets its place (`queued`); absent: never. */
  placeEveryMs: optional(count(1)),
});
export type Wait = ValueOf<typeof wait>;

/**
 * Answered with `admitted`, `refused`, `exceeded`, `denied`, `authorized` or `failed`; before that
 * with `queued` if it waits, and again with its place if `wait` says so.
 */
const admit = message("admit", {
  id: count(),
  userPath,
  /** See `Claimed`. */
  credential,
  /**
   * In order of preference. Empty to judge the path's rules and budgets before the request is read:
   * this counts nothing, and the answer is `authorized` unless they refuse.
   */
  targets: listOf(target, candidatesMax),
  /** Only the user path's rules and the budgets apply; `targets` has its destination. */
  submission: flag,
  /** How many admitting verdicts the proxy has read on this connection. */
  read: count(),
  /**
   * The names by which a key's list may allow the model; empty for a request that doesn't name its
   * model; undefined without a key.
   */
  modelNames: optional(listOf(modelName, modelNamesMax)),
  /** The models to which exhausted rules and budgets have sent the request so far. */
  uses: optional(listOf(modelName, usesMax)),
  /** True if the request can't go to another model. */
  fixed: optional(kindOf((value): value is true => value === true)),
  /** Only if hard caps exist (`hard_limits`). */
  metered: optional(metered),
  /** Absent if it doesn't wait. */
  wait: optional(wait),
  session,
});
export type Admit = ValueOf<typeof admit>;

/**
 * Asks whether a caller is known, for a request that isn't limited. Answered with `authorized` or
 * `denied`; counts nothing.
 */
const authorize = message("authorize", {
  id: count(),
  /** As in `Claimed`. */
  credential,
});
export type Authorize = ValueOf<typeof authorize>;

/** The target of a lease has failed: the first of `targets` with room takes over. */
const reroute = message("reroute", {
  id: count(),
  lease: count(1),
  targets: listOf(target, candidatesMax, 1),
  /** As in `Admit`. */
  read: count(),
  /** As in `Admit`. */
  uses: optional(listOf(modelName, usesMax)),
  /** As in `Admit`, for these targets. */
  metered: optional(metered),
  session,
});
export type Reroute = ValueOf<typeof reroute>;

/**
 * Requests that went to a target without a verdict although the daemon is connected. They hold
 * their slots from now on, as if listed in a hello; a known lease moves to this target. No answer.
 */
const hold = message("hold", { leases });
export type Hold = ValueOf<typeof hold>;

/**
 * What a settle ends. `request`: the request. `progress`: nothing; reports what a running request
 * has used since the last report, which its `request` excludes. `attempt`: the attempt at one
 * target, which failed, while the request tries another. `untried`: nothing; withdraws a target
 * that the daemon chose too late and to which nothing was sent. `withdrawn`: an admission that
 * arrived too late. `cached`: an answer from a proxy's cache, which is recorded but counts nowhere.
 * `final`: the actual usage of a background response, which replaces its estimate.
 */
export const settledParts = [
  "request",
  "progress",
  "attempt",
  "untried",
  "withdrawn",
  "cached",
  "final",
] as const;
export type SettledPart = (typeof settledParts)[number];

const needTarget: ReadonlySet<SettledPart> = new Set(["attempt", "untried", "progress"]);
const haveNoRecord: ReadonlySet<SettledPart> = new Set(["attempt", "untried", "withdrawn"]);
const haveNoLease: ReadonlySet<SettledPart> = new Set(["cached", "final"]);

/**
 * All that is needed to charge a request, even by a daemon that has no record of the lease. Times
 * are relative, since the two clocks may differ.
 */
const settle = message(
  "settle",
  {
    seq: count(1),
    part: oneOf(settledParts),
    /** 0 if the request had no verdict. */
    ...leaseFields,
    startedAgoMs: count(),
    endedAgoMs: count(),
    tokens: count(),
    estimated: flag,
    /**
     * The executed request, for the usage record; null if nothing was executed, or usage is off. If
     * its values are invalid (`flawOf`), the settle counts and the record is dropped.
     */
    record: recordKind,
    /**
     * When the attempt at the target began, for a target that took over without a verdict. Any
     * other attempt began at `targetAtMs`, or with the request.
     */
    targetStartedAgoMs: optional(count()),
  },
  ({ part, lease, target, tokens, record }) => {
    if (target === null ? needTarget.has(part) : haveNoLease.has(part)) return false;
    if (record !== null && haveNoRecord.has(part)) return false;
    return !haveNoLease.has(part) || (lease === 0 && tokens === 0);
  },
);
export type Settle = ValueOf<typeof settle>;

/**
 * A request has ended, but its settle is queued behind others: this frees its slots immediately.
 * Only for a request whose verdicts have all arrived, so that its settle needs no lease. No answer.
 */
const release = message("release", {
  /** The lease. */
  id: count(1),
});
export type Release = ValueOf<typeof release>;

/**
 * Asks for more output of a running request that a hard cap counts. Totals, not differences: a
 * repeat takes nothing twice. Answered with `drawn`.
 */
const draw = message("draw", {
  /** The lease. */
  id: count(1),
  /** The tokens of output that it wants to be allowed in all. */
  total: count(),
  /** The tokens of the prompt, once the provider has reported them. */
  promptTokens: optional(count()),
  /** How long it may wait for tokens that other requests hold; undefined for the longest wait. */
  waitMs: optional(count()),
});
export type Draw = ValueOf<typeof draw>;

/**
 * The client of a `queued` request has disconnected. Answered with `cancelled` if the request still
 * waits. Otherwise its verdict is on the way, and the proxy withdraws an admission.
 */
const cancel = message("cancel", {
  /** The id of the `admit`. */
  id: count(1),
});
export type Cancel = ValueOf<typeof cancel>;

/** Follows a `refused`, so that the daemon can explain the refusal by its request id. No answer. */
const refusal = message("refusal", {
  /** The id of the refused `admit`. */
  id: count(),
  requestId,
  /** As the caller named it; empty if it named none. */
  model: modelName,
});
export type RefusalNote = ValueOf<typeof refusal>;

const reportedLimit = structure({
  name: kindOf((value): value is string => isName(value) && value.length <= limitNameCharsMax),
  limit: nullable(count()),
  remaining: nullable(count()),
  resetMs: nullable(count()),
});

/**
 * The limits in a provider's answer, sent when the answer begins: a settle would come after a long
 * stream, and would repeat outdated limits. No answer; a lost one does no harm.
 */
const reported = message("reported", {
  target: namedTarget,
  /** When the request was sent to the provider. */
  startedAgoMs: count(),
  status: count(),
  limits: listOf(reportedLimit, reportedLimitsMax),
  /** The wait that a 429 requests. */
  waitMs: optional(count()),
  /** How long the answer took to begin, and the class of its request, for adaptive concurrency. */
  firstByteMs: optional(count()),
  size: optional(count()),
});
export type Reported = ValueOf<typeof reported>;

const auditText = kindOf(
  (value): value is string => typeof value === "string" && value.length <= auditTextCharsMax,
);
/** The requester of a change, for the audit log. */
const askedBy = structure({
  /** As in `AuditEntry`. Empty if the daemon can tell, such as for the key that signs in. */
  who: auditText,
  /** The address of the client, or `socket`. */
  from: auditText,
  /** Empty without one. */
  requestId: auditText,
  /** Absent for a caller who may see and change everything; otherwise its subtree. */
  within: optional(userPath),
});
export type Requester = ValueOf<typeof askedBy>;

/** Answered with `answer` or `failed`. */
const admin = message("admin", {
  id: count(),
  op: oneOf(adminOps) satisfies Kind<AdminOp>,
  /** The body of the HTTP API. */
  body: anything,
  /** Absent for operations without an entry in the audit log, if the caller may see everything. */
  by: optional(askedBy),
});
export type Admin = ValueOf<typeof admin>;

const toDaemon = messages([
  admit,
  settle,
  reroute,
  authorize,
  hello,
  verdictsRead,
  hold,
  release,
  cancel,
  refusal,
  reported,
  admin,
  draw,
]);
export type ToDaemon = ValueOf<typeof toDaemon>;

/** A hello of an unsupported version. Fields are null if it has no role or no proxy id. */
export interface UnsupportedHello {
  readonly kind: "unsupported hello";
  readonly id: number;
  readonly wireVersion: number;
  readonly role: Role | null;
  readonly proxyId: string | null;
}

/** An admin operation of another release, with any name. */
export interface UnknownOperation {
  readonly kind: "unknown operation";
  readonly id: number;
  readonly op: string;
}

/** Messages that peers of other releases may send without breaking the grammar. */
export type FromOtherRelease = UnsupportedHello | UnknownOperation;

/** A message as the array that goes on the wire. */
export const writeToDaemon = toDaemon.write;

/** The message in a frame; null if it breaks the grammar. */
export function parseToDaemon(
  frame: unknown,
  versions: WireVersions = wireVersions,
): ToDaemon | FromOtherRelease | null {
  const knownMessage = toDaemon.read(frame);
  if (
    knownMessage !== broken &&
    (knownMessage.kind !== "hello" || speaks(versions, knownMessage.wireVersion))
  )
    return knownMessage;
  return Array.isArray(frame) ? fromOtherRelease(frame, versions) : null;
}

function fromOtherRelease(
  [kind, id, third, ...rest]: readonly unknown[],
  versions: WireVersions,
): FromOtherRelease | null {
  if (!isCount(id)) return null;
  if (kind === "admin" && isOperationName(third) && !isKnown(third) && rest.length > 0)
    return { kind: "unknown operation", id, op: third };
  if (kind !== "hello" || !isCount(third) || speaks(versions, third)) return null;
  const [theirRole, theirId] = rest;
  return {
    kind: "unsupported hello",
    id,
    wireVersion: third,
    role: roles.find((role) => role === theirRole) ?? null,
    proxyId: isProxyId(theirId) ? theirId : null,
  };
}

function isKnown(op: string): boolean {
  return adminOps.some((candidate) => candidate === op);
}
