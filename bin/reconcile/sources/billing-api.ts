/**
 * Requests to a provider's billing API, with deadlines, retries after a rate limit, and errors that
 * say what to do. The key is sent in a header and appears in no message.
 */
import { once } from "node:events";
import type http from "node:http";
import { isObject, parseJson } from "../../../shared/checked.js";
import { append } from "../../../shared/long-lists.js";
import { systemReason } from "../../../shared/text/system-reason.js";

export interface BillingApi {
  /** The base URL, without a slash at the end. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Which key is needed, for the error: `an admin key (sk-admin-…)`. */
  readonly neededKey: string;
  pause(ms: number): Promise<void>;
}

type Query = readonly (readonly [name: string, value: string])[];

/** The billing API refused, or gave no usable answer. */
export class BillingApiError extends Error {
  override name = "BillingApiError";
  /** Null: there was no answer. */
  readonly status: number | null;

  constructor(message: string, status: number | null) {
    super(message);
    this.status = status;
  }
}

const deadlineMs = 60_000;
const answerBytesMax = 64 * 1024 * 1024;
const attemptsMax = 5;
const pauseMsMax = 120_000;
const pagesMax = 10_000;

/** The body of an answer. Rejects with `BillingApiError`. */
export async function getJson(api: BillingApi, path: string, query: Query): Promise<unknown> {
  const search = query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  const url = `${api.url}${path}${search === "" ? "" : `?${search}`}`;
  for (let attempt = 1; ; attempt++) {
    const answer = await send(url, api);
    const { status, text, retryAfter } = answer;
    if (status >= 200 && status < 300) {
      const body = parseJson(text);
      if (body === undefined)
        throw new BillingApiError(`${api.url}${path} answered ${status} without JSON`, status);
      return body;
    }
    const mayPass = status === 429 || status >= 500;
    if (!mayPass || attempt === attemptsMax) throw refusalFailure({ api, path, status, text });
    const seconds = Number(retryAfter);
    const waitMs = retryAfter !== null && seconds >= 0 ? seconds * 1000 : 1000 * 2 ** attempt;
    if (waitMs > pauseMsMax)
      throw new BillingApiError(
        `${api.url}${path} answered ${status} and asks to wait ${Math.ceil(waitMs / 1000)} s: try again then`,
        status,
      );
    await api.pause(waitMs);
  }
}

/** The items of all pages: `data` of each, while `has_more` is true. */
export async function allPages(
  api: BillingApi,
  path: string,
  query: Query,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const items: Readonly<Record<string, unknown>>[] = [];
  let page: string | null = null;
  for (let pages = 0; pages < pagesMax; pages++) {
    const more: Query = page === null ? [] : [["page", page]];
    const body = await getJson(api, path, [...query, ...more]);
    const data = isObject(body) ? body["data"] : null;
    if (!isObject(body) || !Array.isArray(data) || !data.every(isObject))
      throw new BillingApiError(`${api.url}${path}: data must be a list of objects`, 200);
    append(items, data);
    const next = body["next_page"];
    if (body["has_more"] !== true) return items;
    if (typeof next !== "string" || next === "" || next === page)
      throw new BillingApiError(
        `${api.url}${path}: has_more is true, and next_page names no page`,
        200,
      );
    page = next;
  }
  throw new BillingApiError(`${api.url}${path} has more than ${pagesMax} pages`, 200);
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | null;
}

async function send(url: string, { headers }: BillingApi): Promise<Answer> {
  const client = url.startsWith("https:") ? await import("node:https") : await import("node:http");
  const signal = AbortSignal.timeout(deadlineMs);
  try {
    const request = client.request(url, {
      headers: { accept: "application/json", ...headers },
      signal,
    });
    request.end();
    const [response] = (await once(request, "response", { signal })) as [http.IncomingMessage];
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > answerBytesMax)
        throw new Error(`the answer is larger than ${answerBytesMax} bytes`);
      chunks.push(chunk);
    }
    return {
      status: response.statusCode ?? 0,
      text: Buffer.concat(chunks).toString("utf8"),
      retryAfter: response.headers["retry-after"] ?? null,
    };
  } catch (error) {
    const reason = signal.aborted ? `no answer within ${deadlineMs / 1000} s` : systemReason(error);
    throw new BillingApiError(`${new URL(url).origin} can't be reached: ${reason}`, null);
  }
}

function refusalFailure({
  api,
  path,
  status,
  text,
}: {
  readonly api: BillingApi;
  readonly path: string;
  readonly status: number;
  readonly text: string;
}): BillingApiError {
  const message = messageIn(text);
  const hint = status === 401 || status === 403 ? `; it takes ${api.neededKey}` : "";
  return new BillingApiError(`${api.url}${path} answered ${status}${message}${hint}`, status);
}

/** What the provider says, without the masked key that some repeat. */
function messageIn(text: string): string {
  const body = parseJson(text);
  const error = isObject(body) ? body["error"] : null;
  const message = isObject(error) ? error["message"] : error;
  if (typeof message !== "string") return "";
  return `: ${message.replaceAll(/\bsk-[\w*.-]+/g, "sk-…").slice(0, 300)}`;
}

/** A text of the provider's answer; null if it is absent, empty or no text. */
export function textOrNull(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
