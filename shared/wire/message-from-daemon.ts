/**
 * The messages from the daemon, each described once, as in `message-to-daemon.ts`. The daemon is
 * trusted, but may be of another release.
 */
import { adminRoles } from "../access/admin-role.js";
import { shadowNamesMax } from "../bounds.js";
import { isCount, isObject } from "../checked.js";
import { budgetScopes } from "../domain/budget.js";
import { deniedClaims } from "../domain/jwt-denial.js";
import { type Measure, measures, scopes } from "../domain/rule.js";
import { dimensions, type Remaining, type SuccessHeaders } from "../domain/verdict.js";
import { errorTypes, type Failure } from "../error-code.js";
import { isMoment } from "../time.js";
import {
  anything,
  broken,
  constant,
  count,
  flag,
  type Kind,
  kindOf,
  listOf,
  type MessageKind,
  message,
  messages,
  nullable,
  oneOf,
  optional,
  orEmpty,
  structure,
  text,
  type ValueOf,
} from "./wire-kinds.js";

const moment = kindOf(isMoment);

const keyOfCaller = structure({
  /** The caller's effective user path. */
  userPath: text,
  keyId: text,
});
/** The daemon's data of a caller's managed key. */
export type KeyOfCaller = ValueOf<typeof keyOfCaller>;

/**
 * Null, or invalid counts, for no headers; otherwise six counts, with 0 for an absent limit, and
 * `[measure, limit, remaining, resetSeconds]` of each measure that has a cap.
 */
const headers: Kind<SuccessHeaders | null> = {
  read(raw) {
    if (!Array.isArray(raw)) return broken;
    const [requestLimit, requestsLeft, requestReset, tokenLimit, tokensLeft, tokenReset, ...more] =
      raw as readonly unknown[];
    if (!isCount(requestLimit) || !isCount(requestsLeft) || !isCount(requestReset)) return null;
    if (!isCount(tokenLimit) || !isCount(tokensLeft) || !isCount(tokenReset)) return null;
    return {
      requests:
        requestLimit > 0
          ? { limit: requestLimit, remaining: requestsLeft, resetSeconds: requestReset }
          : null,
      tokens:
        tokenLimit > 0
          ? { limit: tokenLimit, remaining: tokensLeft, resetSeconds: tokenReset }
          : null,
      ...(more.length === 0 ? {} : { measures: leftOfMeasures(more) }),
    };
  },
  write(value) {
    if (value === null) return [];
    const { requests, tokens, measures: byMeasure } = value;
    const counts: unknown[] = [
      requests?.limit ?? 0,
      requests?.remaining ?? 0,
      requests?.resetSeconds ?? 0,
      tokens?.limit ?? 0,
      tokens?.remaining ?? 0,
      tokens?.resetSeconds ?? 0,
    ];
    if (byMeasure === undefined) return counts;
    for (const [measure, remaining] of Object.entries(byMeasure))
      counts.push([measure, remaining.limit, remaining.remaining, remaining.resetSeconds]);
    return counts;
  },
};

/** Leaves out invalid counts. */
function leftOfMeasures(raw: readonly unknown[]): NonNullable<SuccessHeaders["measures"]> {
  const byMeasure: Partial<Record<Measure, Remaining>> = {};
  for (const item of raw) {
    const [name, limit, remaining, resetSeconds] = Array.isArray(item)
      ? (item as readonly unknown[])
      : [];
    const measure = measures.find((candidate) => candidate === name);
    if (measure !== undefined && isCount(limit, 1) && isCount(remaining) && isCount(resetSeconds))
      byMeasure[measure] = { limit, remaining, resetSeconds };
  }
  return byMeasure;
}

const loopTimes = structure({
  min: count(),
  max: count(),
  /** Of the turns since a user's message; undefined if no rule counts them. */
  turns: optional(structure({ min: count(2), max: count(2) })),
});

/** Answers the last hello. Events with further notices follow. */
const welcome = message("welcome", {
  id: count(),
  daemonVersion: text,
  /** The number of this proxy's last durable settle. */
  settledSeq: count(),
  limited: flag,
  inertRules: count(),
  inertBudgets: count(),
  keysExist: flag,
  /** The number of denied JWTs; if any, events with their list follow. */
  deniedJwts: count(),
  /** True if a managed key is imported, and thus of any form; undefined otherwise. */
  importedKeysExist: optional(flag),
  /** True if a rule or budget is a hard cap, so that requests say what they may use. */
  hardLimits: optional(flag),
  /** When the first rule on loops acts, and when the last; undefined if none does. */
  loopTimes: optional(loopTimes),
  /** True if each session has a budget, so that requests say their session. */
  sessionBudgets: optional(flag),
});
export type Welcome = ValueOf<typeof welcome>;

