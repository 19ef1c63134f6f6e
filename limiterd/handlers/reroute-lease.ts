/**
 * A reroute, in one step: frees the slots of the failed target and counts the request at the next
 * target with room. The user path keeps its slots.
 */
import type { Target } from "../../shared/domain/target-name.js";
import type { Metered, Reroute } from "../../shared/wire/message-to-daemon.js";
import type { Counter } from "../counters/counter.js";
import {
  acknowledgeVerdicts,
  type HeldLease,
  type KnownProxy,
  noteVerdict,
  type PeerState,
} from "../peer.js";
import { admitShadows, readmit, type ShadowVerdict, type Verdict } from "../rules/admit.js";
import { breachShownTo, viewerAt } from "../rules/limits-above.js";
import { inRuleOrder, noRules } from "../rules/rule-book.js";
import { releaseTarget } from "../rules/slots.js";
import { type DaemonState, enforcedBudgets, hasHardCaps, judgingUpstream } from "../state.js";
import { admissionLsn, refusedByOf, shadowNames } from "./handle-admit.js";
import { breachOnPath, demandsAt, holdFirst, meteredAtNext } from "./hold-output.js";
import { beginTurn, waitForHosts } from "./wait-for-hosts.js";

/** Returns false if the peer violated the protocol. */
export function rerouteLease(
  state: DaemonState,
  peer: PeerState,
  { id, lease, targets, read, uses, metered, session }: Reroute,
  nowMs: number,
): boolean {
  const { proxy } = peer;
  if (peer.role !== "proxy" || !peer.isWelcomed || proxy === null || id === 0) return false;
  // The proxy has a newer connection, on which it repeats the reroute.
  if (proxy.peer !== peer) return true;
  if (!acknowledgeVerdicts(peer, proxy, read)) return false;
  const heldLease = peer.leases.get(lease);
  if (heldLease === undefined || heldLease.submission) return false;
  const onPath = releaseTarget(heldLease);
  peer.leases.set(lease, onPath);
  const question = { peer, proxy, id, lease, onPath, targets, uses, metered, session };
  moveLease(state, question, nowMs, false);
  return true;
}

/** A reroute that is being judged, or judged again. */
interface RerouteRequest {
  readonly peer: PeerState;
  readonly proxy: KnownProxy;
  readonly id: number;
  readonly lease: number;
  /** The lease without a target. */
  readonly onPath: HeldLease;
  readonly targets: readonly Target[];
  /** As in `Admit`. */
  readonly uses: readonly string[] | undefined;
  /** As in `Admit`, for these targets. */
  readonly metered: Metered | undefined;
  /** As in `Admit`. */
  readonly session: string | undefined;
}

const unsure = { kind: "unsure" } as const;

/** `mustDecide` as in `beginTurn`. */
function moveLease(
  state: DaemonState,
  reroute: RerouteRequest,
  nowMs: number,
  mustDecide: boolean,
): void {
  const { peer, proxy, id, lease, onPath, uses, session } = reroute;
  const { book, settings } = state;
  const budgets = enforcedBudgets(state);
  const turn = state.shares === null ? null : beginTurn(state.shares, mustDecide);
  const { targets, breach } = allowedTargets(state, reroute, nowMs);
  const demands = demandsAt(state, reroute, targets);
  const request = { userPath: onPath.userPath, session, targets, demands };
  const viewer = viewerAt(state, onPath.userPath);
  // A hard cap's breach isn't final until other hosts have reported what they hold.
  const verdict =
    (turn?.isUnsure === true ? unsure : breach) ??
    readmit(settings.rateLimitsEnabled ? book : noRules, request, {
      nowMs,
      tokensEnforced: settings.usageEnabled,
      budgets: budgets === null ? null : { book: budgets, labels: null },
      turn,
      uses,
      tokenWeights: settings.tokenWeights,
      upstream: judgingUpstream(state),
      viewer,
    });
  if (verdict.kind === "unsure")
    return waitForHosts(state, peer, id, (laterMs, mustDecideThen) => {
      // If the lease has changed meanwhile, the request has ended, or continues without a verdict.
      if (proxy.peer === peer && peer.leases.get(lease) === onPath)
        moveLease(state, reroute, laterMs, mustDecideThen);
    });
  turn?.end();
  if (verdict.kind === "refused")
    return peer.send({
      kind: "refused",
      id,
      ...breachShownTo(viewer, verdict.breach),
      key: null,
    });
  if (verdict.kind === "exceeded")
    return peer.send({
      kind: "exceeded",
      id,
      ...breachShownTo(viewer, verdict.breach),
      headers: null,
      key: null,
    });
  const { target: chosenIndex, headers } = verdict;
  const lsn = admissionLsn(state);
  const chosen = targets[chosenIndex]!;
  const { userPath } = onPath;
  const shadowed = settings.rateLimitsEnabled
    ? admitShadows(
        book,
        { userPath, target: chosen, atPath: false, submission: false },
        { nowMs, tokensEnforced: settings.usageEnabled },
      )
    : null;
  const refusedBy = refusedByOf(shadowed);
  const countedVerdict = { userPath, atPath: false, target: chosen, lsn, atMs: nowMs, refusedBy };
  noteVerdict(state.proxies, peer, proxy, countedVerdict);
  const newLease: HeldLease = {
    ...onPath,
    target: chosen,
    targetAtMs: nowMs,
    targetLsn: lsn,
    counters: withShadows(inRuleOrder(verdict.counters, onPath.counters), shadowed),
    refusedBy: joinIds(onPath.refusedBy, refusedBy),
  };
  const atTarget = meteredAtNext(onPath.hold, demands, { index: chosenIndex, session, uses });
  const {
    lease: holding,
    allowance,
    cap,
  } = atTarget === null
    ? { lease: newLease, allowance: undefined, cap: undefined }
    : holdFirst(state, newLease, atTarget, { nowMs, mustDecide });
  peer.leases.set(lease, holding);
  peer.send({
    kind: "admitted",
    id,
    target: reroute.targets.indexOf(chosen),
    admittedAtMs: nowMs,
    lsn,
    headers,
    key: null,
    allowance,
    shadow: shadowNames(shadowed),
    cap,
  });
  state.writer.noteCounted();
}

/**
 * The targets that the hard caps of the path allow; if there are none, all targets, and why the
 * first is refused.
 */
function allowedTargets(
  state: DaemonState,
  { targets, metered, onPath, session, uses }: RerouteRequest,
  nowMs: number,
): { readonly targets: readonly Target[]; readonly breach: Verdict | null } {
  if (metered === undefined || !hasHardCaps(state)) return { targets, breach: null };
  const demands = demandsAt(state, { metered, targets }, targets);
  const breaches = targets.map((_, index) =>
    breachOnPath(
      state,
      onPath,
      meteredAtNext(onPath.hold, demands, { index, session, uses })!,
      nowMs,
    ),
  );
  const allowed = targets.filter((_, index) => breaches[index] === null);
  const [first = null] = breaches;
  if (allowed.length > 0 || first === null) return { targets: allowed, breach: null };
  return first.dimension === "budget"
    ? { targets, breach: { kind: "exceeded", breach: first, headers: null } }
    : { targets, breach: { kind: "refused", breach: first } };
}

function withShadows(
  counters: readonly Counter[],
  shadowed: ShadowVerdict | null,
): readonly Counter[] {
  return shadowed === null ? counters : [...counters, ...shadowed.counters];
}

function joinIds(
  a: readonly string[] | undefined,
  b: readonly string[] | undefined,
): readonly string[] | undefined {
  return a === undefined || b === undefined ? (a ?? b) : [...a, ...b];
}
