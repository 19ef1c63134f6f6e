/**
 * Reads a request that is translated with field tables. Like `RequestCheck` it keeps the first
 * error, but each method returns a value of the right type even for an invalid field. So a
 * translation needs no check after each step: it calls `result` at the end.
 */
import { isAbsent, isObject } from "../../../shared/checked.js";
import { writeExactly } from "../../body/exact-json.js";
import type { FieldTable } from "./field-table.js";
import { quote, RequestCheck } from "./request-check.js";
import type { JsonObject, TranslatedRequest } from "./translation.js";

const emptyObject: JsonObject = {};

export class RequestReader {
  readonly #provider: string;
  readonly #check: RequestCheck;

  /** `provider`: the dialect of the model's provider, for error messages. */
  constructor(
    provider: "Anthropic messages" | "chat completions" | "Responses",
    isStrict: boolean,
    takesFileUrls = false,
  ) {
    this.#provider = provider;
    this.#check = new RequestCheck(isStrict, takesFileUrls);
  }

  /** As in `RequestOptions`. */
  get takesFileUrls(): boolean {
    return this.#check.takesFileUrls;
  }

  /** The translated body, or the first error. */
  result(body: JsonObject): TranslatedRequest {
    return this.#check.result(body);
  }

  /**
   * Refuses a field that is invalid in both dialects. The message is its name followed by
   * `problem`.
   */
  refuse(path: string, problem: string): void {
    this.#check.refuse(path, problem);
  }

  /**
   * Refuses a field or value without a counterpart in the provider's dialect: `n must be 1: the
   * model's provider speaks …, which returns one answer`.
   */
  unsupported(path: string, must: string, note: string): void {
    this.#check.refuse(path, this.#reason(must, note));
  }

  /** As `unsupported`, for a field that can be dropped: see `RequestCheck.drop`. */
  drop(path: string, must: string, note: string, name?: string): void {
    this.#check.drop(path, this.#reason(must, note), name);
  }

  #reason(must: string, note: string): string {
    return `${must}: the model's provider speaks ${this.#provider}, ${note}`;
  }

  /**
   * Checks every field of an object against its table. A null counts as absent in both dialects.
   * `path`: the prefix of the names, such as `messages[3].`, or empty.
   */
  fields(object: JsonObject, table: FieldTable, path: string): void {
    for (const key in object) {
      const value = object[key];
      if (isAbsent(value)) continue;
      const rule = table.get(key);
      if (rule === undefined)
        this.drop(`${path}${key}`, "must be left out", "and Sluice can't translate this field");
      else if (rule.how === "refused" && !rule.allows(value))
        this.unsupported(`${path}${key}`, rule.must, rule.note);
      else if (rule.how === "dropped" && !rule.allows(value))
        this.drop(`${path}${key}`, rule.must, rule.note);
    }
  }

  /** The type of a part of a message; null if messages of this role can't have it. */
  partType(
    part: JsonObject,
    path: string,
    role: string,
    supported: readonly string[],
  ): string | null {
    const type = this.text(part["type"], `${path}.type`);
    if (supported.includes(type)) return type;
    this.unsupported(
      `${path}.type`,
      `must be ${supported.join(" or ")}`,
      `which supports nothing else in a message of the role ${role}`,
    );
    return null;
  }

  /** As `RequestCheck.isShallowEnough`. */
  isShallowEnough(body: JsonObject): boolean {
    return this.#check.isShallowEnough(body);
  }

  object(value: unknown, path: string): JsonObject {
    return this.#check.object(value, path) ?? emptyObject;
  }

  list(value: unknown, path: string): readonly unknown[] {
    return this.#check.list(value, path) ?? [];
  }

  text(value: unknown, path: string): string {
    return this.#check.string(value, path) ?? "";
  }

  /** A non-empty string, such as an id or a name. */
  name(value: unknown, path: string): string {
    const text = this.text(value, path);
    if (value === "") this.refuse(path, "must not be empty");
    return text;
  }

  /**
   * The arguments of an earlier call: a string, which some clients replace with the object in it
   * (bytedance/deer-flow#4445).
   */
  argumentsText(value: unknown, path: string): string {
    return isObject(value) ? writeExactly(value) : this.text(value, path);
  }

  /** A string, or a list whose elements the caller reads. */
  content(value: unknown, path: string): string | readonly unknown[] {
    if (typeof value === "string" || Array.isArray(value)) return value;
    if (isAbsent(value)) this.refuse(path, "is required");
    else this.refuse(path, `must be a string or an array, not ${quote(value)}`);
    return [];
  }

  /** An integer of at least 1. */
  count(value: unknown, path: string): number {
    return this.#check.count(value, path) ?? 1;
  }

  /** Undefined when the field is absent. */
  number(value: unknown, path: string): number | undefined {
    return isAbsent(value) ? undefined : this.#check.number(value, path);
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
   * Maps one of the allowed strings to its counterpart in the other dialect. Undefined if the field
   * is absent, or if it has no counterpart because it is the default.
   */
  enumValue(
    value: unknown,
    values: ReadonlyMap<string, string | undefined>,
    path: string,
  ): string | undefined {
    if (isAbsent(value)) return undefined;
    if (typeof value === "string" && values.has(value)) return values.get(value);
    this.refuse(path, `must be one of ${[...values.keys()].join(", ")}, not ${quote(value)}`);
    return undefined;
  }
}