/** Answers `admit` and `reroute`. */
const admitted = message("admitted", {
  id: count(),
  /** The index into the question's targets. */
  target: count(),
  admittedAtMs: count(),
  lsn: count(),
  headers,
  /** Null for a caller without a managed key, and in the answer to a reroute. */
  key: orEmpty(keyOfCaller),
  /** True if a budget refuses models without a price, and the question has some. */
  pricedOnly: optional(flag),
  /** The exhausted rules and budgets that don't refuse it, in words; absent if there are none. */
  exhausted: optional(text),
  /** The tokens of output that the request may use so far; absent if no hard cap counts it. */
  allowance: optional(count()),
  /** The names of shadow rules that would refuse it, such as `/team minute`; absent if none. */
  shadow: optional(listOf(text, shadowNamesMax)),
  /** The hard cap that gives an answer that isn't streamed less than its maximum, in words. */
  cap: optional(text),
});
export type Admitted = ValueOf<typeof admitted>;

/** Answers `admit` and `reroute`: a rule refuses. */
const refused = message("refused", {
  id: count(),
  scope: oneOf(scopes),
  subject: text,
  periodSeconds: count(),
  dimension: oneOf(dimensions),
  cap: count(),
  waitSeconds: count(1),
  /** As in `Admitted`. */
  key: orEmpty(keyOfCaller),
  /** The models that the rule is for, if not all. */
  models: optional(text),
  /** The hours of the rule, if it has some. */
  when: optional(text),
  /** As in `Breach`. */
  use: optional(text),
  /** As in `Breach`. */
  share: optional(text),
  limitName: optional(text),
  above: optional(text),
});
export type Refused = ValueOf<typeof refused>;

/** Answers `admit` and `reroute`: a budget refuses. */
const exceeded = message("exceeded", {
  id: count(),
  dimension: constant("budget"),
  scope: oneOf(budgetScopes),
  subject: text,
  periodSeconds: count(),
  spentUsd: kindOf((value): value is number => typeof value === "number" && value >= 0),
  amountUsd: kindOf((value): value is number => typeof value === "number" && value >= 0),
  waitSeconds: count(1),
  /** What is left without this request. */
  headers,
  /** As in `Admitted`. */
  key: orEmpty(keyOfCaller),
  /** The models that the budget is for, if not all. */
  models: optional(text),
  rolling: optional(kindOf((value): value is true => value === true)),
  /** As in `Breach`. */
  use: optional(text),
  above: optional(text),
});
export type Exceeded = ValueOf<typeof exceeded>;

/** Answers `admit` at first: the request waits for room, and its verdict follows. */
const queued = message("queued", {
  id: count(),
  /** Its turn, from 1, once it has waited for `Wait.placeEveryMs`; absent before. */
  position: optional(count(1)),
  /** The expected wait from now on; absent if it isn't known. */
  expectedMs: optional(count()),
});
export type Queued = ValueOf<typeof queued>;

/** Answers `cancel`: the request no longer waits, and no verdict follows. */
const cancelled = message("cancelled", { id: count() });

const endedKey = structure({
  keyId: text,
  /** Null if it was deactivated. */
  expiredAtMs: nullable(moment),
});
/** A managed key that is no longer accepted; its holder may learn when it expired. */
export type EndedKey = ValueOf<typeof endedKey>;

/** Answers `admit` and `authorize`. */
const denied = message("denied", {
  id: count(),
  /** Null if no key is known by the credential. */
  ended: orEmpty(endedKey),
});
export type Denied = ValueOf<typeof denied>;

/** Answers `authorize`, and an `admit` without targets. */
const authorized = message("authorized", {
  id: count(),
  /** The path that the key is bound to; empty if it is bound to none, or there is no key. */
  userPath: text,
  /** Empty if there is no key. */
  keyId: text,
  /** The models that the key may use; undefined for any. */
  models: optional(listOf(text, Number.POSITIVE_INFINITY)),
  /** Only of a key of administration, which opens /admin and no model. */
  role: optional(oneOf(adminRoles)),
});
export type Authorized = ValueOf<typeof authorized>;

/** Answers `draw`. */
const drawn = message("drawn", {
  /** The lease. */
  id: count(1),
  /** The tokens of output that the request may use so far; no draw lowers them. */
  total: count(),
  /** The hard cap that ends the request, in words: it gets no more than `total`. */
  cap: optional(text),
});
export type Drawn = ValueOf<typeof drawn>;

