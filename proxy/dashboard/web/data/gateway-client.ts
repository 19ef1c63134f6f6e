/**
 * The only file that sends requests: to this origin only, with the session's cookie, which no
 * script can read. The result is an answer or one of four problems, never an exception.
 */

/** Why a request has no answer. */
export interface Problem {
  readonly kind: "signed-out" | "daemon-away" | "unreachable" | "refused";
  /** A sentence for people, from the gateway if it sent one. */
  readonly message: string;
  /** The invalid field, if any. */
  readonly field: string | null;
  /** 0 if there was no answer. */
  readonly status: number;
}

export type Answer<T> =
  | { readonly ok: true; readonly body: T }
  | { readonly ok: false; readonly problem: Problem };

/** The fields read from an error's body, which may be anything. */
interface ErrorBody {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly param?: unknown;
}

export type Method = "GET" | "POST" | "PUT" | "DELETE";

interface Question {
  readonly method: Method;
  readonly path: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Whether to ignore the body of a success. */
  readonly isUnread?: boolean;
}

interface GatewayClientPorts {
  /** Called with each outcome; null for a success. */
  readonly onOutcome: (problem: Problem | null, path: string) => void;
  /** The timeout of a request. */
  readonly deadlineMs: number;
}

export class GatewayClient {
  readonly #ports: GatewayClientPorts;

  constructor(ports: GatewayClientPorts) {
    this.#ports = ports;
  }

  get<T>(path: string, signal?: AbortSignal): Promise<Answer<T>> {
    return this.#ask({ method: "GET", path, signal });
  }

  /** `body` is sent as JSON. */
  send<T>(method: Method, path: string, body?: unknown): Promise<Answer<T>> {
    return this.#ask({ method, path, body });
  }

  /** Makes a change. Its answer isn't read: it may be a long list. */
  change(method: Method, path: string, body: unknown): Promise<Answer<null>> {
    return this.#ask<null>({ method, path, body, isUnread: true });
  }

  async #ask<T>(question: Question): Promise<Answer<T>> {
    const answer = await this.#exchange<T>(question);
    // No report for a request that its caller has cancelled.
    if (question.signal?.aborted !== true)
      this.#ports.onOutcome(answer.ok ? null : answer.problem, question.path);
    return answer;
  }

  async #exchange<T>({ method, path, body, signal, isUnread }: Question): Promise<Answer<T>> {
    const deadline = AbortSignal.timeout(this.#ports.deadlineMs);
    try {
      const response = await fetch(path, {
        method,
        credentials: "same-origin",
        signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
      });
      if (isUnread === true && response.ok) {
        await response.body?.cancel();
        return readAnswer<T>(204, "");
      }
      return readAnswer<T>(response.status, await response.text());
    } catch {
      return { ok: false, problem: problemOf(0, null) };
    }
  }
}

/** The answer for a status and a body. A body that isn't JSON doesn't come from the gateway. */
export function readAnswer<T>(status: number, text: string): Answer<T> {
  const body = parsed(text);
  if (status < 200 || status > 299)
    return { ok: false, problem: problemOf(status, body as ErrorBody | null) };
  if (body === null && text !== "")
    return { ok: false, problem: problemOf(502, { message: "the answer isn't the gateway's" }) };
  return { ok: true, body: body as T };
}

function problemOf(status: number, body: ErrorBody | null): Problem {
  const message = typeof body?.message === "string" ? body.message : null;
  const field = typeof body?.param === "string" ? body.param : null;
  const problem = { message: message ?? `the gateway answered ${status}`, field, status };
  if (status === 0)
    return { kind: "unreachable", message: "the gateway doesn't answer", field: null, status };
  if (status === 401) return { kind: "signed-out", ...problem };
  if (status === 503 && body?.code === "limiter_unavailable")
    return { kind: "daemon-away", ...problem };
  return { kind: "refused", ...problem };
}

/** Null if it isn't JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
