/**
 * Remembers the fields that targets have refused, so that later requests omit them. They are
 * forgotten after a while: a host may have been updated.
 */
import { type Target, targetName } from "../../shared/domain/target-name.js";
import type { Operation } from "../../shared/operation.js";
import { refusedFieldMs, refusedFieldsMax, refusingTargetsMax } from "../bounds.js";

export class LearnedRefusals {
  readonly #monoMs: () => number;
  /**
   * By operation and target: until when each field is omitted, by the field's path. Usually empty;
   * checked before each call of `of`.
   */
  readonly refused = new Map<string, Map<string, number>>();

  constructor(monoMs: () => number) {
    this.#monoMs = monoMs;
  }

  /**
   * The paths of the fields, as in `RefusedPart`. `operation`: the client's, which decides the
   * dialect at the provider; a field of one dialect may be legal in another.
   */
  of(target: Target, operation: Operation): readonly string[] {
    const name = nameOf(target, operation);
    const fields = this.refused.get(name);
    if (fields === undefined) return [];
    const nowMs = this.#monoMs();
    for (const [path, untilMs] of fields) if (untilMs <= nowMs) fields.delete(path);
    if (fields.size === 0) this.refused.delete(name);
    return [...fields.keys()];
  }

  learn(target: Target, operation: Operation, path: string): void {
    const name = nameOf(target, operation);
    let fields = this.refused.get(name);
    if (fields === undefined) {
      if (this.refused.size >= refusingTargetsMax) deleteFirst(this.refused);
      fields = new Map();
      this.refused.set(name, fields);
    }
    if (fields.size >= refusedFieldsMax) deleteFirst(fields);
    fields.set(path, this.#monoMs() + refusedFieldMs);
  }
}

function nameOf(target: Target, operation: Operation): string {
  return `${operation} ${targetName(target)}`;
}

/** A Map keeps the order in which its keys were added. */
function deleteFirst(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}
