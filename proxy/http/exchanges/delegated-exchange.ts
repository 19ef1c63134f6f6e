/** An exchange that delegates to another one; the base of exchanges that change a part of it. */
import type { MemoryShare } from "../../capacity/memory-ledger.js";
import type { BodyResult, ClientSocket, ClientTls, Exchange } from "../exchange.js";

export class DelegatedExchange implements Exchange {
  readonly #exchange: Exchange;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  begin(status: number, headers: readonly string[]): void {
    this.#exchange.begin(status, headers);
  }

  write(chunk: Buffer): boolean {
    return this.#exchange.write(chunk);
  }

  reply(
    status: number,
    headers: readonly string[],
    body: string,
    encoding: "latin1" | "utf8",
  ): void {
    this.#exchange.reply(status, headers, body, encoding);
  }

  addHeaders(headers: readonly string[]): void {
    this.#exchange.addHeaders(headers);
  }

  get id(): string {
    return this.#exchange.id;
  }

  get ownId(): string {
    return this.#exchange.ownId;
  }

  get remoteAddress(): string {
    return this.#exchange.remoteAddress;
  }

  get tls(): ClientTls | null {
    return this.#exchange.tls;
  }

  get method(): string {
    return this.#exchange.method;
  }

  get path(): string {
    return this.#exchange.path;
  }

  get query(): string {
    return this.#exchange.query;
  }

  get modelInPath(): string | null {
    return this.#exchange.modelInPath;
  }

  set failure(failure: NonNullable<Exchange["failure"]>) {
    this.#exchange.failure = failure;
  }

  get rawHeaders(): readonly string[] {
    return this.#exchange.rawHeaders;
  }

  get webSocket(): ClientSocket | null {
    return this.#exchange.webSocket;
  }

  get memory(): MemoryShare {
    return this.#exchange.memory;
  }

  awaitBody(ms: number, then: () => void): void {
    this.#exchange.awaitBody(ms, then);
  }

  get gone(): boolean {
    return this.#exchange.gone;
  }
  get isCutByStop(): boolean {
    return this.#exchange.isCutByStop;
  }

  get hasBegun(): boolean {
    return this.#exchange.hasBegun;
  }

  header(name: string): string | undefined {
    return this.#exchange.header(name);
  }

  isRepeated(name: string): boolean {
    return this.#exchange.isRepeated(name);
  }

  readBody(bytesMax: number): Promise<BodyResult> {
    return this.#exchange.readBody(bytesMax);
  }

  readPieces(bytesMax: number): AsyncIterable<Buffer> {
    return this.#exchange.readPieces(bytesMax);
  }

  onGone(run: () => void): void {
    this.#exchange.onGone(run);
  }

  onDrain(run: () => void): void {
    this.#exchange.onDrain(run);
  }

  end(): void {
    this.#exchange.end();
  }

  cut(): void {
    this.#exchange.cut();
  }
}
