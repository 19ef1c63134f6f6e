/** Calls of the daemon for /admin: who asks, for the audit log, and what of it all it may see. */
import { assert } from "../../../shared/assert.js";
import { auditTextCharsMax } from "../../../shared/bounds.js";
import type { AdminOp, DaemonAnswer } from "../../../shared/wire/admin-op.js";
import type { Requester } from "../../../shared/wire/message-to-daemon.js";
import type { Caller } from "../../auth/caller.js";
import { clientAddress } from "../../auth/session/client-address.js";
import type { RequestContext } from "../../request-context.js";

/** Who asks for a change on /admin. */
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

/** Asks the daemon for what changes nothing. All handlers of /admin ask by this or `askedBy`. */
export function askDaemon(
  { gateway, caller }: Pick<RequestContext<"limiter">, "gateway" | "caller">,
  op: AdminOp,
  body: unknown,
): Promise<DaemonAnswer> {
  return gateway.limiter.call(op, body, readWithin(subtreeOf(caller)));
}

/** What changes nothing has no entry in the audit log: only the subtree matters. */
export function readWithin(within: string): Requester | undefined {
  return within === "/" ? undefined : { who: "", from: "", requestId: "", within };
}

/** The subtree of a caller of /admin; `/` for everything. */
export function subtreeOf({ administers }: Caller): string {
  assert(administers !== undefined, "only callers with a role reach /admin");
  return administers.path;
}

/** `who`: empty if the daemon knows it. */
export function sentBy({ gateway, exchange }: Sender, who: string): Requester {
  const address = clientAddress(exchange, gateway.sessionKeeping.trustedProxies);
  return { who, from: address.slice(0, auditTextCharsMax), requestId: exchange.id };
}

type Sender = Pick<RequestContext<"sessionKeeping">, "gateway" | "exchange">;
type AdminCaller = Pick<RequestContext<"sessionKeeping">, "gateway" | "exchange" | "caller">;
