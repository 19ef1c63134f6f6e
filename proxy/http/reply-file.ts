/**
 * Answers with a file of the program: compressed as the client accepts it, or with 304 if the
 * client already has it. The files are kept in `kept-file.ts`.
 */
import type { Exchange } from "./exchange.js";
import { requestIdHeaders } from "./respond.js";

/** Smallest result first. */
const codings = ["br", "gzip", "identity"] as const;
export type Coding = (typeof codings)[number];

export interface KeptFile {
  readonly contentType: string;
  /** In the form of the header. Weak, because all codings share it. */
  readonly etag: string;
  /** The bytes in this coding, compressed once and shared by all responses. */
  bytes(coding: Coding): Promise<Buffer>;
}

/** Returns the status. `more`: additional headers. */
export async function replyFile(
  exchange: Exchange,
  file: KeptFile,
  more: readonly string[],
): Promise<number> {
  const ids = requestIdHeaders(exchange);
  const headers = ["etag", file.etag, "vary", "accept-encoding", ...more, ...ids];
  if (isKnown(exchange.header("if-none-match"), file.etag)) {
    exchange.reply(304, headers, "", "latin1");
    return 304;
  }
  const coding = chosenCoding(exchange.header("accept-encoding"));
  const bytes = await file.bytes(coding);
  if (exchange.gone) return 499;
  exchange.begin(200, [
    "content-type",
    file.contentType,
    "content-length",
    String(bytes.length),
    ...(coding === "identity" ? [] : ["content-encoding", coding]),
    ...headers,
  ]);
  if (exchange.method !== "HEAD") exchange.write(bytes);
  exchange.end();
  return 200;
}

/** Whether a conditional request names this version; weak and strong tags compare equal here. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = ifNoneMatch.split(",").map(withoutWeakness);
  return tags.includes(withoutWeakness(etag)) || tags.includes("*");
}

function withoutWeakness(etag: string): string {
  return etag.trim().replace(/^W\//, "");
}

/**
 * The coding with the highest weight, of equal ones the smallest (RFC 9110 section 12.5.3). A
 * client that accepts none gets the file uncompressed.
 */
export function chosenCoding(acceptEncoding: string | undefined): Coding {
  const weights = new Map<string, number>();
  for (const offer of (acceptEncoding ?? "").toLowerCase().split(",")) {
    const [name = "", ...parameters] = offer.split(";").map((part) => part.trim());
    const weight = parameters.find((parameter) => /^q\s*=/.test(parameter));
    const q = weight === undefined ? 1 : Number(weight.replace(/^q\s*=\s*/, ""));
    weights.set(name.replace(/^x-gzip$/, "gzip"), q >= 0 && q <= 1 ? q : 0);
  }
  // If it isn't named, it is accepted with the lowest weight.
  const weightOf = (coding: Coding): number =>
    weights.get(coding) ?? (coding === "identity" ? Number.MIN_VALUE : (weights.get("*") ?? 0));
  const accepted = codings.filter((coding) => weightOf(coding) > 0);
  // Sorting is stable: equal ones keep their order.
  return accepted.sort((a, b) => weightOf(b) - weightOf(a))[0] ?? "identity";
}
