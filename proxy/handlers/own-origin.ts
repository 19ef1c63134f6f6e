/** Where the client of a request finds Sluice, for the addresses in answers. */
import type { Config } from "../../shared/config/config.js";
import { isOverTls } from "../auth/session/client-address.js";
import type { Exchange } from "../http/exchange.js";

/**
 * `server.public_url`, or what the request says of itself: its Host, and of a trusted proxy whether
 * it was called over TLS. Only the sender of that host gets the answer. Empty: it names none that
 * is valid, and addresses are relative.
 */
export function ownOrigin(
  exchange: Pick<Exchange, "header" | "isRepeated" | "remoteAddress">,
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
