/**
 * One request and its caller, as handlers receive them. `handle-request.ts` makes it after
 * authentication.
 */
import type { Caller } from "./auth/caller.js";
import type { Gateway } from "./gateway.js";
import type { Exchange } from "./http/exchange.js";
import type { RequestRecord } from "./request-record.js";

/** `Needs`: the parts of the gateway that a step uses; by default all. */
export interface RequestContext<Needs extends keyof Gateway = keyof Gateway> {
  readonly gateway: Pick<Gateway, Needs>;
  readonly exchange: Exchange;
  /** On limited endpoints the daemon checks the caller later, with the admission. */
  readonly caller: Caller;
  readonly record: RequestRecord;
  /** Whether Sluice searches the web for the model, because the request carries that tool. */
  readonly searches?: boolean;
}
