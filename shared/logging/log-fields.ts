/**
 * The fields of log lines, for docs/reference/logs.md and whoever parses them: in the order in
 * which they are written. A name never changes its meaning; new ones may come.
 */

interface LogField {
  readonly name: string;
  /** What it holds, in a few words. */
  readonly meaning: string;
}

/** Of each line. */
export const lineFields: readonly LogField[] = [
  { name: "level", meaning: "`fatal`, `error`, `warn`, `info`, `debug` or `trace`" },
  { name: "time", meaning: "when, in UTC, with milliseconds" },
  {
    name: "process",
    meaning: "`proxy`, `limiterd`, or one of several, such as `proxy-2`",
  },
  { name: "msg", meaning: "what happened; `request` for a request that has ended" },
];

/** Of a request that has ended, before `msg`; those that say nothing are left out. */
export const requestFields: readonly LogField[] = [
  { name: "request_id", meaning: "its id: the caller's `X-Request-ID`, or Sluice's own" },
  { name: "method", meaning: "of HTTP" },
  { name: "path", meaning: "the path, without the query; managed keys in it are cut out" },
  { name: "status", meaning: "what the client got; 499 if it left, 599 if the proxy stopped" },
  {
    name: "outcome",
    meaning: "how it ended: [its outcome](http-api.md#how-a-request-ended)",
  },
  { name: "ms", meaning: "from its head to the end of its answer, in milliseconds" },
  {
    name: "client",
    meaning:
      "the address that it comes from; of a client behind [trusted proxies](configuration.md#settings) its own",
  },
  { name: "user_agent", meaning: "what the client calls itself, its first 200 characters" },
  { name: "trace_id", meaning: "the [trace](tracing.md) that it belongs to" },
  { name: "user_path", meaning: "its user path, once that is known for sure" },
  { name: "key", meaning: "the id of the managed key" },
  { name: "model", meaning: "the model that the client asked for" },
  { name: "stream", meaning: "whether a stream was asked for" },
  { name: "target", meaning: "the provider and the model that answered, or failed, last" },
  { name: "tries", meaning: "how many times it was sent, if more than once" },
  { name: "tried", meaning: "the attempts that failed before, each with `target` and `why`" },
  { name: "provider_request_id", meaning: "what the provider calls the request, to ask it" },
  { name: "first_byte_ms", meaning: "from its head to the first byte of the provider's answer" },
  { name: "tokens", meaning: "what it is charged, input and output" },
  { name: "input_tokens", meaning: "of these, input" },
  { name: "output_tokens", meaning: "of these, output" },
  { name: "cost_usd", meaning: "what it has cost, in US dollars" },
  {
    name: "rewrite_bytes_saved",
    meaning: "what [rewriters](../rewriters.md) took out of the prompt",
  },
  { name: "estimated", meaning: "`true` if the tokens are an estimate" },
  {
    name: "rule",
    meaning: "the rule or budget that refused it: scope, subject, period, what is used up",
  },
  { name: "note", meaning: "why it ended as it did, in words" },
  { name: "sample", meaning: "which part of such lines is written, if not all" },
];
