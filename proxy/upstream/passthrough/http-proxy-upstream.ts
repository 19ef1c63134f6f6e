/**
 * A provider for passthrough requests and WebSocket tunnels. A request whose body is complete uses
 * the connections of `client/`, which takes half the CPU. Other bodies, which a provider may answer
 * before they are complete, and tunnels use http-proxy.
 *
 * http-proxy gets a substitute for the client's request, with the filtered headers and the body,
 * and never the client's response: the answer goes to a sink. So deadlines apply, a client that
 * disconnects ends the request to the provider, and the client sees a failure of the provider;
 * http-proxy does none of that. An agent per provider keeps connections alive.
 */
import type { ClientRequest, Agent as HttpAgent, IncomingMessage, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type HttpProxy from "http-proxy";
import type { ProviderConfig } from "../../../shared/config/config.js";
import { cacheLast } from "../../../shared/text/remembered.js";
import type { Egress } from "../../egress/egress.js";
import { createEgressAgent } from "../../egress/egress-agent.js";
import { acceptIdentity } from "../../http/copy-headers.js";
import { createDeadlines } from "../call-deadlines.js";
import { type CallOptions, ConnectionPool } from "../client/connection-pool.js";
import { HttpCall } from "../client/http-call.js";
import { contentOf } from "../client/http-upstream.js";
import {
  credentialHeadersAt,
  noteRefusals,
  type ProviderKeys,
  redactHeaders,
  withOwnHeaders,
} from "../credentials/provider-keys.js";
import { echoedSecrets, maskSecrets } from "../echo-mask.js";
import { SentBody } from "../sent-body.js";
import { type BodyPieces, HttpProxyCall, type SubstituteRequest } from "./http-proxy-call.js";
import type { PassthroughUpstream } from "./passthrough-upstream.js";
import { Tunnel } from "./tunnel.js";

/** Bodies of errors pass, too, so they are also masked. */
const anyStatus = 599;

/**
 * http-proxy reads the deprecated `util._extend` when it is loaded, and Node from 22 on prints a
 * warning about that at the first request.
 */
function loadHttpProxy(): typeof HttpProxy {
  const require = createRequire(import.meta.url);
  const util = require("node:util") as { _extend: unknown };
  const deprecated = util._extend;
  util._extend = Object.assign;
  try {
    return require("http-proxy") as typeof HttpProxy;
  } finally {
    util._extend = deprecated;
  }
}

const idleConnectionsMax = 256;

/**
 * RFC 9110, section 9.2.2: executing such a request twice has the same effect as executing it once.
 */
const idempotentMethods = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]);

