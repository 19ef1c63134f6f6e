/**
 * What the proxy reads from the heads of requests and answers: paths, queries, tokens, content
 * types, user paths, `Retry-After`, WebSocket frames. Each is a value in its bounds or a refusal,
 * and what is normal stays as it is when it is read again.
 */
import { claimedIssuer, looksLikeJwt, pathFromClaims } from "../../../proxy/auth/jwt-path.js";
import { boundaryOf, FieldFinder } from "../../../proxy/body/multipart.js";
import {
  deploymentInPath,
  modelInPath,
  modelsInQuery,
  needsModel,
} from "../../../proxy/body/passed/passthrough-model.js";
import { parseUsageQuery } from "../../../proxy/handlers/admin/parse-usage-query.js";
import { forwardResponseHeaders, passResponseHeaders } from "../../../proxy/http/copy-headers.js";
import { matchRoute } from "../../../proxy/http/match-route.js";
import { echoedSecrets, maskSecrets } from "../../../proxy/upstream/echo-mask.js";
import { restProblem, splitPassthrough } from "../../../proxy/upstream/passthrough-path.js";
import { readRetryAfterMs } from "../../../proxy/upstream/retry-wait.js";
import { subjectBytesMax, userPathBytesMax } from "../../../shared/bounds.js";
import { modelNameProblem } from "../../../shared/domain/target-name.js";
import { isNormalUserPath, normalizeUserPath } from "../../../shared/domain/user-path.js";
import { utf8Bytes } from "../../../shared/text/utf8-bytes.js";
import { parseTimestamp } from "../../../shared/time.js";
import type { Random } from "../../sim/random.js";
import { type FuzzTarget, must } from "../fuzz-target.js";
import { cutBytes, mutateBytes } from "../mutate/mutate-bytes.js";
import { mutateText, oddText } from "../mutate/odd-values.js";

const nowMs = Date.parse("2026-03-10T12:00:00Z");

/** One of the samples, changed in a few places, or something else altogether. */
function textLike(samples: readonly string[], random: Random): string {
  let text = random.chance(0.9) ? random.pick(samples) : oddText(random);
  for (let left = random.int(0, 3); left > 0; left--)
    text = random.chance(0.7)
      ? mutateText(text, random)
      : mutateBytes(Buffer.from(text), random).toString("latin1");
  return text;
}

const paths = [
  "/v1/chat/completions",
  "/v1/responses/resp_1/cancel",
  "/v1/models/openai/gpt-4o",
  "/admin/auth-keys/key_1/rotate",
  "/p/openai/v1/chat/completions",
  "/p/gemini/v1beta/models/gemini-2.5-pro:generateContent",
  "/p/azure/openai/deployments/gpt%2D4o/chat/completions",
  "/p/x/v1/%2e%2e/%252e/a;b=c//",
];

function tryPath(random: Random): void {
  const path = textLike(paths, random);
  const method = random.pick(["GET", "POST", "HEAD", "DELETE", "PUT", "__proto__"]);
  const match = matchRoute(method, path);
  must(match.kind !== "wrong-method" || match.allow !== "", "another method is named");
  const split = splitPassthrough(path);
  const rest = split?.rest ?? path;
  if (restProblem(rest) === null)
    must(!/(?:^|\/)\.\.?(?:\/|$)|\\|[^\x21-\x7e]/.test(rest), () => `it passes: ${rest}`);
  needsModel(method, rest);
  for (const name of [modelInPath(rest), deploymentInPath(rest)])
    must(utf8Bytes(name) <= subjectBytesMax, "a model's name has a bound");
}

function tryQuery(random: Random): void {
  const query = textLike(
    [
      "days=7",
      "start_date=2026-01-01&end_date=2026-03-01",
      "model=gpt-4o&Deployment=x",
      "a=%zz&&=",
    ],
    random,
  );
  for (const name of modelsInQuery(query)) must(utf8Bytes(name) <= subjectBytesMax, "a bound");
  const window = parseUsageQuery(query, nowMs);
  if (!window.ok) return must(window.failure.status === 400, "it is the caller's fault");
  must(window.startDate <= window.endDate, "a window isn't backwards");
  must(/^\d{4}-\d\d-\d\d$/.test(window.startDate), () => `a day: ${window.startDate}`);
}

