/**
 * A connection through a proxy, by CONNECT, for https and for http, so that the proxy sees no
 * request.
 */
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import type { Egress } from "./egress.js";

/** Why a proxy gave no connection. */
class ProxyError extends Error {
  override name = "ProxyError";
  readonly code: string;

  constructor(code: "ERR_PROXY_REFUSED" | "ERR_PROXY_TIMEOUT", message: string) {
    super(message);
    this.code = code;
  }
}

interface Destination {
  /** An IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
}

/** Calls `done` once. */
export function openTunnel(
  { proxy, secureContext }: Egress & { readonly proxy: URL },
  { host, port, timeoutMs }: Destination,
  done: (error: Error | null, socket: Socket | null) => void,
): void {
  const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const request = (proxy.protocol === "https:" ? requestHttps : requestHttp)({
    method: "CONNECT",
    host: proxy.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: proxy.port === "" ? (proxy.protocol === "https:" ? 443 : 80) : proxy.port,
    path: authority,
    headers: { host: authority, ...credentials(proxy) },
    agent: false,
    ...(secureContext === null ? {} : { secureContext }),
  });
  const timer = setTimeout(
    () =>
      request.destroy(
        new ProxyError("ERR_PROXY_TIMEOUT", `the proxy gave no connection for ${timeoutMs} ms`),
      ),
    timeoutMs,
  );
  request.once("connect", (response, socket: Socket, head) => {
    clearTimeout(timer);
    const { statusCode = 0 } = response;
    if (statusCode >= 200 && statusCode < 300) {
      if (head.length > 0) socket.unshift(head);
      return done(null, socket.setNoDelay(true));
    }
    socket.destroy();
    done(new ProxyError("ERR_PROXY_REFUSED", `the proxy answered ${statusCode}`), null);
  });
  request.once("error", (error) => {
    clearTimeout(timer);
    done(error, null);
  });
  request.end();
}

function credentials({ username, password }: URL): Record<string, string> {
  if (username === "" && password === "") return {};
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(text).toString("base64")}` };
}
