/**
 * Answers to what no handler answers: bytes that Node's parser refuses, bodies that come late, and
 * clients that wait for 100 Continue before they send one.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Lingering } from "./drain/lingering.js";

/** Header bytes of a request: Node's own default, stated. */
export const headerBytesMax = 16 * 1024;

/**
 * Where Node keeps the response that is being sent, or is the next to be, and the request that has
 * come last; its own handler of such errors looks there.
 */
type Answering = Socket & {
  readonly _httpMessage?: Pick<ServerResponse, "headersSent" | "req"> | null;
  readonly parser?: { readonly incoming: IncomingMessage | null } | null;
};

/** Whether a response of the connection isn't sent to its end yet. */
export function isAnswering(socket: Socket): boolean {
  return ((socket as Answering)._httpMessage ?? null) !== null;
}

/**
 * The request that has come last, if it is complete and answers are on their way: what can't be
 * read follows it.
 */
export function answeredBehind(socket: Socket): IncomingMessage | null {
  const last = (socket as Answering).parser?.incoming ?? null;
  return last?.complete === true && isAnswering(socket) ? last : null;
}

/**
 * For the server's "clientError": answers in the shape of all errors, and ends the connection. What
 * still comes on it is no request either.
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
 * A request whose body isn't complete after `ms` gets 408, and its client is cut off. `then` runs
 * once it is complete, or the client is gone.
 */
export function refuseIfLate(request: IncomingMessage, ms: number, then: () => void): void {
  if (request.destroyed) return then();
  const refuseLate = (): void => {
    refuse(request.socket, unreadable["ERR_HTTP_REQUEST_TIMEOUT"]!);
    // Not only our half: a client that never closes its own would hold the socket for ever.
    request.socket.destroySoon();
  };
  const timer = setTimeout(refuseLate, ms);
  let isOver = false;
  const over = (): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    then();
  };
  request.once("end", over);
  request.once("close", over);
}

/**
 * A client that waits with its body (`Expect: 100-continue`) is told to send it when somebody reads
 * it, and not at once, as Node does: one that is refused keeps its body. Node reads nothing before.
 */
export function continueWhenRead(request: IncomingMessage, response: ServerResponse): void {
  const read = request._read;
  request._read = (size) => {
    request._read = read;
    // What is left of a request that is answered is dropped: nobody wants it.
    if (!response.headersSent) response.writeContinue();
    read.call(request, size);
  };
}

type Refusal = readonly [status: number, reason: string, message: string];

function refuse(socket: Socket, [status, reason, message]: Refusal): void {
  const next = (socket as Answering)._httpMessage;
  // It would be read as a part of a response, or as the one to an earlier request.
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
  // Node's parser takes as much of them as of a header.
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [
    413,
    "Content Too Large",
    `the extensions of a chunk are larger than ${headerBytesMax} bytes`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request Timeout", "the request did not come in time"],
};
