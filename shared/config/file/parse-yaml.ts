/**
 * Parses the text of a configuration file into plain values. It knows YAML (1.2, one document,
 * unique keys that are texts, no tags), but not what the values mean. The package splits the text
 * into events, and the composer here builds values from them: a tree of nodes in between would take
 * ten times as long. Plain scalars are in `plain-scalar.ts`, messages in `yaml-fault.ts`.
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
import { keyPath } from "../read-mapping.js";
import { plainScalar } from "./plain-scalar.js";
import {
  aliasFault,
  FatalFault,
  type Fault,
  parserFault,
  repeatedKey,
  tagFault,
  withPlaces,
} from "./yaml-fault.js";

/**
 * How many values all aliases together may stand for: aliases may be used often, but must not make
 * a small file expand into a huge document.
 */
const aliasedValuesMax = 10_000;

/** Where each value, or the key that it has, begins in the text, by the value's path. */
export type Places = Map<string, number>;

/** Where mappings that stand in lists begin in the text. */
export type ItemStarts = Map<object, number>;

/**
 * Parses a text, and fills the maps of `notes`. Problems name line and column. `document` is
 * undefined if the text is not valid YAML; duplicate keys are reported, and the rest is returned.
 */
export function parseYaml(
  text: string,
  notes: Notes = {},
): {
  readonly document: unknown;
  readonly problems: readonly string[];
} {
  const faults: Fault[] = [];
  let document: unknown;
  try {
    document = new Composer(text, faults, notes).document();
  } catch (error) {
    if (error instanceof FatalFault) faults.push(error.fault);
    else if (error instanceof YAMLException)
      faults.push(parserFault(error.reason, text, error.mark?.position ?? 0));
    else throw error;
  }
  return { document, problems: withPlaces(text, faults) };
}

type Notes = { readonly places?: Places; readonly itemStarts?: ItemStarts };

interface Anchor {
  readonly value: unknown;
  /** How many values it stands for; null while it is being read. */
  readonly values: number | null;
}

/**
 * Builds values from events. Faults after which the rest can still be read are collected, all
 * others are thrown as `FatalFault`.
 */
class Composer {
  readonly #text: string;
  readonly #events: readonly Event[];
  readonly #faults: Fault[];
  readonly #notes: Notes;
  #path = "";
  readonly #anchors = new Map<string, Anchor>();
  #next = 0;
  #values = 0;
  #aliased = 0;
  #unknownAliases = 0;

  constructor(text: string, faults: Fault[], notes: Notes) {
    this.#text = text;
    this.#events = parseEvents(text, {});
    this.#faults = faults;
    this.#notes = notes;
  }

  /** The only document, null when there is none. */
  document(): unknown {
    if (this.#events.length === 0) return null;
    this.#next = 1;
    const value = this.#isEnd() ? null : this.#value();
    this.#next++;
    if (this.#next < this.#events.length)
      throw new FatalFault({
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
            ? plainScalar(getScalarValue(this.#text, event))
            : getScalarValue(this.#text, event);
        if (event.anchorStart !== -1) this.#anchors.set(this.#nameAt(event), { value, values: 1 });
        return value;
      }
      case EVENT_ID.SEQUENCE: {
        this.#refuseTag(event.tagStart);
        const list: unknown[] = [];
        return this.#anchored(event, list, () => {
          while (!this.#isEnd()) {
            const from = this.#events[this.#next]!;
            const item = this.#placed(from, list.length);
            if (from.type === EVENT_ID.MAPPING)
              this.#notes.itemStarts?.set(item as object, from.start);
            list.push(item);
          }
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
        throw new Error("expected an event that begins a value");
    }
  }

  #readPairs(mapping: Record<string, unknown>): void {
    while (!this.#isEnd()) {
      const event = this.#events[this.#next]!;
      const key = this.#key(event);
      const value = this.#placed(event, key);
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
  }

  /** The next value, which `from` begins, or its key. */
  #placed(from: Event, key: string | number): unknown {
    const { places } = this.#notes;
    if (places === undefined) return this.#value();
    const above = this.#path;
    this.#path = typeof key === "number" ? `${above}[${key}]` : keyPath(above, key);
    places.set(this.#path, startOf(from));
    const value = this.#value();
    this.#path = above;
    return value;
  }

  /** A key, exactly as written. */
  #key(event: Event): string {
    if (event.type !== EVENT_ID.SCALAR)
      throw new FatalFault({ at: startOf(event), what: "a key must be a text" });
    this.#next++;
    this.#refuseTag(event.tagStart);
    const key = getScalarValue(this.#text, event);
    if (event.anchorStart !== -1) this.#anchors.set(this.#nameAt(event), { value: key, values: 1 });
    return key;
  }

  /** Reads a value that may have an anchor, up to the end of its events. */
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
      throw new FatalFault({ at, what: aliasFault("an alias within its own anchor") });
    this.#aliased += anchor.values;
    if (this.#aliased > aliasedValuesMax)
      throw new FatalFault({
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
    if (tagStart !== -1) throw new FatalFault({ at: tagStart, what: tagFault });
  }

  /** Where the second document begins; its event has no position. */
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
