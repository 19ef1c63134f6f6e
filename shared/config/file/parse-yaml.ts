/**
 * The text of a configuration file as plain values. Knows YAML (1.2, one document, keys that are
 * texts and unique, no tags) and nothing of what the values mean. The package takes the text apart
 * into events; values are made of them here, since a tree of nodes in between takes ten times as
 * long.
 */
import {
  EVENT_ID,
  type Event,
  getScalarValue,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
  YAMLException,
} from "js-yaml";

/**
 * Values that aliases may stand for, all together: they may be used often, but not to blow a small
 * file up.
 */
const aliasedValuesMax = 10_000;

/** What is wrong, and at which character. */
interface Fault {
  readonly at: number;
  readonly what: string;
}

/** The text isn't understood. */
class NotUnderstood extends Error {
  override name = "NotUnderstood";
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.what);
    this.fault = fault;
  }
}

/**
 * Parses a text. Problems name line and column. `document` is undefined when the text can't be
 * understood; keys that stand twice are told, and what is left is still returned for checking.
 */
export function parseYaml(text: string): {
  readonly document: unknown;
  readonly problems: readonly string[];
} {
  const faults: Fault[] = [];
  let document: unknown;
  try {
    document = new Composer(text, parseEvents(text, {}), faults).document();
  } catch (error) {
    if (error instanceof NotUnderstood) faults.push(error.fault);
    else if (error instanceof YAMLException)
      faults.push({ at: error.mark?.position ?? 0, what: sentence(error.reason) });
    else throw error;
  }
  return { document, problems: withPlaces(text, faults) };
}

interface Anchor {
  readonly value: unknown;
  /** How many values it stands for; null while it is being made. */
  readonly values: number | null;
}

/**
 * Makes values of events. Faults after which the rest can still be read are noted, all others
 * thrown.
 */
class Composer {
  readonly #text: string;
  readonly #events: readonly Event[];
  readonly #faults: Fault[];
  readonly #anchors = new Map<string, Anchor>();
  #next = 0;
  #values = 0;
  #aliased = 0;
  #unknownAliases = 0;

  constructor(text: string, events: readonly Event[], faults: Fault[]) {
    this.#text = text;
    this.#events = events;
    this.#faults = faults;
  }

  /** The only document, null when there is none. */
  document(): unknown {
    if (this.#events.length === 0) return null;
    this.#next = 1;
    const value = this.#isEnd() ? null : this.#value();
    this.#next++;
    if (this.#next < this.#events.length)
      throw new NotUnderstood({
        at: this.#startOfNext(),
        what: "the file holds several documents (---): one is expected",
      });
    if (this.#unknownAliases > 0) return undefined;
    return value;
  }

  #value(): unknown {
    const event = this.#events[this.#next++]!;
    this.#values++;
    switch (event.type) {
      case EVENT_ID.SCALAR: {
        this.#refuseTag(event.tagStart);
        const value =
          event.style === SCALAR_STYLE.PLAIN
            ? plainValue(getScalarValue(this.#text, event))
            : getScalarValue(this.#text, event);
        if (event.anchorStart !== -1) this.#anchors.set(this.#nameAt(event), { value, values: 1 });
        return value;
      }
      case EVENT_ID.SEQUENCE: {
        this.#refuseTag(event.tagStart);
        const list: unknown[] = [];
        return this.#anchored(event, list, () => {
          while (!this.#isEnd()) list.push(this.#value());
        });
      }
      case EVENT_ID.MAPPING: {
        this.#refuseTag(event.tagStart);
        const mapping: Record<string, unknown> = {};
        return this.#anchored(event, mapping, () => this.#readPairs(mapping));
      }
      case EVENT_ID.ALIAS:
        return this.#alias(event.anchorStart - 1, this.#nameAt(event));
      default:
        throw new Error("an event that begins a value");
    }
  }

  #readPairs(mapping: Record<string, unknown>): void {
    while (!this.#isEnd()) {
      const event = this.#events[this.#next]!;
      const key = this.#key(event);
      const value = this.#value();
      if (Object.hasOwn(mapping, key))
        this.#faults.push({
          at: startOf(event),
          what: `the key ${keyAt(this.#text, startOf(event))} stands twice`,
        });
      // A plain assignment would set what the mapping inherits from.
      if (key === "__proto__")
        Object.defineProperty(mapping, key, {
          value,
          enumerable: true,
          configurable: true,
          writable: true,
        });
      else mapping[key] = value;
    }
  }

  /** A key, as it is written. */
  #key(event: Event): string {
    if (event.type !== EVENT_ID.SCALAR)
      throw new NotUnderstood({ at: startOf(event), what: "a key must be a text" });
    this.#next++;
    this.#refuseTag(event.tagStart);
    const key = getScalarValue(this.#text, event);
    if (event.anchorStart !== -1) this.#anchors.set(this.#nameAt(event), { value: key, values: 1 });
    return key;
  }

  /** Fills what may have an anchor and is the end of its events. */
  #anchored<T>(event: Named, value: T, fill: () => void): T {
    const name = event.anchorStart === -1 ? null : this.#nameAt(event);
    const before = this.#values + this.#aliased;
    if (name !== null) this.#anchors.set(name, { value, values: null });
    fill();
    this.#next++;
    if (name !== null)
      this.#anchors.set(name, { value, values: this.#values + this.#aliased - before + 1 });
    return value;
  }

