/**
 * Checks the engine's bytes before the client's parser reads them: RESP2 replies, their depth, size
 * and number of values. The parser recurses and allocates as much as a reply announces.
 */

import type { Socket } from "node:net";
import { EngineFault } from "./engine-faults.js";

/** `CLUSTER SLOTS` has four levels. */
const depthMax = 8;
/**
 * Maximum number of values in a reply: the sum of the announced lengths of its arrays, where a hash
 * counts names and values.
 */
const valuesMax = 1_000_000;
/** Maximum size of a reply, in bytes. */
const replyMax = 64 * 2 ** 20;
/** Maximum size of an error or a short text, in bytes. */
const lineMax = 64 * 2 ** 10;
const hashSlotMax = 16_383;
const portMax = 65_535;

const lf = 10;
const integer = /^-?\d{1,19}$/;
const length = /^(?:-1|\d{1,8})$/;

type Kind = "text" | "null" | "integer" | "array";

/** An array that isn't complete. */
interface OpenArray {
  readonly length: number;
  /** How many of its values are complete. */
  done: number;
}

export class ReplyGrammar {
  /** Whether every long reply must be one of `CLUSTER SLOTS`. */
  readonly #onlyHashSlots: boolean;
  readonly #open: OpenArray[] = [];
  #line = "";
  /** Missing bytes of a text, including its line end; null: a line comes next. */
  #textLeft: number | null = null;
  #values = 0;
  #size = 0;

  constructor({ onlyHashSlots }: { readonly onlyHashSlots: boolean }) {
    this.#onlyHashSlots = onlyHashSlots;
  }

  /** Throws an `EngineFault`; read nothing after that. */
  check(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#textLeft !== null) {
        const pieceLength = Math.min(this.#textLeft, bytes.length - at);
        at += pieceLength;
        this.#grow(pieceLength);
        this.#textLeft -= pieceLength;
        if (this.#textLeft > 0) return;
        if (bytes[at - 1] !== lf) throw damagedReply("a text has no end");
        this.#textLeft = null;
        this.#complete("text", null);
        continue;
      }
      const end = bytes.indexOf(lf, at);
      const until = end === -1 ? bytes.length : end + 1;
      this.#line += bytes.toString("latin1", at, until);
      this.#grow(until - at);
      at = until;
      if (this.#line.length > lineMax) throw damagedReply(`a line is longer than ${lineMax} bytes`);
      if (end === -1) return;
      const line = this.#line;
      this.#line = "";
      this.#read(line);
    }
  }

  #read(line: string): void {
    if (line.at(-2) !== "\r" || line.indexOf("\r") !== line.length - 2)
      throw damagedReply("a line has no end");
    const text = line.slice(1, -2);
    switch (line[0]) {
      case "+":
      case "-":
        return this.#complete("text", null);
      case ":":
        if (!integer.test(text)) throw damagedReply("an integer has other characters than digits");
        return this.#complete("integer", Number(text));
      case "$":
        if (!length.test(text)) throw damagedReply("a length isn't one");
        if (text === "-1") return this.#complete("null", null);
        this.#textLeft = Number(text) + 2;
        if (this.#size + this.#textLeft > replyMax) throw damagedReply(tooLong);
        return;
      case "*":
        if (!length.test(text)) throw damagedReply("a length isn't one");
        return this.#begin(Number(text));
      default:
        throw new EngineFault("what answers at the address is no Valkey or Redis");
    }
  }

  #begin(values: number): void {
    if (values < 0) throw damagedReply("a list is null");
    this.#values += values;
    if (this.#values > valuesMax) throw damagedReply(`a reply has more than ${valuesMax} values`);
    if (this.#open.length >= depthMax)
      throw damagedReply(`lists are nested more than ${depthMax} deep`);
    this.#open.push({ length: values, done: 0 });
    if (values === 0) this.#end();
  }

  #complete(kind: Kind, value: number | null): void {
    const list = this.#open.at(-1);
    if (this.#onlyHashSlots && !fitsHashSlots(kind, value, this.#open.length, list?.done ?? 0))
      throw damagedReply("the map of hash slots isn't one");
    if (list === undefined) return this.#endReply();
    list.done++;
    if (list.done === list.length) this.#end();
  }

  #end(): void {
    const { length } = this.#open.pop()!;
    // A range has its first and last hash slot and at least one server; a server has host and port.
    const least = [0, 3, 2][this.#open.length] ?? 0;
    if (this.#onlyHashSlots && length < least)
      throw damagedReply("the map of hash slots isn't one");
    this.#complete("array", null);
  }

  /** A reply is complete. */
  #endReply(): void {
    this.#values = 0;
    this.#size = 0;
  }

  #grow(bytes: number): void {
    this.#size += bytes;
    if (this.#size > replyMax) throw damagedReply(tooLong);
  }
}

const tooLong = `a reply is longer than ${replyMax / 2 ** 20} MiB`;

/**
 * Checks ranges: [first hash slot, last hash slot, [host, port, …], …]. The client loops from first
 * to last.
 */
function fitsHashSlots(kind: Kind, value: number | null, depth: number, index: number): boolean {
  if (depth === 0) return kind !== "null";
  if (depth === 1) return kind === "array";
  if (depth === 2)
    return index < 2
      ? kind === "integer" && value! >= 0 && value! <= hashSlotMax
      : kind === "array";
  if (depth > 3) return true;
  if (index === 0) return kind === "text" || kind === "null";
  return index !== 1 || (kind === "integer" && value! > 0 && value! <= portMax);
}

function damagedReply(damage: string): EngineFault {
  return new EngineFault(`the engine's answers are damaged: ${damage}`);
}

export function guard(socket: Socket, kind: { readonly onlyHashSlots: boolean }): void {
  const grammar = new ReplyGrammar(kind);
  const emit = socket.emit.bind(socket);
  socket.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    if (event !== "data") return Reflect.apply(emit, socket, [event, ...args]);
    if (socket.destroyed) return true;
    try {
      grammar.check(args[0] as Buffer);
      return emit(event, args[0]);
    } catch (error) {
      socket.destroy(error as Error);
      return true;
    }
  };
}
