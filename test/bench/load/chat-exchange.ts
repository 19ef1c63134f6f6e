/**
 * The one request and the one response of the HTTP part: a short chat completion as SDKs and
 * providers write it.
 */

/** The model that the benchmark's provider lists. */
export const benchModel = "bench-model";
/** The caller's path: below both rules of the benchmark's configuration. */
export const benchUserPath = "/bench/app";

/** About 400 bytes. */
export const requestBody = JSON.stringify({
  model: benchModel,
  messages: [
    {
      role: "system",
      content:
        "You are a support assistant of a small online shop. Answer in two sentences at most, and name the page where the customer finds more.",
    },
    {
      role: "user",
      content:
        "My parcel was announced for Tuesday and it still hasn't arrived. Whom do I ask, and can I get my money back if it is lost?",
    },
  ],
  temperature: 0.2,
  max_tokens: 160,
});

/** About 600 bytes, with usage. */
export const responseBody = JSON.stringify({
  id: "chatcmpl-9fQ2mX7cVb1LtR4sKd8ZyHwEoJ3aN",
  object: "chat.completion",
  created: 1_750_000_000,
  model: benchModel,
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content:
          "Please write to the carrier first, with the number from your shipping mail; the page Orders > Track shows it. If the parcel is declared lost, we refund you in full within five days, see Help > Refunds.",
        refusal: null,
      },
      logprobs: null,
      finish_reason: "stop",
    },
  ],
  usage: { prompt_tokens: 74, completion_tokens: 46, total_tokens: 120 },
  system_fingerprint: "fp_2f1a09c7d4",
});

export const requestPath = "/v1/chat/completions";

/** Without `host` and lengths: what a caller sets. */
export const requestHeaders: Readonly<Record<string, string>> = {
  accept: "application/json",
  "content-type": "application/json",
  "user-agent": "sluice-bench",
  "x-sluice-user-path": benchUserPath,
};

/** The request as bytes on the wire. */
export function chatRequest(host: string): string {
  return httpRequest(host, requestPath, requestBody);
}

/** A POST as bytes on the wire. */
export function httpRequest(
  host: string,
  path: string,
  body: string,
  named: Readonly<Record<string, string>> = requestHeaders,
): string {
  const headers = Object.entries(named).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\nhost: ${host}\r\n${headers.join("")}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