/** `replaceError`: replaces the error of a failed connection if the cause is another one. */
export function createHttpProxyUpstream(
  provider: ProviderConfig,
  egress: Egress,
  keys: ProviderKeys,
  replaceError: (error: Error) => Error = (error) => error,
): PassthroughUpstream {
  const base = new URL(provider.baseUrl);
  const agent = newAgent(base, egress, provider);
  const freshAgent = createEgressAgent(base.protocol, egress, {
    connectTimeoutMs: provider.connectTimeoutMs,
  });
  const pool = new ConnectionPool(provider, egress, replaceError);
  const deadlines = createDeadlines(provider);
  const onTunnelRequest = new WeakMap<object, (outgoing: ClientRequest) => void>();
  const newServer = (): HttpProxy => {
    const server = newProxyServer(base);
    server.on("proxyReqWs", (outgoing, request) => onTunnelRequest.get(request)?.(outgoing));
    return server;
  };
  // Created at the first request: most proxies only forward, and needn't load the package.
  let httpProxy: HttpProxy | null = null;
  const server = (): HttpProxy => {
    httpProxy ??= newServer();
    return httpProxy;
  };
  const secretsWith = cacheLast((key: string | null) => echoedSecrets(key, provider.headers));
  const ownHeadersOf = (key: string | null, path: string, flat: readonly string[]): string[] => [
    ...acceptIdentity,
    ...withOwnHeaders(flat, provider.headers),
    ...credentialHeadersAt(provider, key, path),
  ];
  const headersOf = (
    key: string | null,
    path: string,
    flat: readonly string[],
  ): Record<string, string> => headerObject(["host", base.host, ...ownHeadersOf(key, path, flat)]);
  return {
    send({ method, path, headers: clientHeaders, body }, sink) {
      const key = keys.choose();
      const to = maskSecrets(sink, secretsWith(key), anyStatus);
      const isInMemory = body === null || Buffer.isBuffer(body) || body instanceof SentBody;
      const call = isInMemory
        ? new HttpCall(to, deadlines)
        : new HttpProxyCall(to, deadlines, provider);
      if (keys.missing !== null) {
        sink.onFailure({ kind: "unreachable", reason: keys.missing });
        return call;
      }
      if (key !== null) call.keyName = keys.nameOf(key);
      if (key !== null && keys.wantsRefusals) call.onStatus = noteRefusals(keys, key);
      if (call instanceof HttpCall) {
        call.decodes = false;
        const headers = ownHeadersOf(key, path, clientHeaders);
        const options = (): CallOptions => ({ method, path, headers, body: contentOf(body) });
        if (idempotentMethods.has(method))
          call.mayBeResent(() => pool.dispatchAlone(options(), call));
        pool.dispatch(options(), call);
        return call;
      }
      const pieces = body as BodyPieces;
      const headers = headersOf(key, path, [...clientHeaders, ...framingHeaders(pieces)]);
      // The substitute has no method: for a DELETE of unknown length http-proxy sets the length to
      // 0, and would send the body as another request.
      const substitute = call.substitute(path, pieces, headers);
      const options = { agent, method };
      server().web(substitute, noResponse, options, (error) => call.onError(replaceError(error)));
      return call;
    },
    tunnel(client, { path, headers }, sink) {
      const tunnel = new Tunnel(client, sink, deadlines, provider);
      const substitute = {
        method: "GET",
        url: path,
        headers: headersOf(keys.choose(), path, [
          ...headers,
          "connection",
          "Upgrade",
          "upgrade",
          "websocket",
        ]),
      } as unknown as IncomingMessage;
      let outgoing: ClientRequest | null = null;
      onTunnelRequest.set(substitute, (request) => {
        outgoing = request;
        tunnel.beforeOpening(request);
      });
      const noHead = Buffer.alloc(0);
      server().ws(substitute, client.socket, noHead, { agent: freshAgent }, () => {});
      tunnel.afterOpening(outgoing!);
      return tunnel;
    },
    redact: (text) => redactHeaders(keys.redact(text), provider.headers),
    close() {
      deadlines.stop();
      agent.destroy();
      freshAgent.destroy();
      return pool.close();
    },
  };
}

function newAgent(
  { protocol }: URL,
  egress: Egress,
  { connectionsMax, keepAliveMs, connectTimeoutMs }: ProviderConfig,
): HttpAgent {
  return createEgressAgent(protocol, egress, {
    connectTimeoutMs,
    keepAlive: true,
    maxSockets: connectionsMax,
    maxFreeSockets: idleConnectionsMax,
    timeout: keepAliveMs,
  });
}

/** Sends the path unchanged, and only to the configured target. */
function newProxyServer(base: URL): HttpProxy {
  const hostname = base.hostname.replace(/^\[(.*)\]$/, "$1");
  const server = loadHttpProxy().createProxyServer({
    target: {
      protocol: base.protocol,
      host: hostname,
      hostname,
      port: base.port,
    } as HttpProxy.ServerOptions["target"],
    toProxy: true,
    prependPath: false,
    selfHandleResponse: true,
  });
  server.on("proxyReq", (outgoing, request) =>
    (request as SubstituteRequest).call.onConnection(outgoing),
  );
  server.on("proxyRes", (answer, request) => (request as SubstituteRequest).call.onAnswer(answer));
  return server;
}

/** The response for http-proxy, which never writes to it here. */
const noResponse = {} as ServerResponse;

/**
 * Joins repeated headers, as HTTP allows. Headers that may not be joined aren't sent to providers.
 */
function headerObject(flat: readonly string[]): Record<string, string> {
  const byLowerName = new Map<string, [name: string, value: string]>();
  for (let i = 0; i < flat.length; i += 2) {
    const existingName = byLowerName.get(flat[i]!.toLowerCase());
    if (existingName === undefined)
      byLowerName.set(flat[i]!.toLowerCase(), [flat[i]!, flat[i + 1]!]);
    else existingName[1] += `, ${flat[i + 1]!}`;
  }
  return Object.fromEntries(byLowerName.values());
}

/**
 * The headers that frame the body, from the values that Node's parser has read, never as the client
 * wrote them.
 */
function framingHeaders({ bytes }: BodyPieces): readonly string[] {
  return bytes === null ? ["transfer-encoding", "chunked"] : ["content-length", String(bytes)];
}