/** All settles up to `seq` are durable. */
const settled = message("settled", { seq: count() });

/** Answers `admin`. */
const answer = message("answer", { id: count(), body: anything });
export type Answer = ValueOf<typeof answer>;

const failure: Kind<Failure> = {
  read(raw) {
    if (!isObject(raw)) return broken;
    const { status, type, message, code, param, provider } = raw;
    const knownType = errorTypes.find((name) => name === type);
    if (
      !isCount(status, 400) ||
      status > 599 ||
      knownType === undefined ||
      typeof message !== "string"
    )
      return broken;
    if (!isTextOrNull(code) || !isTextOrNull(param) || !isTextOrNull(provider)) return broken;
    return { status, type: knownType, message, code, param, provider };
  },
};

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}

/**
 * Answers `admin`, and an `admit` or a `reroute` that the daemon can't accept. Also answers a hello
 * of an unsupported version; the daemon then accepts only settle messages.
 */
const failed = message("failed", { id: count(), failure });
export type Failed = ValueOf<typeof failed>;

const jwtName = { claim: oneOf(deniedClaims), value: text, issuer: nullable(text) };
const jwtChange = structure({
  denied: listOf(
    structure({ ...jwtName, expiresAtMs: nullable(moment) }),
    Number.POSITIVE_INFINITY,
  ),
  allowed: listOf(structure(jwtName), Number.POSITIVE_INFINITY),
  /** Ends the list after a welcome: JWTs that it doesn't contain are no longer denied. */
  complete: flag,
});
/** A change of the list of denied JWTs. */
export type JwtChange = ValueOf<typeof jwtChange>;

/** The values of events by name. */
const eventValues = {
  /** Whether any rule or budget exists, so that requests need a verdict. */
  limited: flag,
  /** The number of inert rules and budgets. */
  inert_rules: count(),
  inert_budgets: count(),
  /** When the last backup was made; after a welcome only if known. */
  last_backup: moment,
  /** A managed key exists, so that callers without credentials are denied. */
  keys_exist: kindOf((value): value is true => value === true),
  /** Whether a managed key is imported, and thus of any form. */
  imported_keys_exist: flag,
  /** Whether any rule or budget is a hard cap. */
  hard_limits: flag,
  /** Whether each session has a budget. */
  session_budgets: flag,
  /** When the first rule on loops acts, and when the last; null if none does. */
  loop_times: nullable(loopTimes),
  /** The whole list follows a welcome, unless it is empty. */
  jwts_denied: jwtChange,
  /** Why the store can't be written, null once it can; after a welcome only if it can't. */
  store_failing: nullable(text),
  /** Likewise why the engine that hosts share can't be reached. */
  cluster_failing: nullable(text),
};
type EventName = keyof typeof eventValues;

/** Sent to every proxy when the value changes. */
export type DaemonEvent = {
  [N in EventName]: {
    readonly kind: "event";
    readonly name: N;
    readonly value: ValueOf<(typeof eventValues)[N]>;
  };
}[EventName];

/** An event of a later release, which is ignored. */
export interface UnknownEvent {
  readonly kind: "unknown event";
}

const eventKinds: ReadonlyMap<unknown, Kind<unknown>> = new Map(
  Object.entries(eventValues) as [string, Kind<unknown>][],
);

const event: MessageKind<DaemonEvent> = {
  kind: "event",
  read(frame) {
    const [, name, raw] = frame as readonly unknown[];
    const kind = eventKinds.get(name);
    const value = kind === undefined ? broken : kind.read(raw);
    return value === broken ? broken : ({ kind: "event", name, value } as DaemonEvent);
  },
  write: ({ name, value }) => ["event", name, eventKinds.get(name)!.write?.(value) ?? value],
};

const fromDaemon = messages([
  admitted,
  settled,
  refused,
  exceeded,
  queued,
  cancelled,
  denied,
  authorized,
  welcome,
  answer,
  failed,
  event,
  drawn,
]);
export type FromDaemon = ValueOf<typeof fromDaemon>;

/** A message as the array that goes on the wire. */
export const writeFromDaemon = fromDaemon.write;

/** The message in a frame; null if it breaks the grammar. */
export function parseFromDaemon(frame: unknown): FromDaemon | UnknownEvent | null {
  if (isUnknownEvent(frame)) return { kind: "unknown event" };
  const knownMessage = fromDaemon.read(frame);
  return knownMessage === broken ? null : knownMessage;
}

function isUnknownEvent(frame: unknown): boolean {
  if (!Array.isArray(frame) || frame[0] !== "event") return false;
  const name: unknown = frame[1];
  return typeof name === "string" && !eventKinds.has(name);
}
