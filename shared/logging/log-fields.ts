/**
 * The fields of log lines, in the order in which they are written; docs/reference/logs.md has
 * them. A name never changes its meaning; new names may be added.
 */

export interface LogField {
  readonly name: string;
  /** What it holds, in a few words. */
  readonly meaning: string;
}

/** The fields of each line. */
export const lineFields: readonly LogField[] = [
  { name: "level", meaning: "`fatal`, `error`, `warn`, `info`, `debug` or `trace`" },
  { name: "time", meaning: "UTC, with milliseconds" },
  { name: "process", meaning: "`proxy`, `limiterd`, or one of several, such as `proxy-2`" },
  { name: "msg", meaning: "the event; `request` for a request that has ended" },
];

const chargedMeaning = "what was charged";
const asInRecord = "as in [the usage record](usage-record.md#records)";

/**
 * The fields of a request that has ended, before `msg`. Fields without information are left out.
 */
export const requestFields: readonly LogField[] = [
  { name: "request_id", meaning: "the caller's `X-Request-ID`, or Sluice's own" },
  { name: "method", meaning: "HTTP method" },
  { name: "path", meaning: "path without the query and without managed keys" },
  {
    name: "status",
    meaning: `${asInRecord}; of a stream that ends with an error, that of the error`,
  },
  { name: "outcome", meaning: "[how the request ended](http-api.md#how-a-request-ended)" },
  { name: "ms", meaning: "milliseconds from the request's head to the end of its answer" },
  {
    name: "client",
    meaning: "the client's address, also behind [trusted proxies](configuration.md#settings)",
  },
  { name: "user_agent", meaning: "its first 200 characters" },
  { name: "trace_id", meaning: "the [trace](tracing.md) of the request" },
  { name: "user_path", meaning: "the verified user path" },
  { name: "key", meaning: "id of the managed key" },
  { name: "session", meaning: asInRecord },
  { name: "model", meaning: "the requested model" },
  { name: "stream", meaning: "whether the client asked for a stream" },
  { name: "target", meaning: "provider and model of the last attempt" },
  { name: "tries", meaning: "number of attempts, if more than one" },
  { name: "tried", meaning: "failed attempts, each with `target` and `why`" },
  { name: "provider_request_id", meaning: asInRecord },
  { name: "first_byte_ms", meaning: asInRecord },
  { name: "tokens", meaning: chargedMeaning },
  { name: "input_tokens", meaning: chargedMeaning },
  { name: "output_tokens", meaning: chargedMeaning },
  { name: "cost_usd", meaning: chargedMeaning },
  {
    name: "rewrite_bytes_saved",
    meaning: "bytes that [rewriters](../cache-and-rewriters.md#rewriters) removed from the prompt",
  },
  {
    name: "loop",
    meaning:
      "how often [an agent has repeated itself](../loops.md), or how many turns it has worked, once Sluice warns of it",
  },
  { name: "estimated", meaning: "`true` if the tokens are estimated" },
  {
    name: "shadow",
    meaning: "the [shadow rules](../limit-options.md#shadow-rules) that would refuse the request",
  },
  {
    name: "rule",
    meaning: "the rule or budget that refused the request: scope, subject, period, dimension",
  },
  { name: "cut_by", meaning: "the [hard cap](../hard-caps.md) that ended the answer" },
  { name: "note", meaning: "why the request ended so, in words" },
  {
    name: "sample",
    meaning: "`log_sample`, if it is below 1; only in lines of successful requests",
  },
];