  #alias(at: number, name: string): unknown {
    const anchor = this.#anchors.get(name);
    if (anchor === undefined) {
      this.#unknownAliases++;
      this.#faults.push({ at, what: aliasFault("an alias without its anchor before it") });
      return null;
    }
    if (anchor.values === null)
      throw new NotUnderstood({ at, what: aliasFault("an alias within its own anchor") });
    this.#aliased += anchor.values;
    if (this.#aliased > aliasedValuesMax)
      throw new NotUnderstood({
        at,
        what: `the aliases up to here stand for more than ${aliasedValuesMax} values`,
      });
    return anchor.value;
  }

  #isEnd(): boolean {
    return this.#events[this.#next]!.type === EVENT_ID.POP;
  }

  #nameAt({ anchorStart, anchorEnd }: Named): string {
    return this.#text.slice(anchorStart, anchorEnd);
  }

  #refuseTag(tagStart: number): void {
    if (tagStart !== -1) throw new NotUnderstood({ at: tagStart, what: tagFault });
  }

  /** Where the second document begins: its event doesn't say. */
  #startOfNext(): number {
    const before = this.#events
      .slice(1, this.#next)
      .reduce((at, event) => Math.max(at, startOf(event)), 0);
    const marker = /^---(?=\s|$)/gm;
    marker.lastIndex = before;
    return marker.exec(this.#text)?.index ?? before;
  }
}

type Named = Pick<ScalarEvent, "anchorStart" | "anchorEnd">;

const tagFault = "a tag can't be used (a value that begins with ! must be in quotes)";

function aliasFault(what: string): string {
  return `${what} (a value that begins with * must be in quotes)`;
}

/** The first character of what an event begins, or 0. */
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

/** What a text without quotes means by the core schema: null, a boolean, a number, or itself. */
function plainValue(text: string): unknown {
  const first = text.charCodeAt(0);
  // Most begin with a letter or a slash.
  const isNumeric = (first >= 48 && first <= 57) || first === 43 || first === 45 || first === 46;
  if (isNumeric) {
    if (
      /^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+)$/.test(
        text,
      )
    )
      return Number(text);
    if (/^[-+]?\.(?:inf|Inf|INF)$/.test(text)) return first === 45 ? -Infinity : Infinity;
    return /^\.(?:nan|NaN|NAN)$/.test(text) ? NaN : text;
  }
  switch (text) {
    case "":
    case "~":
    case "null":
    case "Null":
    case "NULL":
      return null;
    case "true":
    case "True":
    case "TRUE":
      return true;
    case "false":
    case "False":
    case "FALSE":
      return false;
    default:
      return text;
  }
}

/**
 * What the parser says, without quoting values: one that begins with `!`, `*` or `|` may be a
 * password that lacks its quotes.
 */
function sentence(reason: string): string {
  if (/\btags?\b/.test(reason)) return tagFault;
  if (/\balias\b/.test(reason)) return aliasFault("an alias without a name");
  if (/\btab\b/.test(reason)) return "tabs can't be used as indentation: use spaces";
  if (reason === "deficient indentation")
    return "too little indentation, or a [ or { that isn't closed";
  return reason.replace(/[:"(].*$/s, "").trim();
}

/** The key that begins at an offset, for a message. */
function keyAt(text: string, offset: number): string {
  return /^[^\s:,{}[\]]{1,60}/.exec(text.slice(offset, offset + 60))?.[0] ?? "";
}

/** Faults as problems, in the order of the text. */
function withPlaces(text: string, faults: readonly Fault[]): string[] {
  let line = 1;
  let lineStart = 0;
  return [...faults]
    .sort((a, b) => a.at - b.at)
    .map(({ at, what }) => {
      for (
        let end = text.indexOf("\n", lineStart);
        end !== -1 && end < at;
        end = text.indexOf("\n", lineStart)
      ) {
        line++;
        lineStart = end + 1;
      }
      return `line ${line}, column ${at - lineStart + 1}: ${what}`;
    });
}
