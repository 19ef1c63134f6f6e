/**
 * `holds`: what a running request holds of hard caps, by proxy and lease, so that it is charged if
 * its proxy ends together with the daemon; and what such a request was charged, until its settle
 * replaces that. The fields are in the order of `holdToStored`.
 */
import { isCount } from "../../shared/checked.js";
import type { Target } from "../../shared/domain/target-name.js";
import { isNormalUserPath } from "../../shared/domain/user-path.js";
import type { Lease } from "../../shared/wire/message-to-daemon.js";
import type { InterruptedRequest } from "../peer.js";
import type { Change } from "../store/store.js";
import { tokensHeld } from "./hard-limits.js";

/** Null for a request between two targets, which holds nothing. */
function holdToStored({ lease, endedAtMs }: InterruptedRequest): readonly unknown[] | null {
  const { userPath, target, admittedAtMs, lsn, targetAtMs, targetLsn, hold } = lease;
  if (target === null) return null;
  // Restoring a hold adds what is in transit, but not to a request that was charged.
  const { promptTokens, output } = tokensHeld({
    ...hold,
    inTransit: endedAtMs === null ? 0 : hold.inTransit,
  });
  const { provider, model, tools = [] } = target;
  const { rates } = hold.demand;
  return [
    [userPath, provider, model, ...tools],
    [admittedAtMs, lsn, targetAtMs, targetLsn],
    [promptTokens, output, ...(rates === null ? [] : [rates.input, rates.output])],
    [hold.keyId, hold.session ?? ""],
    endedAtMs,
  ];
}

export function holdChange(
  proxyId: string,
  lease: number,
  request: InterruptedRequest | null,
): Change {
  const value = request === null ? undefined : (holdToStored(request) ?? undefined);
  return { table: "holds", key: `${proxyId} ${lease}`, value };
}

interface StoredHold {
  readonly proxyId: string;
  readonly lease: Lease & { readonly target: Target };
  readonly endedAtMs: number | null;
}

/** Null for what `holdChange` never wrote. */
export function holdFromStored(key: string, value: readonly unknown[]): StoredHold | null {
  const [named, counted, amounts, caller, endedAtMs] = value;
  if (![named, counted, amounts, caller].every(Array.isArray)) return null;
  const names = [...(named as unknown[]), ...(caller as unknown[])];
  const numbers = [...(counted as unknown[]), ...(amounts as unknown[])];
  if (!names.every((name) => typeof name === "string") || !numbers.every((n) => isCount(n)))
    return null;
  const [userPath, provider, model, ...tools] = named as readonly string[];
  const [keyId, session] = caller as readonly string[];
  const [admittedAtMs, lsn, targetAtMs, targetLsn] = counted as readonly number[];
  const [promptTokens, output, inputRate, outputRate] = amounts as readonly number[];
  const [proxyId = "", id] = key.split(" ");
  const lease = Number(id);
  if (
    userPath === undefined ||
    !isNormalUserPath(userPath) ||
    provider === undefined ||
    model === undefined ||
    keyId === undefined ||
    session === undefined ||
    targetLsn === undefined ||
    output === undefined ||
    !isCount(lease, 1) ||
    !(endedAtMs === null || isCount(endedAtMs))
  )
    return null;
  const rates =
    inputRate === undefined || outputRate === undefined
      ? null
      : { input: inputRate, output: outputRate };
  return {
    proxyId,
    endedAtMs,
    lease: {
      lease,
      userPath,
      submission: false,
      target: { provider, model, ...(tools.length === 0 ? {} : { tools }) },
      admittedAtMs: admittedAtMs!,
      lsn: lsn!,
      targetAtMs: targetAtMs!,
      targetLsn,
      holding: {
        promptTokens: promptTokens!,
        output,
        rates,
        keyId,
        session: session === "" ? undefined : session,
      },
    },
  };
}
