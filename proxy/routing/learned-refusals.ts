/**
 * Fields that targets have refused, so that later requests are sent without them. They are
 * forgotten after a while: a host may have been updated.
 */
import { type Target, targetName } from "../../shared/domain/target-name.js";
import { refusedFieldMs, refusedFieldsMax, refusingTargetsMax } from "../bounds.js";

const none: readonly string[] = [];

export class LearnedRefusals {
  readonly #monoMs: () => number;
  /** By target: the time until which each field is left out, by its path. */
  readonly #refused = new Map<string, Map<string, number>>();

  constructor(monoMs: () => number) {
    this.#monoMs = monoMs;
  }

  /** The paths of the fields, as in `RefusedPart`. */
  of(target: Target): readonly string[] {
    if (this.#refused.size === 0) return none;
    const name = targetName(target);
    const fields = this.#refused.get(name);
    if (fields === undefined) return none;
    const nowMs = this.#monoMs();
    for (const [path, untilMs] of fields) if (untilMs <= nowMs) fields.delete(path);
    if (fields.size === 0) this.#refused.delete(name);
    return [...fields.keys()];
  }

  learn(target: Target, path: string): void {
    const name = targetName(target);
    let fields = this.#refused.get(name);
    if (fields === undefined) {
      if (this.#refused.size >= refusingTargetsMax) deleteFirst(this.#refused);
      fields = new Map();
      this.#refused.set(name, fields);
    }
    if (fields.size >= refusedFieldsMax) deleteFirst(fields);
    fields.set(path, this.#monoMs() + refusedFieldMs);
  }
}

/** A Map keeps the order in which its keys were added. */
function deleteFirst(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}
