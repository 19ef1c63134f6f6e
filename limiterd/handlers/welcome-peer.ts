/** The answer to a hello: from now on the peer may send admissions and admin operations. */

import type { PeerState } from "../peer.js";
import { type DaemonState, isLimited } from "../state.js";
import { countInertBudgets } from "./admin/daemon-status.js";
import { sendJwts, sendNotices } from "./announcements/announce.js";

export function welcomePeer(state: DaemonState, peer: PeerState): void {
  peer.welcomed = true;
  peer.send({
    kind: "welcome",
    id: peer.helloId,
    daemonVersion: state.settings.version,
    settledSeq: peer.proxy?.durableSeq ?? 0,
    limited: isLimited(state),
    inertRules: state.inertRules.size,
    inertBudgets: countInertBudgets(state),
    keysExist: state.keys.size > 0,
    deniedJwts: state.denials.size,
  });
  sendJwts(state, peer);
  sendNotices(state, peer);
}
