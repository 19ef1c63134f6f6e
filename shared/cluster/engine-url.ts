/** URLs of engines: valkey://, valkeys://, redis://, rediss://. */
import { isAbsent } from "../checked.js";
import { percentDecoded } from "../text/percent-decoded.js";

export interface EngineAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly username: string | null;
  readonly password: string | null;
}

const portDefault = 6379;

/** Undefined if the text isn't such a URL, or has a path, a query or a fragment. */
export function parseEngineUrl(text: string): EngineAddress | undefined {
  const [, scheme] = /^(valkeys?|rediss?):\/\/[^/?#]/i.exec(text) ?? [];
  if (scheme === undefined || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (!/^\/?$/.test(url.pathname) || text.includes("?") || text.includes("#")) return undefined;
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (!/^[A-Za-z0-9_.-]+$/.test(host) && !/^[0-9A-Fa-f:.]+$/.test(host)) return undefined;
  const port = url.port === "" ? portDefault : Number(url.port);
  const [username, password] = [url.username, url.password].map(percentDecoded);
  // A null here means a percent sign that encodes nothing.
  if (port === 0 || isAbsent(username) || isAbsent(password)) return undefined;
  const isTls = /^(?:valkeys|rediss)$/i.test(scheme);
  return { host, port, tls: isTls, username: username || null, password: password || null };
}
