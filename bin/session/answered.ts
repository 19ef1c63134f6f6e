/** What the daemon answered, or its refusal as a failure of the command. */
import type { DaemonAnswer } from "../../shared/wire/daemon-client.js";
import { refusal } from "./command-failure.js";

/** The body of an answer; a refusal is thrown as `CommandFailure`, `remark` added to it. */
export function answered(answer: DaemonAnswer, remark = ""): unknown {
  if (!answer.ok) throw refusal(answer.failure, remark);
  return answer.body;
}
