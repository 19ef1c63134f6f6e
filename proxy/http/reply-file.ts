/**
 * Answers with a file that the program ships: compressed as the client takes it, and not at all if
 * the client has it already. What keeps such files is in `kept-file.ts`.
 */
import type { Exchange } from "./exchange.js";
import { requestIdHeaders } from "./respond.js";

/** The smallest first. */
const codings = ["br", "gzip", "identity"] as const;
export type Coding = (typeof codings)[number];

export interface KeptFile {
  readonly contentType: string;
  /** As headers have it. Weak, because all codings share it. */
  readonly etag: string;
  /** The bytes in this coding, made once; all responses share them. */
  bytes(coding: Coding): Promise<Buffer>;
}

/** Returns the status. `more`: headers besides. */
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

/** Whether a conditional request names this version; weak or strong makes no difference here. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const named = ifNoneMatch.split(",").map(withoutWeakness);
  return named.includes(withoutWeakness(etag)) || named.includes("*");
}

function withoutWeakness(etag: string): string {
  return etag.trim().replace(/^W\//, "");
}

/**
 * The coding that the client wants most, of equal ones the smallest (RFC 9110 section 12.5.3). One
 * that takes none gets the file as it is.
 */
export function chosenCoding(acceptEncoding: string | undefined): Coding {
  const weights = new Map<string, number>();
  for (const each of (acceptEncoding ?? "").toLowerCase().split(",")) {
    const [name = "", ...parameters] = each.split(";").map((part) => part.trim());
    const weight = parameters.find((parameter) => /^q\s*=/.test(parameter));
    const q = weight === undefined ? 1 : Number(weight.replace(/^q\s*=\s*/, ""));
    weights.set(name.replace(/^x-gzip$/, "gzip"), q >= 0 && q <= 1 ? q : 0);
  }
  // Unless it is named, it is taken, and wanted least.
  const weightOf = (coding: Coding): number =>
    weights.get(coding) ?? (coding === "identity" ? Number.MIN_VALUE : (weights.get("*") ?? 0));
  const taken = codings.filter((coding) => weightOf(coding) > 0);
  // Sorting is stable: of equal ones the first stays first.
  return taken.sort((a, b) => weightOf(b) - weightOf(a))[0] ?? "identity";
}
