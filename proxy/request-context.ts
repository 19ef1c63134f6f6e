/**
 * One request on its way through the handlers. It is made once the caller's credentials have been
 * read (`handle-request.ts`).
 */
import type { Caller } from "./auth/caller.js";
import type { Gateway } from "./gateway.js";
import type { Exchange } from "./http/exchange.js";
import type { RequestRecord } from "./request-record.js";

/**
 * `Needs`: what a step uses of the gateway, so that its signature says it. Without it, all of it.
 */
export interface RequestContext<Needs extends keyof Gateway = keyof Gateway> {
  readonly gateway: Pick<Gateway, Needs>;
  readonly exchange: Exchange;
  /** Not yet checked by the daemon where the endpoint is a limited one: the admission does that. */
  readonly caller: Caller;
  readonly record: RequestRecord;
}
