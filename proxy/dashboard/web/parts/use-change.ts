/** Hooks for single requests and for changes: whether one is running, and how it ended. */
import { useState } from "preact/hooks";
import type { Answer, Method, Problem } from "../data/gateway-client.js";
import { useApp } from "./app.js";

interface Asking {
  readonly isBusy: boolean;
  /** Why the last one failed. */
  readonly problem: Problem | null;
  ask<T>(question: () => Promise<Answer<T>>): Promise<Answer<T>>;
}

export function useAsking(): Asking {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  return {
    isBusy,
    problem,
    async ask(question) {
      setBusy(true);
      const answer = await question();
      setBusy(false);
      setProblem(answer.ok ? null : answer.problem);
      return answer;
    },
  };
}

export interface ChangeRequest {
  readonly method: Method;
  readonly path: string;
  readonly body: unknown;
}

interface Change extends ChangeRequest {
  /** The notice after the change. */
  readonly done: string;
}

interface Changing extends Omit<Asking, "ask"> {
  /** Resolves with whether the change was made. */
  run(change: Change): Promise<boolean>;
}

export function useChange(): Changing {
  const { client, toasts } = useApp();
  const { ask, ...state } = useAsking();
  return {
    ...state,
    async run({ method, path, body, done }) {
      const { ok } = await ask(() => client.change(method, path, body));
      if (ok) toasts.done(done);
      return ok;
    },
  };
}

interface Undo {
  readonly changes: readonly ChangeRequest[];
  readonly done: string;
}

/** A hook that undoes changes. A notice shows what fails. */
export function useUndo(): (undo: Undo, onDone: () => void) => Promise<void> {
  const { client, toasts } = useApp();
  return async ({ changes, done }, onDone) => {
    for (const { method, path, body } of changes) {
      const answer = await client.change(method, path, body);
      if (answer.ok) continue;
      toasts.failed(answer.problem.message);
      return onDone();
    }
    toasts.done(done);
    onDone();
  };
}
