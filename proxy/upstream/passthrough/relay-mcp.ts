/**
 * Passes one HTTP request to an MCP server, and its answer to the client: a JSON object, or a
 * stream of events. The answer to a JSON-RPC request is settled before its last event goes out, so
 * that a client that sends its next request at that moment finds the slot free.
 */
import { isObject, parseJson } from "../../../shared/checked.js";
import { failure } from "../../../shared/error-code.js";
import { append } from "../../../shared/long-lists.js";
import type { RpcId } from "../../body/rpc-message.js";
import { headerOf, pairsWhose, passResponseHeaders } from "../../http/copy-headers.js";
import type { Exchange } from "../../http/exchange.js";
import { replyFailure } from "../../http/respond.js";
import { unmetered } from "../../usage/count-usage.js";
import { ResponseMeter } from "../../usage/response-meter.js";
import { type AnswerHandler, AnswerRelay, type Ending } from "../answer-relay.js";
import { unansweredFailure } from "../errors/provider-failure.js";
import type { UpstreamFailure } from "../errors/upstream-failure.js";
import type { ForwardResult } from "../forwarded.js";
import type { PassthroughRequest, PassthroughUpstream } from "./passthrough-upstream.js";

/** Larger events, and larger answers in JSON, pass unread. */
const heldEventBytesMax = 1024 * 1024;
/** How long a stream may last after the answer to its request. */
const afterAnswerMs = 1000;

export interface McpCall {
  readonly upstream: PassthroughUpstream;
  /** `mcp:` and the server's name. */
  readonly provider: string;
  readonly request: PassthroughRequest;
  /** The id of the JSON-RPC request; null for anything else, such as a stream of notifications. */
  readonly rpcId: RpcId | null;
  /** Headers of every answer, besides the request id. */
  readonly headers: readonly string[];
  readonly monoMs: () => number;
  readonly setTimer: (ms: number, run: () => void) => () => void;
}

/** Never rejects. */
export function relayMcp(exchange: Exchange, call: McpCall): Promise<ForwardResult> {
  return new Promise((resolve) => {
    const relay = new McpRelay(exchange, call, (forwarded) =>
      resolve({ ...forwarded, isNameKnown: relay.isResult }),
    );
    relay.start();
  });
}

const nothing = Buffer.alloc(0);

class McpRelay implements AnswerHandler {
  readonly #exchange: Exchange;
  readonly #call: McpCall;
  readonly #relay: AnswerRelay;
  /** Whether the server has answered with a result that isn't an error. */
  isResult = false;
  #headers: string[] = [];
  #isStream = false;
  /** Whether the end of the answer is looked for. */
  #isHeld = false;
  #unwritten: Buffer = nothing;

  constructor(exchange: Exchange, call: McpCall, resolve: (forwarded: ForwardResult) => void) {
    const options = { ...call, operation: null, promptBytes: () => 0 };
    const meter = new ResponseMeter(options, null, exchange.memory);
    this.#exchange = exchange;
    this.#call = call;
    this.#relay = new AnswerRelay({ exchange, options, meter, handler: this }, resolve);
  }

  start(): void {
    this.#relay.start(this.#call.upstream, this.#call.request);
  }

  ownHeaders(): readonly string[] {
    return this.#call.headers;
  }

