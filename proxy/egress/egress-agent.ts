/** Node's agents for outgoing requests, by the route that an `Egress` describes. */
import { type AgentOptions, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Socket } from "node:net";
import * as tls from "node:tls";
import type { Egress } from "./egress.js";
import { openTunnel } from "./open-tunnel.js";

interface EgressAgentOptions extends AgentOptions {
  readonly connectTimeoutMs: number;
}

/** `protocol`: that of the requested URLs. */
export function createEgressAgent(
  protocol: string,
  { proxy, secureContext }: Egress,
  { connectTimeoutMs, ...options }: EgressAgentOptions,
): HttpAgent {
  const isTls = protocol === "https:";
  const agent = isTls
    ? new HttpsAgent({ ...options, ...(secureContext === null ? {} : { secureContext }) })
    : new HttpAgent(options);
  if (proxy === null) return agent;
  const through = { proxy, secureContext };
  // Node calls it for each connection, and takes the socket from the callback.
  const createConnection = (
    to: { readonly host: string; readonly port: number; readonly servername?: string },
    done: (error: Error | null, socket: Socket | null) => void,
  ): void => {
    const destination = { host: to.host, port: Number(to.port), timeoutMs: connectTimeoutMs };
    openTunnel(through, destination, (error, socket) =>
      error === null && isTls
        ? done(null, tls.connect({ ...to, socket: socket! }))
        : done(error, socket),
    );
  };
  return Object.assign(agent, { createConnection });
}
