/**
 * The checks of RFC 9112 on the head of a request that Node's parser doesn't make: its version, its
 * target, one Host, and a body whose end all recipients agree on.
 */
import type { IncomingMessage } from "node:http";
import { type Failure, invalid, plainFailure } from "../../shared/error-code.js";

type Head = Pick<IncomingMessage, "method" | "url" | "httpVersion" | "headers" | "rawHeaders">;

/** A name or an address, optionally with a port (RFC 9110 section 7.2). */
const validHost = /^(?:[\w.~!$&'()*+;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i;

/** A target with an authority, as clients send it to proxies (RFC 9112 section 3.2.2). */
const absoluteTarget = /^https?:\/\/([^/?#]*)(.*)$/is;

/**
 * Why a request is refused by its head; null if it isn't. An absolute target is replaced by its
 * path, and its authority replaces the Host.
 */
export function checkHead(request: Head): Failure | null {
  const { httpVersion, headers, rawHeaders, url = "" } = request;
  const isOld = httpVersion === "1.0";
  if (!isOld && httpVersion !== "1.1")
    return plainFailure(505, "invalid_request_error", "only HTTP/1.1 and HTTP/1.0 are understood");
  if (request.method === "CONNECT")
    return plainFailure(
      501,
      "invalid_request_error",
      "CONNECT is not offered: this is a gateway to models, not a proxy for any address",
    );
  const { host } = headers;
  if (host === undefined) {
    if (!isOld) return invalid("the Host header is required", "Host");
  } else if (isRepeated(rawHeaders, "host"))
    return invalid("the Host header is given more than once", "Host");
  else if (!validHost.test(host)) return invalid("the Host header must be a host", "Host");
  const coding = headers["transfer-encoding"];
  if (coding !== undefined) {
    if (isOld) return invalid("HTTP/1.0 has no Transfer-Encoding", "Transfer-Encoding");
    if (coding.trim().toLowerCase() !== "chunked")
      return plainFailure(
        501,
        "invalid_request_error",
        `the transfer coding ${JSON.stringify(coding.slice(0, 64))} is not supported`,
      );
  }
  return url.charCodeAt(0) === 0x2f ? null : checkTarget(request, url);
}

function checkTarget(request: Head, url: string): Failure | null {
  const [, authority, rest = ""] = absoluteTarget.exec(url) ?? [];
  if (authority !== undefined) {
    if (authority === "" || !validHost.test(authority))
      return invalid("the target of the request must name a host, without credentials");
    request.headers.host = authority;
    if (rest !== "" || request.method !== "OPTIONS") {
      request.url = rest.startsWith("/") ? rest : `/${rest}`;
      return null;
    }
    request.url = "*";
  }
  return request.url !== "*" || request.method === "OPTIONS"
    ? null
    : invalid("the target * is for OPTIONS alone");
}

function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i]!;
    if (raw.length === name.length && raw.toLowerCase() === name) count++;
  }
  return count > 1;
}
