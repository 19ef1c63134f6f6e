/**
 * The check of a request that is translated by field tables. It knows the provider's dialect, for
 * what can't be said in it; and a reader that refuses gives a value of the right type all the same,
 * so a translation runs through without a look after each step and asks for its `result` once.
 */
import { isAbsent } from "../../../shared/assert.js";
import { jsonDepthMax } from "../../../shared/bounds.js";
import { nestedDeeperThan } from "../../body/json-depth.js";
import type { FieldTable } from "./field-table.js";
import { quote, RequestCheck } from "./request-check.js";
import type { JsonObject, TranslatedRequest } from "./translation.js";

const nothing: JsonObject = {};

export class RequestReader {
  readonly #provider: string;
  readonly #check = new RequestCheck();

  /** `provider`: what the model's provider speaks, for the messages. */
  constructor(provider: "Anthropic messages" | "chat completions") {
    this.#provider = provider;
  }

  /** The body, unless something was refused. */
  result(body: JsonObject): TranslatedRequest {
    const failure = this.#check.failure;
    return failure === null ? { ok: true, body } : { ok: false, failure };
  }

  /** Something is wrong in either dialect. `problem` goes on after the field's name. */
  refuse(path: string, problem: string): void {
    this.#check.refuse(path, problem);
  }

  /**
   * Something that the client's dialect can say and the provider's can't: `n must be 1: the model's
   * provider speaks …, which returns one answer`.
   */
  unsupported(path: string, must: string, note: string): void {
    this.#check.refuse(path, `${must}: the model's provider speaks ${this.#provider}, ${note}`);
  }

  /**
   * Holds every field of an object to its table. A null is an absent field in both dialects. `at`
   * leads the names: empty, or `messages[3].`.
   */
  fields(object: JsonObject, table: FieldTable, at: string): void {
    for (const key in object) {
      const value = object[key];
      if (isAbsent(value)) continue;
      const rule = table.get(key);
      if (rule === undefined)
        this.unsupported(
          `${at}${key}`,
          "must be left out",
          "and Sluice can't translate this field",
        );
      else if (rule.how === "refused" && !rule.allows(value))
        this.unsupported(`${at}${key}`, rule.must, rule.note);
    }
  }

  /**
   * What is nested too deeply to be written as JSON again is refused before anything else is looked
   * at.
   */
  depth(body: JsonObject): boolean {
    for (const key in body) {
      if (!nestedDeeperThan(body[key], jsonDepthMax)) continue;
      this.refuse(key, `must not be nested deeper than ${jsonDepthMax} levels`);
      return false;
    }
    return true;
  }

  object(value: unknown, path: string): JsonObject {
    return this.#check.object(value, path) ?? nothing;
  }

  list(value: unknown, path: string): readonly unknown[] {
    return this.#check.list(value, path) ?? [];
  }

  text(value: unknown, path: string): string {
    return this.#check.string(value, path) ?? "";
  }

  /** A text that isn't empty, such as an id or a name. */
  name(value: unknown, path: string): string {
    const text = this.text(value, path);
    if (value === "") this.refuse(path, "must not be empty");
    return text;
  }

  /** A text, or a list that is read elsewhere. */
  content(value: unknown, path: string): string | readonly unknown[] {
    if (typeof value === "string" || Array.isArray(value)) return value;
    if (isAbsent(value)) this.refuse(path, "is required");
    else this.refuse(path, `must be a string or an array, not ${quote(value)}`);
    return [];
  }

  /** An integer from 1; one is given even if it is none. */
  count(value: unknown, path: string): number {
    return this.#check.count(value, path) ?? 1;
  }

  /** Null when the field is absent. */
  flag(value: unknown, path: string): boolean | null {
    return isAbsent(value) ? null : (this.#check.boolean(value, path) ?? false);
  }

  /** A number from 0 to 1; undefined when the field is absent. */
  ratio(value: unknown, path: string): unknown {
    if (isAbsent(value)) return undefined;
    if (typeof value !== "number" || !(value >= 0 && value <= 1))
      this.refuse(path, `must be a number from 0 to 1, not ${quote(value)}`);
    return value;
  }

  /**
   * The other dialect's word for a word of this one; undefined when the field is absent or says
   * nothing.
   */
  enumValue(
    value: unknown,
    words: ReadonlyMap<string, string | undefined>,
    path: string,
  ): string | undefined {
    if (isAbsent(value)) return undefined;
    if (typeof value === "string" && words.has(value)) return words.get(value);
    this.refuse(path, `must be one of ${[...words.keys()].join(", ")}, not ${quote(value)}`);
    return undefined;
  }
}