function tryUserPath(random: Random): void {
  const raw = textLike(["/team/app", "team/app/", "/a/b.c/日本", `/${"x".repeat(63)}`], random);
  const result = normalizeUserPath(raw);
  if (!result.ok) return;
  must(isNormalUserPath(result.path), () => `it is normal: ${result.path}`);
  const again = normalizeUserPath(result.path);
  must(again.ok && again.path === result.path, "a normal path stays as it is");
  must(utf8Bytes(result.path) <= userPathBytesMax && result.path.startsWith("/"), "in its bounds");
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function tryToken(random: Random): void {
  const claims = random.pick([
    { iss: "https://issuer", sub: "ann", team: "a/b" },
    { iss: oddText(random), team: oddText(random), n: 5 },
    [oddText(random)],
    null,
  ]);
  const token = textLike([`${part({ alg: "RS256" })}.${part(claims)}.c2ln`], random);
  const issuer = claimedIssuer(token);
  must(issuer === null || typeof issuer === "string", "an issuer is a text");
  looksLikeJwt(token);
  if (claims === null || Array.isArray(claims)) return;
  const path = pathFromClaims(random.pick(["team", "/t/{team}/{n}", "/{sub}/{}", "{"]), claims);
  must(path === null || isNormalUserPath(path), () => `a path from claims is normal: ${path}`);
}

function tryRetryAfter(random: Random): void {
  const dates = ["Tue, 10 Mar 2026 12:00:30 GMT", "Tuesday, 10-Mar-26 12:00:30 GMT", "120", "1.5"];
  const headers: string[] = [];
  for (const name of ["Retry-After", "retry-after-ms", "date", "RETRY-AFTER", "connection"])
    if (random.chance(0.6)) headers.push(name, textLike([...dates, "retry-after-ms"], random));
  const raw = headers.map((text) => (random.chance(0.5) ? Buffer.from(text, "latin1") : text));
  const ms = readRetryAfterMs(raw);
  must(ms === null || ms >= 0, () => `a wait isn't ${ms}`);
  for (const kept of [forwardResponseHeaders(raw), passResponseHeaders(raw, ["x-a", "1"])])
    must(kept.length % 2 === 0, "names and values");
  const moment = parseTimestamp(
    textLike(["2026-03-10T12:00:00.5Z", "2024-02-30T00:00:00+01:00"], random),
  );
  must(moment === null || (Number.isSafeInteger(moment) && moment >= 0), "a moment");
  const problem = modelNameProblem(textLike(["openai/gpt-4o", " m\n"], random));
  must(problem === null || problem.length < 200, "a short problem");
}

function tryForm(random: Random): void {
  const boundary = boundaryOf(textLike(['multipart/form-data; boundary="b"; x=y'], random)) ?? "b";
  const form = `--${boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\ngpt-4o\r\n--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${oddText(random)}\r\n--${boundary}--\r\n`;
  const bytes = mutateBytes(Buffer.from(form), random);
  const found = [[bytes], cutBytes(bytes, random)].map((pieces) => {
    const finder = new FieldFinder(boundary, "model");
    for (const piece of pieces) if (finder.problem === null) finder.push(piece);
    if (finder.problem !== null) return "refused";
    return JSON.stringify([finder.place, finder.isRepeated, finder.ended]);
  });
  must(found[0] === found[1], () => `it is read alike however it is cut: ${found.join(" ")}`);
}

function tryEcho(random: Random): void {
  const secret = `${random.pick(["sk-", "s", "aaaa"])}${"ab".repeat(random.int(8, 20))}`;
  const text = Buffer.from(
    Array.from({ length: random.int(0, 6) }, () =>
      random.pick([secret, oddText(random), secret.slice(0, random.int(1, 15)), "data: x\n\n"]),
    ).join(""),
  );
  const out: Buffer[] = [];
  const into = maskSecrets(
    {
      onHead() {},
      onData: (chunk) => void out.push(Buffer.from(chunk)),
      onEnd() {},
      onFailure() {},
      onBug() {},
    },
    echoedSecrets(secret, []),
    299,
  );
  into.onHead(200, []);
  for (const piece of cutBytes(text, random)) into.onData(piece);
  into.onEnd();
  const passed = Buffer.concat(out);
  must(passed.length === text.length, "as many bytes");
  must(!passed.includes(secret), "no credential");
  if (!text.includes(secret)) must(passed.equals(text), "all else as it is");
}

const trials = [tryPath, tryQuery, tryUserPath, tryToken, tryRetryAfter, tryForm, tryEcho];

export const headers: FuzzTarget = {
  name: "headers",
  share: 1,
  open: () =>
    Promise.resolve({
      run(random) {
        random.pick(trials)(random);
        return 1;
      },
      close: () => Promise.resolve(),
    }),
};
