/** Calls of the daemon for /admin: who asks, for the audit log, and what of it all it may see. */
import { auditTextCharsMax } from "../../../shared/bounds.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import type { AskedBy } from "../../../shared/wire/message-to-daemon.js";
import type { Caller } from "../../auth/caller.js";
import { clientAddress } from "../../auth/session/client-address.js";
import type { CallOutcome } from "../../limiter/limiter.js";
import type { RequestContext } from "../../request-context.js";

/** Who asks for a change on /admin. */
export function askedBy(context: AdminCaller): AskedBy {
  return { ...sentBy(context, whoAsks(context.caller)), ...subtreeOf(context.caller) };
}

function whoAsks({ credential, session, keyId }: Caller): string {
  if (credential === "none") return "no key";
  return (session ?? (keyId === "" ? "master key" : `key ${keyId}`)).slice(0, auditTextCharsMax);
}

/** Asks the daemon for what changes nothing. All handlers of /admin ask by this or `askedBy`. */
export function askDaemon(
  { gateway, caller }: Pick<RequestContext<"limiter">, "gateway" | "caller">,
  op: AdminOp,
  body: unknown,
): Promise<CallOutcome> {
  const subtree = subtreeOf(caller);
  const by =
    subtree.within === undefined ? undefined : { who: "", from: "", requestId: "", ...subtree };
  return gateway.limiter.call(op, body, by);
}

function subtreeOf({ administers }: Caller): Pick<AskedBy, "within"> {
  return administers === undefined || administers.path === "/" ? {} : { within: administers.path };
}

/** `who`: empty if the daemon knows it. */
export function sentBy({ gateway, exchange }: Sender, who: string): AskedBy {
  const address = clientAddress(exchange, gateway.sessionKeeping.trustedProxies);
  return { who, from: address.slice(0, auditTextCharsMax), requestId: exchange.id };
}

type Sender = Pick<RequestContext<"sessionKeeping">, "gateway" | "exchange">;
type AdminCaller = Pick<RequestContext<"sessionKeeping">, "gateway" | "exchange" | "caller">;
