/**
 * The command line's connection to a gateway elsewhere, with the operations of the daemon: each is
 * a request of the admin API.
 */
import { readFileSync } from "node:fs";
import { parseJson } from "../../shared/checked.js";
import { remoteVariables } from "../../shared/config/settings/settings.js";
import type { Failure } from "../../shared/error-code.js";
import { systemReason } from "../../shared/text/system-reason.js";
import { version } from "../../shared/version.js";
import { type AdminOp, type DaemonAnswer, isChange } from "../../shared/wire/admin-op.js";
import { DaemonError } from "../../shared/wire/daemon-error.js";
import { type HttpAnswer, type HttpCall, openConnection } from "./gateway-connection.js";
import type { RemotePlace } from "./remote-place.js";
import { apiFailure, daemonBody, type RemoteRequest, remoteRequest } from "./remote-request.js";

export interface RemoteGateway {
  /** An operation of the daemon. Rejects with `DaemonError` when no answer came. */
  call(op: AdminOp, body: unknown): Promise<DaemonAnswer>;
  /** The admin API's answer at a path. Rejects with `DaemonError`. */
  get(path: string): Promise<DaemonAnswer>;
  /** The admin API's answer at a path to a body. Rejects with `DaemonError`. */
  post(path: string, body: unknown): Promise<DaemonAnswer>;
  /** The stream at a path, as it comes. Rejects with `DaemonError`. */
  stream(path: string, signal: AbortSignal): AsyncGenerator<string>;
  close(): void;
}

/** The gateway itself reads the second variable, too. */
const keyVariables = [remoteVariables.key, remoteVariables.masterKey];

/** A key, and where it is from; null without one. */
interface Key {
  readonly value: string;
  readonly from: string;
}

/** Connects with the first request. Throws `DaemonError` if the key's file can't be read. */
export function openRemote(
  { url, keyFile }: RemotePlace,
  { env, nowMs }: { readonly env: Readonly<Record<string, string | undefined>>; nowMs(): number },
): RemoteGateway {
  const key = findKey(keyFile, env);
  const connection = openConnection(url);
  const callOf = ({ method, path, body }: RemoteRequest): HttpCall => ({
    method,
    url: `${url}${path}`,
    headers: {
      "user-agent": `sluice/${version}`,
      ...(body === null ? {} : { "content-type": "application/json" }),
      ...(key === null ? {} : { authorization: `Bearer ${key.value}` }),
    },
    body: body === null ? null : JSON.stringify(body),
  });
  async function ask(request: RemoteRequest): Promise<DaemonAnswer> {
    return answerOf(url, await connection.send(callOf(request)), key);
  }
  return {
    async call(op, body) {
      const request = remoteRequest(op, body, nowMs());
      if (!("method" in request)) return { ok: false, failure: request };
      try {
        const answer = await ask(request);
        return answer.ok ? { ok: true, body: daemonBody(op, body, answer.body) } : answer;
      } catch (error) {
        throw error instanceof DaemonError && isChange(op) && error.trouble !== "absent"
          ? new DaemonError(
              error.trouble,
              `${error.message}; the change may have been made, or may still be`,
              error,
            )
          : error;
      }
    },
    get: (path) => ask({ method: "GET", path, body: null }),
    post: (path, body) => ask({ method: "POST", path, body }),
    stream: (path, signal) =>
      connection.stream(callOf({ method: "GET", path, body: null }), signal),
    close: () => connection.close(),
  };
}

function answerOf(url: string, answer: HttpAnswer, key: Key | null): DaemonAnswer {
  const { status, text, contentType, location } = answer;
  if (location !== null && status >= 300 && status < 400)
    throw new DaemonError("broken", `${url} redirects to ${location}: name that address instead`);
  const body = text === "" ? null : parseJson(text);
  if (status >= 200 && status < 300 && body !== undefined) return { ok: true, body };
  const failed: Failure | null = apiFailure(status, body, key?.from ?? null);
  if (failed !== null) return { ok: false, failure: failed };
  const description = `${status}${contentType === "" ? "" : ` with ${contentType}`}`;
  throw new DaemonError(
    "broken",
    `what answers at ${url} isn't the admin API of a gateway: it answered ${description}`,
  );
}

function findKey(
  keyFile: string | null,
  env: Readonly<Record<string, string | undefined>>,
): Key | null {
  const candidates =
    keyFile === null
      ? keyVariables.map((name) => ({ value: (env[name] ?? "").trim(), from: name }))
      : [{ value: readKey(keyFile), from: keyFile }];
  const key = candidates.find(({ value }) => value !== "") ?? null;
  if (key !== null && !/^[\x21-\x7e]+$/.test(key.value))
    throw new DaemonError("denied", `the key of ${key.from} holds white space or isn't ASCII`);
  return key;
}

function readKey(file: string): string {
  try {
    const key = readFileSync(file, "utf8").trim();
    if (key !== "") return key;
    throw new Error("it is empty");
  } catch (error) {
    const reason = systemReason(error);
    throw new DaemonError("denied", `--key-file ${file} can't be read: ${reason}`, error);
  }
}
