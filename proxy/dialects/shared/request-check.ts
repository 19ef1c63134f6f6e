/** Checks the fields of a request that is being translated, and keeps the first error. */
import { jsonDepthMax } from "../../../shared/bounds.js";
import { isAbsent, isCount, isObject, shortName } from "../../../shared/checked.js";
import { type Failure, invalid } from "../../../shared/error-code.js";
import { kindOf, nestedDeeperThan } from "../../body/json-value.js";
import type { JsonObject, TranslatedRequest } from "./translation.js";

/** The most names in the header that lists dropped fields: some clients limit a header's length. */
const droppedNamesMax = 32;

/**
 * Each check returns the value, or undefined if it is invalid. The translation then continues as if
 * the field were absent, and its result is discarded because `failure` is set. So an error deep
 * inside a request needs neither exceptions nor a union at each level.
 *
 * `path` names the field as the client wrote it, such as `input[2].content[0].text`.
 */
export class RequestCheck {
  readonly #isStrict: boolean;
  readonly #dropped = new Set<string>();
  #failure: Failure | null = null;

  /** As in `RequestOptions`. */
  readonly takesFileUrls: boolean;

  /** `isStrict`: whether to refuse fields that could be dropped. */
  constructor(isStrict: boolean, takesFileUrls = false) {
    this.#isStrict = isStrict;
    this.takesFileUrls = takesFileUrls;
  }

  /** The first error, or null. */
  get failure(): Failure | null {
    return this.#failure;
  }

  /** The translated body, or the first error. */
  result(body: JsonObject): TranslatedRequest {
    return this.#failure === null
      ? { ok: true, body, dropped: [...this.#dropped] }
      : { ok: false, failure: this.#failure };
  }

  /** Records an error. The message is the field's name followed by `problem`. */
  refuse(path: string, problem: string): undefined {
    const field = shortName(path);
    this.#failure ??= invalid(`${field} ${problem}`, field);
    return undefined;
  }

  /**
   * Drops a field that the other dialect lacks, or refuses it if `isStrict`, with the message of
   * `refuse`. `name`: the name of the dropped field for the client, if it differs from the path.
   */
  drop(path: string, problem: string, name = path): undefined {
    if (this.#isStrict) return this.refuse(path, problem);
    if (this.#dropped.size < droppedNamesMax) this.#dropped.add(shortName(withoutIndices(name)));
    return undefined;
  }

  /**
   * False, with an error, if the body is nested too deeply to be written as JSON again. Call this
   * first.
   */
  isShallowEnough(body: JsonObject): boolean {
    for (const key in body) {
      if (!nestedDeeperThan(body[key], jsonDepthMax)) continue;
      this.refuse(key, `must not be nested deeper than ${jsonDepthMax} levels`);
      return false;
    }
    return true;
  }

  string(value: unknown, path: string): string | undefined {
    return typeof value === "string" ? value : this.#wrong(value, path, "a string");
  }

  number(value: unknown, path: string): number | undefined {
    return typeof value === "number" ? value : this.#wrong(value, path, "a number");
  }

  /** An integer of at least 1. */
  count(value: unknown, path: string): number | undefined {
    return isCount(value, 1) ? value : this.#wrong(value, path, "an integer greater than 0");
  }

  boolean(value: unknown, path: string): boolean | undefined {
    return typeof value === "boolean" ? value : this.#wrong(value, path, "true or false");
  }

  object(value: unknown, path: string): JsonObject | undefined {
    return isObject(value) ? value : this.#wrong(value, path, "an object");
  }

  list(value: unknown, path: string): readonly unknown[] | undefined {
    return Array.isArray(value) ? value : this.#wrong(value, path, "an array");
  }

  /**
   * An object of which only the known fields are read. Others are dropped, unless they are null.
   */
  fields(value: unknown, path: string, knownFields: ReadonlySet<string>): JsonObject | undefined {
    const object = this.object(value, path);
    if (object === undefined) return undefined;
    for (const key of Object.keys(object)) {
      if (!knownFields.has(key) && !isAbsent(object[key]))
        this.drop(`${path}.${key}`, "is not known");
    }
    return object;
  }

  #wrong(value: unknown, path: string, expected: string): undefined {
    if (isAbsent(value)) return this.refuse(path, "is required");
    return this.refuse(
      path,
      `must be ${expected}, not ${typeof value === "number" ? value : kindOf(value)}`,
    );
  }
}

/** `messages[3].name` becomes `messages[].name`, so that a field is listed once. */
function withoutIndices(path: string): string {
  return path.replace(/\[\d+\]/g, "[]");
}

/** A client's value for an error message: the value itself if it is short, otherwise its type. */
export function quote(value: unknown): string {
  if (value === undefined) return "nothing";
  const isShort =
    typeof value === "number" ||
    typeof value === "boolean" ||
    (typeof value === "string" && value.length <= 64);
  return isShort ? JSON.stringify(value) : kindOf(value);
}
