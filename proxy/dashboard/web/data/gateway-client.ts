/**
 * The only file that sends requests: to this origin alone, with the session's cookie, which no
 * script can read. What comes back is an answer or one of four problems, never an exception.
 */

/** Why a question has no answer. */
export interface Problem {
  readonly kind: "signed-out" | "daemon-away" | "unreachable" | "refused";
  /** A sentence for people, the gateway's own where it gave one. */
  readonly message: string;
  /** The field that is wrong, if it is one. */
  readonly field: string | null;
  /** 0: there was no answer at all. */
  readonly status: number;
}

export type Answer<T> =
  | { readonly ok: true; readonly body: T }
  | { readonly ok: false; readonly problem: Problem };

/** What is read of an error's body, which may be anything. */
interface ErrorBody {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly param?: unknown;
}

type Method = "GET" | "POST" | "PUT" | "DELETE";

interface GatewayClientPorts {
  /** Told of each outcome: null is a success. */
  readonly onOutcome: (problem: Problem | null) => void;
  /** Milliseconds after which a question is given up. */
  readonly deadlineMs: number;
}

export class GatewayClient {
  readonly #ports: GatewayClientPorts;

  constructor(ports: GatewayClientPorts) {
    this.#ports = ports;
  }

  get<T>(path: string, signal?: AbortSignal): Promise<Answer<T>> {
    return this.#ask("GET", path, undefined, signal);
  }

  /** `body`: sent as JSON. */
  send<T>(method: Method, path: string, body?: unknown): Promise<Answer<T>> {
    return this.#ask(method, path, body);
  }

  async #ask<T>(
    method: Method,
    path: string,
    body: unknown,
    signal?: AbortSignal,
  ): Promise<Answer<T>> {
    const deadline = AbortSignal.timeout(this.#ports.deadlineMs);
    const answer = await this.#exchange<T>(path, {
      method,
      credentials: "same-origin",
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    // Whoever gave a question up doesn't want to hear of it.
    if (signal?.aborted !== true) this.#ports.onOutcome(answer.ok ? null : answer.problem);
    return answer;
  }

  async #exchange<T>(path: string, options: RequestInit): Promise<Answer<T>> {
    try {
      const response = await fetch(path, options);
      const text = await response.text();
      return readAnswer<T>(response.status, text);
    } catch {
      return { ok: false, problem: problemOf(0, null) };
    }
  }
}

/** What a status and a body say. A body that isn't JSON is no answer of the gateway's. */
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
  const known = { message: message ?? `the gateway answered ${status}`, field, status };
  if (status === 0)
    return { kind: "unreachable", message: "the gateway doesn't answer", field: null, status };
  if (status === 401) return { kind: "signed-out", ...known };
  if (status === 503 && body?.code === "limiter_unavailable")
    return { kind: "daemon-away", ...known };
  return { kind: "refused", ...known };
}

/** Null: it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
