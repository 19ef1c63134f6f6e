/** A form whose answer is shown: one question at a time, and its problem at the field it names. */
import { useState } from "preact/hooks";
import type { Answer, Problem } from "../../data/gateway-client.js";

interface Submit {
  readonly busy: boolean;
  readonly problem: Problem | null;
  /** What is wrong with a field, as the gateway says it. */
  errorOf(field: string): string | null;
  readonly submit: (event: Event) => void;
}

export function useSubmit<T>(ask: () => Promise<Answer<T>>, onDone: (body: T) => void): Submit {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const run = async (): Promise<void> => {
    setBusy(true);
    const answer = await ask();
    setBusy(false);
    setProblem(answer.ok ? null : answer.problem);
    if (answer.ok) onDone(answer.body);
  };
  return {
    busy,
    problem,
    errorOf: (field) => (problem?.field === field ? problem.message : null),
    submit(event) {
      event.preventDefault();
      if (!busy) void run();
    },
  };
}
