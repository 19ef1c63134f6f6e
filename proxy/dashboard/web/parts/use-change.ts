/** A change at the gateway: whether it is under way, and words on how it ended. */
import { useState } from "preact/hooks";
import type { Method, Problem } from "../data/gateway-client.js";
import { useApp } from "./app.js";

interface Change {
  readonly method: Method;
  readonly path: string;
  readonly body: unknown;
  /** What is said once it is done. */
  readonly done: string;
}

interface Changing {
  readonly isBusy: boolean;
  /** Why the last one failed. */
  readonly problem: Problem | null;
  /** Whether it was made. */
  run(change: Change): Promise<boolean>;
}

export function useChange(): Changing {
  const { client, toasts } = useApp();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  return {
    isBusy,
    problem,
    async run({ method, path, body, done }) {
      setBusy(true);
      const answer = await client.change(method, path, body);
      setBusy(false);
      setProblem(answer.ok ? null : answer.problem);
      if (answer.ok) toasts.done(done);
      return answer.ok;
    },
  };
}
