/**
 * Calls of the daemon for /admin, with the requester: for the audit log, and for the subtree that
 * the answer may cover.
 */
import { assert } from "../../../shared/assert.js";
import { auditTextCharsMax } from "../../../shared/bounds.js";
import type { AdminOp, DaemonAnswer } from "../../../shared/wire/admin-op.js";
import type { Requester } from "../../../shared/wire/message-to-daemon.js";
import type { Caller } from "../../auth/caller.js";
import { clientAddress } from "../../auth/session/client-address.js";
import type { RequestContext } from "../../request-context.js";

/** The requester of a change on /admin. */
export function askedBy(context: AdminCaller): Requester {
  const by = sentBy(context, whoAsks(context.caller));
  const within = subtreeOf(context.caller);
  return within === "/" ? by : { ...by, within };
}

function whoAsks({ credential, signedInAs, keyId }: Caller): string {
  if (credential === "none") return "no key";
  const who = signedInAs ?? (keyId === "" ? "master key" : `key ${keyId}`);
  return who.slice(0, auditTextCharsMax);
}

/**
 * Calls a read-only operation of the daemon. All handlers of /admin call the daemon by this or with
 * `askedBy`.
 */
export function askDaemon(
  { gateway, caller }: Pick<RequestContext<"limiter">, "gateway" | "caller">,
  op: AdminOp,
  body: unknown,
): Promise<DaemonAnswer> {
  return gateway.limiter.call(op, body, readWithin(subtreeOf(caller)));
}

/**
 * The requester of a read-only operation, which has no entry in the audit log: only the subtree
 * matters.
 */
export function readWithin(within: string): Requester | undefined {
  return within === "/" ? undefined : { who: "", from: "", requestId: "", within };
}

/** The subtree that a caller of /admin may see; `/` for everything. */
export function subtreeOf({ administers }: Caller): string {
  assert(administers !== undefined, "only callers with a role reach /admin");
  return administers.path;
}

/** `who`: empty if the daemon can tell. */
export function sentBy({ gateway, exchange }: Sender, who: string): Requester {
  const address = clientAddress(exchange, gateway.sessionKeeping.trustedProxies);
  return { who, from: address.slice(0, auditTextCharsMax), requestId: exchange.id };
}

type Sender = Pick<RequestContext<"sessionKeeping">, "gateway" | "exchange">;
type AdminCaller = Pick<RequestContext<"sessionKeeping">, "gateway" | "exchange" | "caller">;
