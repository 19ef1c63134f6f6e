/**
 * Callers whose requests wait for room (docs/limit-options.md, "Waiting"): meanwhile a JWT may
 * expire, be denied, or lose its signing key, so it is verified again, at intervals and at the end
 * of the wait. The daemon does the same with managed keys.
 */
import type { Gateway } from "../gateway.js";
import type { Exchange } from "../http/exchange.js";
import { withProtocolKey } from "../http/web-socket-handshake.js";
import { authenticate } from "./authenticate.js";
import type { Caller, RefusedCaller } from "./caller.js";

const checkEveryMs = 1000;

interface WaitingRequest {
  readonly gateway: Pick<Gateway, "credentials" | "setTimer">;
  readonly exchange: Exchange;
  readonly caller: Caller;
}

export class WaitingCaller {
  /** Whether its request has waited, and the caller can be refused for that. */
  hasWaited = false;
  readonly #request: WaitingRequest;
  #cancel: (() => void) | null = null;
  /** Why the wait was ended. */
  #refused: RefusedCaller | null = null;

  constructor(request: WaitingRequest) {
    this.#request = request;
  }

  /** Its request begins to wait. `leave` ends the wait, and is called if the caller is refused. */
  begin(leave: () => void): void {
    if (!isVerifiedByProxy(this.#request.caller)) return;
    this.hasWaited = true;
    const cancel = this.#request.gateway.setTimer(checkEveryMs, () => {
      void this.#refusal().then((refusal) => {
        if (this.#cancel !== cancel) return;
        if (refusal === null) return this.begin(leave);
        this.#refused = refusal;
        leave();
      });
    });
    this.#cancel = cancel;
  }

  /** The wait is over. Why the caller is refused; null if it isn't. */
  async end(): Promise<RefusedCaller | null> {
    this.#cancel?.();
    this.#cancel = null;
    return this.#refused ?? (await this.#refusal());
  }

  async #refusal(): Promise<RefusedCaller | null> {
    const { gateway, exchange } = this.#request;
    const request = exchange.webSocket === null ? exchange : withProtocolKey(exchange);
    const again = await authenticate(gateway.credentials, "model", request);
    return again.ok ? null : again;
  }
}

/** The master key neither expires nor is denied. */
function isVerifiedByProxy({ credential, isOperator }: Caller): boolean {
  return credential === "authenticated" && !isOperator;
}
