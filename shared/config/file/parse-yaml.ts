/**
 * Parses the text of a configuration file into plain values, and records the position of each. It
 * supports YAML 1.2 with one document, unique keys that are texts, and no tags. It doesn't know the
 * meaning of values. js-yaml splits the text into events; the composer here builds values from
 * them. js-yaml's own `load` reads the key 1.0 as the number 1, stops at the first repeated key,
 * doesn't bound the expansion of aliases, and has no positions.
 */
import {
  boolCoreTag,
  EVENT_ID,
  type Event,
  floatCoreTag,
  getScalarValue,
  intCoreTag,
  NOT_RESOLVED,
  nullCoreTag,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
  YAMLException,
} from "js-yaml";
import { type Place, type Places, type Position, positionsOf } from "../problems.js";

/**
 * The most values that all aliases together may expand to: aliases may be used often, but must not
 * expand a small file into a huge document.
 */
const aliasedValuesMax = 10_000;

interface YamlProblem {
  readonly message: string;
  readonly position: Position;
}

interface ParsedYaml {
  /** Undefined if the text isn't valid YAML. If only keys are repeated, the other values. */
  readonly document: unknown;
  readonly places: Places;
  readonly problems: readonly YamlProblem[];
}

export function parseYaml(text: string): ParsedYaml {
  const faults: Fault[] = [];
  let document: unknown;
  let places: Places = null;
  try {
    ({ document, places } = new Composer(text, faults).document());
  } catch (error) {
    if (error instanceof FatalFault) faults.push(error.fault);
    else if (error instanceof YAMLException)
      faults.push(parserFault(error.reason, text, error.mark?.position ?? 0));
    else throw error;
  }
  faults.sort((a, b) => a.offset - b.offset);
  const positions = positionsOf(
    text,
    faults.map(({ offset }) => offset),
  );
  const problems = faults.map(({ message }, i) => ({ message, position: positions[i]! }));
  return { document, places, problems };
}

interface Anchor {
  readonly value: unknown;
  /** The number of values that it expands to; null while it is being read. */
  readonly values: number | null;
}

/**
 * Builds values from events. Collects faults after which the rest can still be read, and throws all
 * others as `FatalFault`.
 */
class Composer {
  readonly #text: string;
  readonly #events: readonly Event[];
  readonly #faults: Fault[];
  /** The positions in the collection that was read last; null after any other value. */
  #below: Places = null;
  readonly #anchors = new Map<string, Anchor>();
  #next = 0;
  #values = 0;
  #aliased = 0;
  #unknownAliases = 0;

  constructor(text: string, faults: Fault[]) {
    this.#text = text;
    this.#events = parseEvents(text, {});
    this.#faults = faults;
  }

