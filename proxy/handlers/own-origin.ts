/** The origin of Sluice as the client sees it, for URLs in answers. */
import type { Config } from "../../shared/config/config.js";
import { isOverTls } from "../auth/session/client-address.js";
import type { Exchange } from "../http/exchange.js";

/**
 * `server.public_url`, or the request's Host with the scheme that a trusted proxy reports. Only the
 * client that sent the Host gets the answer. Empty without a valid Host; then URLs are relative.
 */
export function ownOrigin(
  exchange: Pick<Exchange, "header" | "isRepeated" | "remoteAddress" | "tls">,
  { publicUrl, trustedProxies }: Pick<Config["server"], "publicUrl" | "trustedProxies">,
): string {
  if (publicUrl !== null) return publicUrl;
  const host = exchange.header("host") ?? "";
  if (
    exchange.isRepeated("host") ||
    !/^(?:[\w.-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i.test(host)
  )
    return "";
  return `${isOverTls(exchange, trustedProxies) ? "https" : "http"}://${host}`;
}
