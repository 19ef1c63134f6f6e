/** Who asks for a change on /admin, for the audit log. */
import { auditTextCharsMax } from "../../../shared/bounds.js";
import type { AskedBy } from "../../../shared/wire/message-to-daemon.js";
import { clientAddress } from "../../auth/session/client-address.js";
import type { RequestContext } from "../../request-context.js";

export function askedBy(context: AdminCaller): AskedBy {
  const { credential, isSession } = context.caller;
  const withKey = isSession === true ? "dashboard session" : "master key";
  return sentBy(context, credential === "none" ? "no key" : withKey);
}

/** `who`: empty if the daemon knows it. */
export function sentBy({ gateway, exchange }: Sender, who: string): AskedBy {
  const address = clientAddress(exchange, gateway.sessionKeeping.trustedProxies);
  return { who, from: address.slice(0, auditTextCharsMax), requestId: exchange.id };
}

type Sender = Pick<RequestContext<"sessionKeeping">, "gateway" | "exchange">;
type AdminCaller = Pick<RequestContext<"sessionKeeping">, "gateway" | "exchange" | "caller">;