  /** The only document, null when there is none. */
  document(): Pick<ParsedYaml, "document" | "places"> {
    if (this.#events.length === 0) return { document: null, places: null };
    this.#next = 1;
    const value = this.#isEnd() ? null : this.#value();
    this.#next++;
    if (this.#next < this.#events.length)
      throw new FatalFault({
        offset: this.#startOfNext(),
        message: "the file holds several documents (---): one is expected",
      });
    return { document: this.#unknownAliases > 0 ? undefined : value, places: this.#below };
  }

  #value(): unknown {
    const event = this.#events[this.#next++]!;
    this.#values++;
    switch (event.type) {
      case EVENT_ID.SCALAR: {
        this.#refuseTag(event.tagStart);
        const value =
          event.style === SCALAR_STYLE.PLAIN
            ? plainScalar(getScalarValue(this.#text, event))
            : getScalarValue(this.#text, event);
        if (event.anchorStart !== -1) this.#anchors.set(this.#nameAt(event), { value, values: 1 });
        return value;
      }
      case EVENT_ID.SEQUENCE: {
        this.#refuseTag(event.tagStart);
        const list: unknown[] = [];
        return this.#withAnchor(event, list, () => {
          const places = new Map<number, Place>();
          while (!this.#isEnd())
            list.push(this.#placed(this.#events[this.#next]!, list.length, places));
          this.#below = places;
        });
      }
      case EVENT_ID.MAPPING: {
        this.#refuseTag(event.tagStart);
        const mapping: Record<string, unknown> = {};
        return this.#withAnchor(event, mapping, () => this.#readPairs(mapping));
      }
      case EVENT_ID.ALIAS:
        return this.#alias(event.anchorStart - 1, this.#nameAt(event));
      default:
        throw new Error("expected an event that begins a value");
    }
  }

  #readPairs(mapping: Record<string, unknown>): void {
    const places = new Map<string, Place>();
    while (!this.#isEnd()) {
      const event = this.#events[this.#next]!;
      const key = this.#key(event);
      const value = this.#placed(event, key, places);
      if (Object.hasOwn(mapping, key)) this.#faults.push(repeatedKey(this.#text, startOf(event)));
      // A plain assignment would set the prototype of the mapping.
      if (key === "__proto__")
        Object.defineProperty(mapping, key, {
          value,
          enumerable: true,
          configurable: true,
          writable: true,
        });
      else mapping[key] = value;
    }
    this.#below = places;
  }

  /**
   * Reads the next value, which begins, or whose key begins, at `from`, and adds its position to
   * `beside`.
   */
  #placed(from: Event, key: string | number, siblings: Map<typeof key, Place>): unknown {
    this.#below = null;
    const value = this.#value();
    siblings.set(key, { offset: startOf(from), below: this.#below });
    return value;
  }

  /** A key, exactly as written. */
  #key(event: Event): string {
    if (event.type !== EVENT_ID.SCALAR)
      throw new FatalFault({ offset: startOf(event), message: "a key must be a text" });
    this.#next++;
    this.#refuseTag(event.tagStart);
    const key = getScalarValue(this.#text, event);
    if (event.anchorStart !== -1) this.#anchors.set(this.#nameAt(event), { value: key, values: 1 });
    return key;
  }

  /** Reads a value that may have an anchor, up to its last event. */
  #withAnchor<T>(event: AnchoredEvent, value: T, fill: () => void): T {
    const name = event.anchorStart === -1 ? null : this.#nameAt(event);
    const before = this.#values + this.#aliased;
    if (name !== null) this.#anchors.set(name, { value, values: null });
    fill();
    this.#next++;
    if (name !== null)
      this.#anchors.set(name, { value, values: this.#values + this.#aliased - before + 1 });
    return value;
  }

  #alias(offset: number, name: string): unknown {
    const anchor = this.#anchors.get(name);
    if (anchor === undefined) {
      this.#unknownAliases++;
      this.#faults.push({ offset, message: aliasFault("an alias without its anchor before it") });
      return null;
    }
    if (anchor.values === null)
      throw new FatalFault({ offset, message: aliasFault("an alias within its own anchor") });
    this.#aliased += anchor.values;
    if (this.#aliased > aliasedValuesMax)
      throw new FatalFault({
        offset,
        message: `the aliases up to here stand for more than ${aliasedValuesMax} values`,
      });
    return anchor.value;
  }

  #isEnd(): boolean {
    return this.#events[this.#next]!.type === EVENT_ID.POP;
  }

  #nameAt({ anchorStart, anchorEnd }: AnchoredEvent): string {
    return this.#text.slice(anchorStart, anchorEnd);
  }

  #refuseTag(tagStart: number): void {
    if (tagStart !== -1) throw new FatalFault({ offset: tagStart, message: tagFault });
  }

  /** Where the second document begins; its event has no position. */
  #startOfNext(): number {
    const before = this.#events
      .slice(1, this.#next)
      .reduce((last, event) => Math.max(last, startOf(event)), 0);
    const marker = /^---(?=\s|$)/gm;
    marker.lastIndex = before;
    return marker.exec(this.#text)?.index ?? before;
  }
}

type AnchoredEvent = Pick<ScalarEvent, "anchorStart" | "anchorEnd">;

/** The offset at which an event's value begins; 0 if the event has none. */
function startOf(event: Event): number {
  switch (event.type) {
    case EVENT_ID.SCALAR: {
      const isQuoted =
        event.style === SCALAR_STYLE.SINGLE_QUOTED || event.style === SCALAR_STYLE.DOUBLE_QUOTED;
      return isQuoted ? event.valueStart - 1 : Math.max(0, event.valueStart);
    }
    case EVENT_ID.SEQUENCE:
    case EVENT_ID.MAPPING:
      return event.start;
    case EVENT_ID.ALIAS:
      return event.anchorStart - 1;
    default:
      return 0;
  }
}

/** The core schema of YAML 1.2, by the first character that its values begin with. */
const coreTags = [nullCoreTag, boolCoreTag, intCoreTag, floatCoreTag];
const tagsByFirstChar = new Map(
  [...new Set(coreTags.flatMap(({ implicitFirstChars }) => implicitFirstChars ?? []))].map(
    (char) => [char, coreTags.filter((tag) => tag.implicitFirstChars?.includes(char))] as const,
  ),
);

/** The value of a text without quotes: null, a boolean, a number, or the text itself. */
export function plainScalar(text: string): unknown {
  for (const tag of tagsByFirstChar.get(text.charAt(0)) ?? []) {
    const value: unknown = tag.resolve(text, false, tag.tagName);
    if (value !== NOT_RESOLVED) return value;
  }
  return text;
}

interface Fault {
  /** The offset of the character. */
  readonly offset: number;
  readonly message: string;
}

/** Ends the parsing: the text after the fault can't be read. */
class FatalFault extends Error {
  override name = "FatalFault";
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.message);
    this.fault = fault;
  }
}

