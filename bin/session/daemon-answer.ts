/** Answers of the daemon as values, or as failures of the command. */

import { plainFailure } from "../../shared/error-code.js";
import type { DaemonAnswer } from "../../shared/wire/admin-op.js";
import { type CommandFailure, refusal } from "./command-failure.js";

/** The body of an answer. Throws a refusal as `CommandFailure`, with `remark` after its message. */
export function bodyOrThrow(answer: DaemonAnswer, remark = ""): unknown {
  if (!answer.ok) throw refusal(answer.failure, remark);
  return answer.body;
}

/** The failure for an answer that doesn't have the expected form. */
export function unreadableAnswer(subject: string): CommandFailure {
  const message = `the daemon's ${subject} can't be read: daemon and command line are of different versions`;
  return refusal(plainFailure(500, "internal_error", message));
}
