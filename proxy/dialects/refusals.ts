/**
 * Reads the fields of a request that is being translated, and remembers the first thing that is wrong
 * with it or can't be said in the other dialect. A reader that refuses gives a value of the right type
 * all the same, so a translation runs through without a check after each step and asks for its `result` once.
 */
import { isObject } from "../../shared/assert.js";
import { jsonDepthMax } from "../../shared/bounds.js";
import { type Failure, invalid } from "../../shared/error-code.js";
import type { FieldTable } from "./field-table.js";
import { nestedDeeperThan } from "./json-depth.js";
import type { JsonObject, TranslatedRequest } from "./translation.js";

const nothing: JsonObject = {};

export class Refusals {
  readonly #provider: string;
  #first: Failure | null = null;

  /** `provider`: what the model's provider speaks, for the messages. */
  constructor(provider: "Anthropic messages" | "chat completions") {
    this.#provider = provider;
  }

  /** The body, unless something was refused. */
  result(body: JsonObject): TranslatedRequest {
    return this.#first === null ? { ok: true, body } : { ok: false, failure: this.#first };
  }

  /** Something is wrong in either dialect. */
  refuse(param: string, message: string): void {
    this.#first ??= invalid(message, param);
  }

  /** A value of another kind than the field has. */
  wrong(param: string, expected: string, value: unknown): void {
    this.refuse(param, isAbsent(value) ? `${param} is required` : `${param} must be ${expected}, not ${kindOf(value)}`);
  }

  /** Something that the client's dialect can say and the provider's can't: `n must be 1: the model's provider speaks …, which gives one answer`. */
  unsayable(param: string, must: string, note: string): void {
    this.refuse(param, `${param} ${must}: the model's provider speaks ${this.#provider}, ${note}`);
  }

  /** Holds every field of an object to its table. A null is an absent field in both dialects. `at` leads the names: empty, or `messages[3].`. */
  fields(object: JsonObject, table: FieldTable, at: string): void {
    for (const key in object) {
      const value = object[key];
      if (isAbsent(value)) continue;
      const rule = table.get(key);
      if (rule === undefined) this.unsayable(`${at}${key}`, "must be left out", "into which Sluice can't translate it");
      else if (rule.how === "refused" && !rule.allows(value)) this.unsayable(`${at}${key}`, rule.must, rule.note);
    }
  }

  /** What is nested too deeply to be written as JSON again is refused before anything else is looked at. */
  depth(body: JsonObject): boolean {
    for (const key in body) {
      if (!nestedDeeperThan(body[key], jsonDepthMax)) continue;
      this.refuse(key, `${key} must not be nested deeper than ${jsonDepthMax} levels`);
      return false;
    }
    return true;
  }

  object(value: unknown, param: string): JsonObject {
    if (isObject(value)) return value;
    this.wrong(param, "an object", value);
    return nothing;
  }

  list(value: unknown, param: string): readonly unknown[] {
    if (Array.isArray(value)) return value as readonly unknown[];
    this.wrong(param, "an array", value);
    return [];
  }

  text(value: unknown, param: string): string {
    if (typeof value === "string") return value;
    this.wrong(param, "a string", value);
    return "";
  }

  /** A text that isn't empty, such as an id or a name. */
  name(value: unknown, param: string): string {
    const text = this.text(value, param);
    if (value === "") this.refuse(param, `${param} must not be empty`);
    return text;
  }

  /** Null when the field is absent. */
  flag(value: unknown, param: string): boolean | null {
    if (isAbsent(value)) return null;
    if (typeof value !== "boolean") this.wrong(param, "true or false", value);
    return value === true;
  }

  /** A number from 0 to 1; undefined when the field is absent. */
  share(value: unknown, param: string): unknown {
    if (isAbsent(value)) return undefined;
    if (typeof value !== "number" || !(value >= 0 && value <= 1)) this.wrong(param, "a number from 0 to 1", value);
    return value;
  }

  /** The other dialect's word for a word of this one; undefined when the field is absent or says nothing. */
  word(value: unknown, words: ReadonlyMap<string, string | undefined>, param: string): string | undefined {
    if (isAbsent(value)) return undefined;
    if (typeof value === "string" && words.has(value)) return words.get(value);
    this.refuse(param, `${param} must be one of ${[...words.keys()].join(", ")}, not ${typeof value === "string" ? JSON.stringify(value.slice(0, 64)) : kindOf(value)}`);
    return undefined;
  }
}

export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/** Of a value that is there. It isn't quoted: it may be long. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return `the number ${value}`;
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
