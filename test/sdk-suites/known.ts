/** What the SDKs' tests meet through Sluice and not without it, each with its reason. */

export interface KnownDifference {
  /** `/v1` or `/p`. */
  readonly way: RegExp;
  /** Of tests, as `file::class::test`, or of a Node SDK's method, as `resource.method`. */
  readonly tests: RegExp;
  /** How the test ends. */
  readonly message: RegExp;
  readonly reason: string;
}

export const known: readonly KnownDifference[] = [
  {
    way: /^\/v1$/,
    tests: /./,
    message: /is not offered: (?:what a provider does there|the session would not pass)/,
    reason: "Sluice can't count what a provider does there; passthrough has it",
  },
  {
    way: /^\/v1$/,
    tests: /./,
    message:
      /unknown API endpoint: \w+ \/v1\/(?:organizations?|projects|user_profiles|tunnels|compliance)\b/,
    reason: "the administration of the operator's account",
  },
  {
    way: /^\/v1$/,
    tests: /^chat\.completions\.list$|chat\/test_completions\.py::\w+::test_method_list/,
    message: /GET is not allowed/,
    reason: "stored chat completions: passthrough has them",
  },
  {
    way: /^\/v1$/,
    tests: /^models\.delete$|test_models\.py::\w+::test_method_delete/,
    message: /DELETE is not allowed/,
    reason: "models belong to the operator's account: passthrough deletes them",
  },
  {
    way: /^\/v1$/,
    tests: /^(?:beta\.)?models\.(?:retrieve|list)$/,
    message: /nothing arrived/,
    reason: "Sluice answers itself: of the models that the caller may use",
  },
  {
    way: /^\/v1$/,
    tests: /test_models\.py::\w+::test_method_list_with_all_params/,
    message: /after_id must be the id of a listed model/,
    reason: "Sluice lists models itself, and the test continues from one that isn't listed",
  },
  {
    way: /^\/v1$/,
    tests: /batches\.create$/,
    message: /(?:input_file_id|requests) is required/,
    reason: "Sluice counts the requests of a batch; the call here has none",
  },
  {
    way: /^\/v1$/,
    tests: /test_completions\.py::\w+::test_method_create_with_all_params/,
    message: /audio must be left out: the model's provider speaks Responses/,
    reason: "GPT-6 Astra takes tools in the Responses API only, which returns no audio",
  },
  {
    way: /./,
    tests: /batches\.delete$/,
    message: /GET \/v1\/messages\/batches|isn't recorded yet/,
    reason: "Sluice records what a batch has used before it is deleted",
  },
  {
    way: /./,
    tests: /^(?:beta\.)?files\.delete$/,
    message: /^GET \/v1\/files\/x1 , DELETE /,
    reason:
      "while a batch runs, Sluice asks whether the file has its results, which it then records first",
  },
  {
    way: /^\/v1$/,
    tests: /^vectorStores\.files\.upload$/,
    message: /POST \/v1\/files/,
    reason: "two requests: Sluice doesn't offer the second, to the vector store",
  },
  {
    way: /./,
    tests: /test_images\.py/,
    message: /model is required/,
    reason:
      "limits and prices are a model's; OpenAI's description of images asks for a model, too, and its variations are retired",
  },
  {
    way: /./,
    tests: /test_(?:responses|input_tokens)\.py/,
    message: /model is required/,
    reason: "which model a stored prompt runs isn't known before it runs: no limit would apply",
  },
];
