/**
 * Checks what tests fetch from proxies against `docs/openapi.json`. The answers are checked beside
 * the test, which gets them as they are; what is wrong with them fails it at its end.
 */
import { type AnswerHead, checkBody, checkHead } from "./check-answer.js";

/** The addresses of running proxies. */
const watched = new Set<string>();
const problems = new Set<string>();
const reading = new Set<Promise<void>>();
/** A body beyond it is one of those long lists whose items are all alike. */
const bodyCharsMax = 1_000_000;

/** From now on what is fetched from this address is checked; what it returns ends that. */
export function watchAnswers(origin: string): () => void {
  if (watched.size === 0) wrapFetch();
  watched.add(origin);
  return () => void watched.delete(origin);
}

/**
 * Tells of the answers since the last call that weren't as they are described, and lets the process
 * fail. To be called in a teardown: an error there would keep those of others from running.
 */
export async function requireDescribedAnswers(): Promise<void> {
  await Promise.all(reading);
  if (problems.size === 0) return;
  console.error(`not as in docs/openapi.json:\n${[...problems].join("\n")}`);
  problems.clear();
  process.exitCode = 1;
}

const wrapped = new WeakSet<typeof fetch>();

/** SDKs use the global fetch too. */
function wrapFetch(): void {
  const unwatched = globalThis.fetch;
  if (wrapped.has(unwatched)) return;
  const watching: typeof fetch = async (input, init) => {
    const answer = await unwatched(input, init);
    const { origin, pathname, search } = new URL(input instanceof Request ? input.url : input);
    const method = init?.method ?? (input instanceof Request ? input.method : "GET");
    if (watched.has(origin))
      watch(answer, { method: method.toUpperCase(), url: `${pathname}${search}` });
    return answer;
  };
  wrapped.add(watching);
  globalThis.fetch = watching;
}

function watch(answer: Response, asked: Pick<AnswerHead, "method" | "url">): void {
  const head = { ...asked, status: answer.status, headers: answer.headers };
  const checked = checkHead(head);
  for (const problem of checked.problems) problems.add(problem);
  const { body: schema } = checked;
  if (schema === null || head.method === "HEAD" || answer.body === null) return;
  const read = answer
    .clone()
    .text()
    .then(
      (text) => {
        if (text.length > bodyCharsMax) return;
        for (const problem of checkBody(head, schema, text)) problems.add(problem);
      },
      // It broke off, or the test left: what it is for.
      () => {},
    )
    .finally(() => reading.delete(read));
  reading.add(read);
}