const tagFault = "a tag can't be used (a value that begins with ! must be in quotes)";

function aliasFault(message: string): string {
  return `${message} (a value that begins with * must be in quotes)`;
}

/**
 * The parser's reason in plain words, with the text at which it stopped. It quotes no value: one
 * that begins with `!`, `*` or `|` may be a password without quotes.
 */
function parserFault(reason: string, text: string, offset: number): Fault {
  return { offset, message: plainFault(reason, text, offset) };
}

function plainFault(reason: string, text: string, offset: number): string {
  if (/\btags?\b/.test(reason)) return tagFault;
  if (/\balias\b/.test(reason)) return aliasFault("an alias without a name");
  if (/\btab\b/.test(reason)) return "tabs can't be used as indentation: use spaces";
  if (reason === "deficient indentation")
    return "too little indentation, or a quote, [ or { that isn't closed";
  if (reason.startsWith("unexpected end of the stream within a"))
    return "a quote that isn't closed";
  if (/\bcomma\b/.test(reason))
    return "a comma is missing, or a ${NAME} within { } or [ ] isn't in quotes";
  if (/\bescape\b|\bhexadecimal\b/.test(reason))
    return "an unknown escape: within double quotes a backslash is written \\\\";
  if (reason.startsWith("bad indentation of a mapping entry")) return misplacedText(text, offset);
  if (reason.startsWith("can not read a block mapping entry"))
    return "a key without a colon and a space after it";
  if (reason.startsWith("end of the stream or a document separator"))
    return "this can't follow the lines above: a key without its colon, or keys and - mixed";
  return reason.replace(/[:"(].*$/s, "").trim();
}

/** Why a mapping can't continue at a character; the parser doesn't say more. */
function misplacedText(text: string, offset: number): string {
  const char = text.charAt(offset);
  if (char !== "" && "@`%".includes(char))
    return `a value that begins with ${char} must be in quotes`;
  if (char === "}" || char === "]") return `a ${char} that nothing has opened`;
  const before = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  if (/:[ \t]+["'].*["'][ \t]*$/.test(before))
    return 'text after the closing quote: within \'…\' a \' is written twice, within "…" a " is \\"';
  if (char !== ":") return "wrong indentation";
  return /:[ \t]/.test(before)
    ? "a value with a colon and a space in it must be in quotes"
    : "wrong indentation, or the line above lacks its colon and the space after it";
}

/** The fault of a key that occurs twice, at the second one's offset. */
function repeatedKey(text: string, offset: number): Fault {
  const key = /^[^\s:,{}[\]]{1,60}/.exec(text.slice(offset, offset + 60))?.[0] ?? "";
  return { offset, message: `the key ${key} appears twice` };
}
