/**
 * Answers where no handler can: bytes that Node's parser rejects, bodies that arrive late, and
 * clients that wait for 100 Continue.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Lingering } from "./drain/lingering.js";

/**
 * Bytes of a request's head, as many as nginx takes: a company's sign-in may send more than Node's
 * 16 KiB in cookies and tokens (lobehub/lobehub#7435, kserve/models-web-app#159).
 */
export const headerBytesMax = 32 * 1024;
/** Of the extensions of a chunk; Node's own. */
const extensionBytesMax = 16 * 1024;

/**
 * Where Node keeps the current or next response and the last request; its own error handler looks
 * there.
 */
type Answering = Socket & {
  readonly _httpMessage?: Pick<ServerResponse, "headersSent" | "req"> | null;
  readonly parser?: { readonly incoming: IncomingMessage | null } | null;
};

/** Whether a response of the connection isn't sent completely yet. */
export function isAnswering(socket: Socket): boolean {
  return answerOn(socket) !== null;
}

/** The response that is being sent on the connection. */
export function answerOn(socket: Socket): Pick<ServerResponse, "headersSent" | "req"> | null {
  return (socket as Answering)._httpMessage ?? null;
}

/** The last request, if it is complete and answers are pending: the unreadable bytes follow it. */
export function answeredBehind(socket: Socket): IncomingMessage | null {
  const last = (socket as Answering).parser?.incoming ?? null;
  return last?.complete === true && isAnswering(socket) ? last : null;
}

/**
 * For the server's "clientError": answers with an error in the usual form, and ends the connection.
 * Nothing after that on the connection is read as a request.
 */
export function refuseUnreadable(
  error: NodeJS.ErrnoException,
  socket: Socket,
  lingering: Lingering,
): void {
  if (lingering.has(socket)) return;
  refuse(
    socket,
    unreadable[error.code ?? ""] ?? [400, "Bad Request", "the request is not valid HTTP/1.1"],
  );
  if (!socket.destroyed) lingering.begin(socket);
}

/**
 * If a request's body isn't complete after `ms`, answers 408 and disconnects the client. `then`
 * runs once it is complete or the client has left.
 */
export function refuseIfLate(request: IncomingMessage, ms: number, then: () => void): void {
  if (request.destroyed) return then();
  const refuseLate = (): void => {
    refuse(request.socket, unreadable["ERR_HTTP_REQUEST_TIMEOUT"]!);
    // Both directions: a client that never closes its own would hold the socket forever.
    request.socket.destroySoon();
  };
  let timer: NodeJS.Timeout | null = null;
  let isOver = false;
  const finish = (): void => {
    if (isOver) return;
    isOver = true;
    if (timer !== null) clearTimeout(timer);
    then();
  };
  request.on("end", finish).on("close", finish);
  // Most bodies come with their heads, and need no timer.
  setImmediate(() => {
    if (!isOver) timer = setTimeout(refuseLate, ms);
  });
}

/**
 * Sends 100 Continue to a waiting client only once its body is read, not immediately as Node does:
 * a refused client keeps its body. Node reads nothing before that.
 */
export function continueWhenRead(request: IncomingMessage, response: ServerResponse): void {
  const read = request._read;
  request._read = (size) => {
    request._read = read;
    // The rest of an answered request's body is dropped.
    if (!response.headersSent) response.writeContinue();
    read.call(request, size);
  };
}

type Refusal = readonly [status: number, reason: string, message: string];

function refuse(socket: Socket, [status, reason, message]: Refusal): void {
  const next = (socket as Answering)._httpMessage;
  // The client would read a refusal as part of a response, or as the response to an earlier
  // request.
  if (!socket.writable || next?.headersSent === true || next?.req.complete === true)
    return void socket.destroy();
  const body = JSON.stringify({
    error: { type: "invalid_request_error", message, code: null, param: null },
  });
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    "content-type: application/json",
    `x-request-id: req_${randomUUID()}`,
    `content-length: ${body.length}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

const unreadable: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: [
    431,
    "Request Header Fields Too Large",
    `the header is larger than ${headerBytesMax} bytes`,
  ],
  // Node's parser bounds them like a header.
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [
    413,
    "Content Too Large",
    `the extensions of a chunk are larger than ${extensionBytesMax} bytes`,
  ],
  ERR_SSL_HTTP_REQUEST: [
    400,
    "Bad Request",
    "plain HTTP was sent to a port that speaks TLS: begin the URL with https://",
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request Timeout", "the request did not come in time"],
};
