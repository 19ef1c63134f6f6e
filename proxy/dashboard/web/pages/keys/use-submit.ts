/** A form whose answer is shown: one question at a time, and its problem at the field it names. */
import type { Answer, Problem } from "../../data/gateway-client.js";
import { useAsking } from "../../parts/use-change.js";

interface Submit {
  readonly isBusy: boolean;
  readonly problem: Problem | null;
  /** What is wrong with a field, as the gateway says it. */
  errorOf(field: string): string | null;
  readonly submit: (event: Event) => void;
}

export function useSubmit<T>(
  question: () => Promise<Answer<T>>,
  onDone: (body: T) => void,
): Submit {
  const { isBusy, problem, ask } = useAsking();
  const run = async (): Promise<void> => {
    const answer = await ask(question);
    if (answer.ok) onDone(answer.body);
  };
  return {
    isBusy,
    problem,
    errorOf: (field) => (problem?.field === field ? problem.message : null),
    submit(event) {
      event.preventDefault();
      if (!isBusy) void run();
    },
  };
}
