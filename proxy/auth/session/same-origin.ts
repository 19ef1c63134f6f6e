/**
 * Whether a request that a browser sends with its cookie comes from the gateway's own page. The
 * cookie is `SameSite=Strict` already; this holds against what that lets pass, such as pages of
 * another port, of a sibling domain, and browsers that don't know it.
 */
import { type Failure, plainFailure } from "../../../shared/error-code.js";
import type { RequestHeaders } from "../../http/exchange.js";

type BrowserRequest = Pick<RequestHeaders, "header"> & { readonly method: string };

/** Why a request that rides on a session is refused, or null. */
export function crossSiteProblem(request: BrowserRequest): Failure | null {
  const reads = request.method === "GET" || request.method === "HEAD";
  return originProblem(request, reads) ?? (reads ? null : bodyProblem(request));
}

function originProblem(request: BrowserRequest, reads: boolean): Failure | null {
  // Set by the browser alone; "none": typed, or from a bookmark.
  const site = request.header("sec-fetch-site");
  if (site !== undefined)
    return site === "same-origin" || (reads && site === "none")
      ? null
      : refused(`Sec-Fetch-Site is ${shown(site)}, not same-origin`);
  // Browsers send the other header to trustworthy addresses alone, but this one with all changes.
  const origin = request.header("origin");
  if (origin === undefined) return reads ? null : refused("there is no Origin");
  const host = request.header("host");
  return host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)
    ? null
    : refused(`Origin ${shown(origin)} isn't the gateway's own`);
}

/** A form can send what a page wants, but not as JSON. */
function bodyProblem(request: BrowserRequest): Failure | null {
  const length = request.header("content-length") ?? "0";
  const isEmpty = length === "0" && request.header("transfer-encoding") === undefined;
  const [type = ""] = (request.header("content-type") ?? "").split(";", 1);
  return isEmpty || type.trim().toLowerCase() === "application/json"
    ? null
    : refused("a body must be application/json");
}

function refused(why: string): Failure {
  return plainFailure(
    403,
    "permission_error",
    `a session of the dashboard serves the dashboard's own page alone: ${why}`,
  );
}

function shown(value: string): string {
  return JSON.stringify(value.slice(0, 255));
}
