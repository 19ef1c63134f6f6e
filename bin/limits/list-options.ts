/** The flags `--children` and `--watch` of a list of rules or budgets. Pure. */
import { itemsPerPage } from "../../shared/bounds.js";
import { type ArgumentProblem, usageFailure } from "../session/command-failure.js";
import { readDuration } from "../text/duration.js";

/** True without a value. */
interface ListOptions {
  readonly children?: string | true;
  readonly watch?: string | true;
}

const childrenDefault = 10;
const watchDefaultMs = 2_000;

/** How many children of each template are shown, and how often the list is printed; null: once. */
export function listOptions({ children, watch }: ListOptions): {
  readonly children: number;
  readonly everyMs: number | null;
} {
  const problems: ArgumentProblem[] = [];
  const count = children === true ? childrenDefault : Number(children ?? 0);
  if (children !== undefined && !(Number.isInteger(count) && count >= 1 && count <= itemsPerPage))
    problems.push({
      message: `--children must be an integer from 1 to ${itemsPerPage}, not ${JSON.stringify(children)}`,
      param: "--children",
    });
  const seconds = typeof watch === "string" ? readDuration(watch) : null;
  if (typeof watch === "string" && seconds === null)
    problems.push({
      message: `--watch must be a length of time such as 5s (s, m, h, d or w), not ${JSON.stringify(watch)}`,
      param: "--watch",
    });
  if (problems.length > 0) throw usageFailure(problems);
  const everyMs = seconds === null ? watchDefaultMs : seconds * 1000;
  return { children: count, everyMs: watch === undefined ? null : everyMs };
}
