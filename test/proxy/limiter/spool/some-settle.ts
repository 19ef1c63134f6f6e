/** Settles for the tests of this room. */
import type { Settle } from "../../../../shared/wire/message-to-daemon.js";
import { executed } from "../../../limiterd/in-memory-daemon.js";

export function someSettle(seq: number, changes: Partial<Settle> = {}): Settle {
  return {
    kind: "settle",
    seq,
    part: "request",
    lease: 0,
    userPath: "/team",
    admittedAtMs: 0,
    lsn: 0,
    target: { provider: "openai", model: "gpt-4o" },
    targetAtMs: 0,
    targetLsn: 0,
    startedAgoMs: 2_000,
    endedAgoMs: 1_000,
    tokens: 10,
    estimated: false,
    record: executed({ requestId: `r-${seq}`, responseId: "" }),
    ...changes,
  };
}