  onBegin(rawHeaders: readonly (Buffer | string)[]): void {
    const { status } = this.#relay;
    // A client would follow the challenge to the server's issuer, with a token for Sluice.
    if (status === 401 || status === 403) return this.#refuse("provider_credentials");
    if (status >= 300 && status < 400) return this.#refuse("provider_unavailable");
    this.#headers = pairsWhose(
      passResponseHeaders(rawHeaders, []),
      (name) => !/^(?:www-authenticate$|x-ratelimit-)/i.test(name),
    );
    this.#headers.push("x-request-id", this.#exchange.id);
    append(this.#headers, this.#call.headers);
    this.#isStream = headerOf(rawHeaders, "content-type")
      .toLowerCase()
      .startsWith("text/event-stream");
    this.#isHeld = this.#call.rpcId !== null;
    if (this.#isStream || !this.#isHeld) this.#exchange.begin(status, this.#headers);
  }

  #refuse(code: "provider_credentials" | "provider_unavailable"): void {
    const { provider } = this.#call;
    this.#relay.abortCall();
    const why =
      code === "provider_credentials"
        ? `refuses Sluice's credentials (${this.#relay.status}): check api_key and headers of the server`
        : `answered ${this.#relay.status}, a redirect: put the address that it names into url`;
    const refused = { ...failure(code, `MCP server ${provider.slice(4)} ${why}`), provider };
    this.#end({
      status: refused.status,
      outcome: "upstream_error",
      finish: () => replyFailure(this.#exchange, "model", refused, this.ownHeaders()),
    });
  }

  #end(ending: Ending, hasTimedOut = false): void {
    this.#relay.end(unmetered, ending, { hasTimedOut });
  }

  onChunk(chunk: Buffer): void {
    if (!this.#isHeld) return this.#relay.write(chunk);
    const unwritten =
      this.#unwritten.length === 0 ? chunk : Buffer.concat([this.#unwritten, chunk]);
    const end = this.#isStream ? endOfEvents(unwritten) : 0;
    const events = unwritten.subarray(0, end);
    this.#unwritten = unwritten.subarray(end);
    if (end > 0 && this.#answers(events)) return this.#complete(events);
    if (end > 0) this.#relay.write(events);
    if (this.#unwritten.length > heldEventBytesMax) this.#release();
  }

  /** Stops searching for the end of the answer. */
  #release(): void {
    this.#isHeld = false;
    this.isResult = true;
    if (!this.#exchange.hasBegun) this.#exchange.begin(this.#relay.status, this.#headers);
    const unwritten = this.#unwritten;
    this.#unwritten = nothing;
    this.#relay.write(unwritten);
  }

  /** Whether one of these events, or this body, is the answer to the request. */
  #answers(bytes: Buffer): boolean {
    if (!bytes.includes('"result"') && !bytes.includes('"error"')) return false;
    const text = bytes.toString("utf8");
    const datas = this.#isStream ? text.split(/(?:\r\n|\r|\n){2}/).map(dataOf) : [text];
    return datas.some((data) => {
      const message = parseJson(data);
      if (!isObject(message) || message["method"] !== undefined) return false;
      const { id, result, error } = message;
      if (id !== this.#call.rpcId || (result === undefined && error === undefined)) return false;
      this.isResult = isObject(result) && result["isError"] !== true;
      return true;
    });
  }

  /** Ends the client's answer; the end of the server's may still arrive. */
  #complete(last: Buffer): void {
    this.#call.setTimer(afterAnswerMs, () => this.#relay.abortCall());
    this.#finish(last);
  }

  onComplete(): void {
    const unwritten = this.#unwritten;
    if (this.#isHeld && !this.#isStream) this.#answers(unwritten);
    this.#finish(unwritten);
  }

  #finish(last: Buffer): void {
    const { status } = this.#relay;
    const exchange = this.#exchange;
    this.#end({
      status,
      outcome: status >= 500 ? "upstream_error" : "complete",
      finish: () => {
        if (!exchange.hasBegun) exchange.begin(status, this.#headers);
        if (last.length > 0) exchange.write(last);
        exchange.end();
      },
    });
  }

  onGone(): void {
    this.#relay.endGone(unmetered);
  }

  onFailure(cause: UpstreamFailure): void {
    const exchange = this.#exchange;
    const { status } = this.#relay;
    if (exchange.gone) return this.onGone();
    const hasTimedOut = cause.kind === "timed_out";
    if (exchange.hasBegun)
      return this.#end(
        { status, outcome: "upstream_cut", finish: () => exchange.cut() },
        hasTimedOut,
      );
    const failed = unansweredFailure(this.#call.provider, status !== 0, cause);
    this.#end({
      status: failed.status,
      outcome: this.#relay.unansweredOutcome(cause),
      finish: () => replyFailure(exchange, "model", failed, this.ownHeaders()),
    });
  }
}

/** Where the last complete event ends; 0 without one. */
function endOfEvents(bytes: Buffer): number {
  let end = 0;
  for (const blank of ["\n\n", "\r\n\r\n", "\r\r"]) {
    const position = bytes.lastIndexOf(blank);
    if (position !== -1) end = Math.max(end, position + blank.length);
  }
  return end;
}

/** The data of an event; its lines are joined as the standard says. */
function dataOf(event: string): string {
  return event
    .split(/\r\n|\r|\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice("data:".length))
    .join("\n");
}
