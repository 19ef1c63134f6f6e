/**
 * Orders the tool calls of a chat completion. The clients' dialects stream one call at a time, but
 * in chat completions the pieces of several calls may alternate. Pieces of the first call pass
 * immediately. Pieces of a later call are held until the call before it is complete, or until other
 * content follows, because a client runs a call as soon as it ends.
 *
 * Providers number the calls of a stream with an index. But some give every call the index 0, or
 * none, so that only the ids differ; some repeat the id, or make a new one for each piece of a
 * call, but send the name once; and some send the name after the first piece. Two calls with one id
 * get unique ids (`unique-ids.ts`).
 */
import { readableResponseBytesMax } from "../../../shared/bounds.js";
import { type CallPiece, namelessCall } from "./chat-pieces.js";
import { splitSignedId } from "./thought-signature.js";
import { isQuoted, plainArguments } from "./tool-call.js";
import { UntranslatableAnswer } from "./translation.js";
import { UniqueIds } from "./unique-ids.js";

/** A call as far as it is known. `text`: the part that the sink hasn't received. */
export type Call = { -readonly [Field in keyof CallPiece]: CallPiece[Field] };

/** Receives the calls in order: `begin`, any number of `text`, `end`. */
interface CallSink {
  begin(call: Call & { readonly name: string }): void;
  text(text: string): void;
  end(call: Call & { readonly name: string }): void;
}

type State = "held" | "begun" | "ended";

interface Entry {
  readonly call: Call;
  state: State;
  readonly json: WholeObject;
  /** Whether part of the arguments was sent, so that further parts pass immediately. */
  passes: boolean;
  /** The id for the client, without a signature, which may still come. */
  ownId: string | null;
}

export class CallSequence {
  readonly #sink: CallSink;
  readonly #entries: Entry[] = [];
  readonly #byIndex = new Map<number, Entry>();
  readonly #byId = new Map<string, Entry>();
  readonly #ids = new UniqueIds();
  /** The position of the current call, whose pieces pass immediately. */
  #position = 0;
  #heldChars = 0;

  constructor(sink: CallSink) {
    this.#sink = sink;
  }

  get heldChars(): number {
    return this.#heldChars;
  }

  /** Throws `UntranslatableAnswer` for a piece of a call that has ended. */
  add(piece: CallPiece): void {
    const entry = this.#entryOf(piece) ?? this.#newEntry(piece);
    const { call } = entry;
    if (entry.state === "ended") {
      if (piece.text === "") return;
      throw new UntranslatableAnswer(
        "the provider's answer continues a tool call after other content has followed it",
      );
    }
    call.id ??= piece.id;
    // The id that carries the signature may come after the plain id.
    if ((piece.clientId?.length ?? 0) > (call.clientId?.length ?? 0))
      call.clientId = piece.clientId;
    call.name ??= piece.name;
    call.isCustom ||= piece.isCustom;
    call.text += piece.text;
    entry.json.push(piece.text);
    this.#heldChars += piece.text.length;
    this.#advance(false);
    if (this.#heldChars > readableResponseBytesMax)
      throw new UntranslatableAnswer(
        `an answer larger than ${readableResponseBytesMax} bytes can't be translated`,
      );
  }

  /** Ends all calls, because other content follows or the answer ends. */
  end(): void {
    if (this.#position < this.#entries.length) this.#advance(true);
  }

  #advance(isEnd: boolean): void {
    for (;;) {
      const entry = this.#entries[this.#position];
      if (entry === undefined) return;
      const { call } = entry;
      if (!isNamed(call)) {
        if (!isEnd) return;
        throw namelessCall();
      }
      if (entry.state === "held") {
        entry.state = "begun";
        if (call.clientId !== null) entry.ownId = this.#ids.idOf(splitSignedId(call.clientId)[0]);
        this.#sink.begin(callForClient(call, entry));
      }
      const isFollowed = this.#position + 1 < this.#entries.length;
      const isOver = isEnd || (isFollowed && (call.isCustom || entry.json.isWhole));
      // Quoted arguments can be decoded only as a whole.
      const passes = entry.passes || call.isCustom || !isQuoted(call.text);
      if (call.text !== "" && (passes || isOver)) {
        this.#heldChars -= call.text.length;
        this.#sink.text(passes ? call.text : plainArguments(call.text));
        entry.passes = true;
        call.text = "";
      }
      if (!isOver) return;
      entry.state = "ended";
      this.#position++;
      this.#sink.end(callForClient(call, entry));
    }
  }

  /** The call that the piece continues; null if the piece begins a call. */
  #entryOf({ index, id, name, text }: CallPiece): Entry | null {
    const last = this.#entries.at(-1);
    const existing =
      index !== null
        ? this.#byIndex.get(index)
        : ((id === null ? undefined : this.#byId.get(id)) ??
          (last?.state === "ended" ? undefined : last));
    if (existing === undefined) return null;
    const { call, json } = existing;
    if (name === null || call.name === null) return existing;
    const isOther = id !== null && id !== call.id;
    const isNext = id === null && json.isWhole && text !== "";
    return isOther || isNext ? null : existing;
  }

  #newEntry({ index, id, clientId, name, isCustom }: CallPiece): Entry {
    const call: Call = { kind: "call", index, id, clientId, name, isCustom, text: "" };
    const entry: Entry = {
      call,
      state: "held",
      json: new WholeObject(),
      passes: false,
      ownId: null,
    };
    this.#entries.push(entry);
    if (index !== null) this.#byIndex.set(index, entry);
    if (id !== null) this.#byId.set(id, entry);
    return entry;
  }
}

type NamedCall = Call & { name: string };

function callForClient(call: NamedCall, { ownId }: Pick<Entry, "ownId">): NamedCall {
  if (ownId === null || call.clientId === null) return call;
  return { ...call, clientId: ownId + splitSignedId(call.clientId)[1] };
}

function isNamed(call: Call): call is NamedCall {
  return call.name !== null;
}

/** Whether the pieces received so far form a complete JSON object. */
class WholeObject {
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  isWhole = false;

  push(text: string): void {
    for (let i = 0; i < text.length; i++) {
      const char = text.charCodeAt(i);
      if (this.#isText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (char === 0x5c) this.#isEscaped = true;
        else if (char === 0x22) this.#isText = false;
      } else if (char === 0x22) this.#isText = true;
      else if (char === 0x7b) this.#depth++;
      else if (char === 0x7d) this.isWhole = --this.#depth <= 0;
    }
  }
}
